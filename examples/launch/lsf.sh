#!/bin/bash
#BSUB -J trireme
#BSUB -n 4
#BSUB -R "span[ptile=2] affinity[core(8)]"
#BSUB -W 60
#BSUB -wa USR1
#BSUB -wt 2
#BSUB -Q 75
#BSUB -o trireme-%J.log
# Trains on the nodes of LSF; docs/clusters.md has what all scripts of this folder do:
#
#     bash lsf.sh PROGRAM [ARGUMENT...]          submits itself
#
# For GPUs, one rank each: -R "span[ptile=4] affinity[core(8)]" and -gpu "num=4:mode=shared". Kokkos takes the GPU of
# its local rank. Tried with stand-ins for bsub and mpiexec (tests/examples/launch.sh), not under LSF.
set -uo pipefail
if [[ -z ${LSB_JOBID:-} ]]; then
  (($# > 0)) || { echo "lsf.sh: no program was given; say bash lsf.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
  LAUNCH_COMMAND=$(printf '%q ' "$@")
  export LAUNCH_COMMAND
  exec bsub <"$0"
fi

eval "command=(${LAUNCH_COMMAND})"
run=${LAUNCH_RUN:-${LS_SUBCWD:-.}/run-${LSB_JOBID}}
scratch=${TMPDIR:-/tmp}/trireme-${LSB_JOBID}
ranks=${LSB_DJOB_NUMPROC} nodes=$(sort -u "${LSB_DJOB_HOSTFILE}" | wc -l)
export OMP_NUM_THREADS=8 OMP_PROC_BIND=close OMP_PLACES=cores  # as many as affinity[core(8)] gives

# As MPICH and its relatives say it; Open MPI says --map-by ppr:1:node, and --map-by ppr:2:node:PE=8 --bind-to core.
on_each_node() { mpiexec -n "${nodes}" -ppn 1 "$@"; }
start() { exec mpiexec -n "${ranks}" -ppn $((ranks / nodes)) -bind-to core:"${OMP_NUM_THREADS}" "$@"; }
pass_on() { kill -USR1 "${step}"; }  # mpiexec signals all ranks, by this signal alone
terminate() { kill -TERM "${step}"; }
end_step() { kill -KILL "${step}"; }
# shellcheck disable=SC2034  # used below
queue_again() { code=75 && return 1; }  # -Q: LSF queues a job with this exit code again

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
