#!/bin/bash
#SBATCH --job-name=trireme
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --hint=nomultithread
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
# Trains on the cores of Slurm nodes; docs/clusters.md has what all scripts of this folder do:
#
#     sbatch slurm-cpu.sh PROGRAM [ARGUMENT...]
#
# Tried with stand-ins for srun and scontrol (tests/examples/launch.sh), and under Slurm 22.05 with four ranks on two nodes.
set -uo pipefail
(($# > 0)) || { echo "slurm-cpu.sh: no program was given; say sbatch slurm-cpu.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }

command=("$@")
run=${LAUNCH_RUN:-${SLURM_SUBMIT_DIR:-.}/run-${SLURM_JOB_ID}}
scratch=${TMPDIR:-/tmp}/trireme-${SLURM_JOB_ID}
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}" OMP_PROC_BIND=close OMP_PLACES=cores

on_each_node() { srun --ntasks="${SLURM_JOB_NUM_NODES}" --ntasks-per-node=1 "$@"; }
# srun has not taken --cpus-per-task from sbatch since Slurm 22.05.
start() { exec srun --cpus-per-task="${OMP_NUM_THREADS}" --cpu-bind=cores "$@"; }
# srun signals all ranks, and not by USR1: MPICH takes that for news of a failed rank, and may hang under srun.
pass_on() { kill -USR2 "${step}"; }
terminate() { kill -TERM "${step}"; }
end_step() { kill -KILL "${step}"; }
queue_again() { scontrol requeue "${SLURM_JOB_ID}"; }

# From here on as in the other scripts of this folder.
if [[ -n ${LAUNCH_DATA:-} ]]; then
  on_each_node mkdir -p "${scratch}" && on_each_node cp -r "${LAUNCH_DATA}" "${scratch}/" || exit 1
  command=("${command[@]//\{data\}/"${scratch}/${LAUNCH_DATA##*/}"}")
fi
mkdir -p "${run}" || exit 1
command=("${command[@]//\{run\}/"${run}"}")

warned=0 cancelled=0 terminated=0 after=0 grace=${LAUNCH_GRACE:-60}
trap 'warned=1' USR1 USR2
trap 'cancelled=1' INT TERM
start "${command[@]}" &
step=$!
# Each second, since bash may lose the exit code of a step that ends while a signal interrupts wait.
while kill -0 "${step}" 2>/dev/null; do
  ((SECONDS < ${warn_at:-SECONDS + 1})) || warned=1
  if ((cancelled && !terminated)); then  # at once: schedulers leave this script 5 to 30 seconds
    terminate
    terminated=1 warned=1 after=$((grace + 18))
  fi
  if ((warned)); then
    ((after != 0)) || pass_on
    ((after != grace)) || terminate
    ((after != grace + 20)) || end_step
    ((++after))
  fi
  sleep 1
done
trap '' USR1 USR2
wait "${step}"
code=$?
((!cancelled)) || exit "${code}"
[[ -z ${LAUNCH_DATA:-} ]] || on_each_node rm -rf "${scratch}"
if ((warned && code != 0)); then queue_again && exit 0; fi
exit "${code}"
