#!/bin/bash
#PBS -N trireme
#PBS -l select=2:ncpus=16:mpiprocs=2:ompthreads=8
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -j oe
# Trains on the nodes of PBS Professional or OpenPBS; docs/clusters.md has what all scripts of this folder do:
#
#     bash pbs.sh PROGRAM [ARGUMENT...]          submits itself
#
# For GPUs, one rank each: select=2:ncpus=32:mpiprocs=4:ompthreads=8:ngpus=4. Kokkos takes the GPU of its local rank.
# Tried with stand-ins for qsub, qstat and mpiexec (tests/examples/launch.sh), and under OpenPBS 23.06 with four ranks on
# two nodes.
set -uo pipefail
variables=LAUNCH_SCRIPT,LAUNCH_COMMAND,LAUNCH_RUN,LAUNCH_DATA,LAUNCH_GRACE
export LAUNCH_RUN="${LAUNCH_RUN:-}" LAUNCH_DATA="${LAUNCH_DATA:-}" LAUNCH_GRACE="${LAUNCH_GRACE:-60}"
if [[ -z ${PBS_JOBID:-} ]]; then
  (($# > 0)) || { echo "pbs.sh: no program was given; say bash pbs.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
  # Encoded, since qsub changes backslashes and quotes.
  LAUNCH_SCRIPT=$(realpath "$0") LAUNCH_COMMAND=$(printf '%s\0' "$@" | base64 -w 0)
  export LAUNCH_SCRIPT LAUNCH_COMMAND
  exec qsub -v "${variables}" "${LAUNCH_SCRIPT}"
fi

mapfile -d '' -t command < <(base64 -d <<<"${LAUNCH_COMMAND}")
cd "${PBS_O_WORKDIR}" || exit 1
run=${LAUNCH_RUN:-${PBS_O_WORKDIR}/run-${PBS_JOBID}}
scratch=${TMPDIR:-/tmp}/trireme-${PBS_JOBID}
ranks=$(wc -l <"${PBS_NODEFILE}") nodes=$(sort -u "${PBS_NODEFILE}" | wc -l)
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_PROC_BIND=close OMP_PLACES=cores  # the number is ompthreads

# As MPICH and its relatives say it; Open MPI says --map-by ppr:1:node, and --map-by ppr:2:node:PE=8 --bind-to core.
on_each_node() { mpiexec -n "${nodes}" -ppn 1 "$@"; }
start() { exec mpiexec -n "${ranks}" -ppn $((ranks / nodes)) -bind-to core:"${OMP_NUM_THREADS}" "$@"; }
pass_on() { kill -USR1 "${step}"; }  # mpiexec signals all ranks, by this signal alone
terminate() { kill -TERM "${step}"; }
end_step() { kill -KILL "${step}"; }
queue_again() { LAUNCH_RUN=${run} qsub -W depend=afterany:"${PBS_JOBID}" -v "${variables}" "${LAUNCH_SCRIPT}"; }

# PBS warns of no time limit, so this script warns itself two minutes before it.
IFS=: read -r hours minutes seconds < <(qstat -f "${PBS_JOBID}" | sed -n 's/.*Resource_List.walltime = //p')
# shellcheck disable=SC2034  # used below
warn_at=$((10#${hours:-1} * 3600 + 10#${minutes:-0} * 60 + 10#${seconds:-0} - 120))

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
