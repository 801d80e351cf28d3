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
# Trains on the cores of Slurm nodes, and queues the job again before its time is up:
#
#     sbatch slurm-cpu.sh PROGRAM [ARGUMENT...]
#
# Tried with stand-ins for srun and scontrol (tests/examples/launch_slurm.sh), not under Slurm yet.
#
# PROGRAM has to give fit a BackupAndRestore whose path lies on a file system that all nodes share. The library saves
# after epochs and every save_freq steps, not on a signal: work since the last save is done again.
set -uo pipefail

if (($# == 0)); then
  echo "slurm-cpu.sh: no program was given; say sbatch slurm-cpu.sh PROGRAM [ARGUMENT...]" >&2
  exit 2
fi

export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
export OMP_PROC_BIND=close
export OMP_PLACES=cores

requeued=0
# shellcheck disable=SC2317  # the trap calls it
go_on_later() {
  scontrol requeue "${SLURM_JOB_ID}" && requeued=1 && end_step
}
end_step() { jobs -p | xargs -r kill -TERM; }
trap go_on_later USR1  # before there is a step: the signal may come at any moment

# srun has not taken --cpus-per-task from sbatch since Slurm 22.05.
srun --cpus-per-task="${OMP_NUM_THREADS}" --cpu-bind=cores "$@" &
step=$!
((requeued == 0)) || end_step  # once more: it may have begun after the signal

# A signal ends wait before the step has ended.
while true; do
  wait "${step}"
  code=$?
  kill -0 "${step}" 2>/dev/null || break
done
# Perhaps the step has ended by itself while the signal came.
((code != 128 + $(kill -l USR1))) || { wait "${step}"; code=$?; }
((requeued)) && exit 0
exit "${code}"
