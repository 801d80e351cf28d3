#!/bin/bash
# flux: --job-name=trireme
# flux: --nodes=2
# flux: --nslots=4
# flux: --cores-per-slot=8
# flux: --time-limit=1h
# Trains on the nodes of Flux; docs/clusters.md has what all scripts of this folder do:
#
#     flux batch flux.sh PROGRAM [ARGUMENT...]
#
# What flux batch is told belongs above: a job queued again has options from there alone. For GPUs, one rank each:
# --gpus-per-slot=1 above, and gpus=1 below. Tried with a stand-in for flux (tests/examples/launch.sh), and under
# flux-core 0.88 with four ranks on two nodes.
set -uo pipefail
(($# > 0)) || { echo "flux.sh: no program was given; say flux batch flux.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }

command=("$@") given=("$@")
nodes=2 ranks=4 cores=8 gpus=  # as above
job=$(flux getattr jobid)
run=${LAUNCH_RUN:-${PWD}/run-${job}}
scratch=${TMPDIR:-/tmp}/trireme-${job}
export OMP_NUM_THREADS="${cores}" OMP_PROC_BIND=close OMP_PLACES=cores

on_each_node() { flux exec -r all "$@"; }
start() {
  exec flux run --nodes="${nodes}" --ntasks="${ranks}" --cores-per-task="${cores}" \
    ${gpus:+--gpus-per-task="${gpus}"} -o cpu-affinity=per-task -o gpu-affinity=per-task "$@"
}
pass_on() { flux job killall --force --signal=SIGUSR2; }
terminate() { flux cancel --all; }
# Flux has killed the brokers of a cancelled job before the brokers kill ranks that take no notice: both after 5 seconds.
end_step() { flux job killall --force --signal=SIGKILL; kill -KILL "${step}" 2>/dev/null; }
# $0 is Flux's copy of this script, which submission copies again.
queue_again() { LAUNCH_RUN=${run} flux --parent batch --dependency=afterany:"${job}" "$0" "${given[@]}"; }

# The script warns itself two minutes before its time is up: Flux's --signal also ends the brokers of all nodes but the
# first, as seen with flux-core 0.88.
left=$(flux job timeleft) || exit 1
# shellcheck disable=SC2034  # used below
warn_at=$((SECONDS + left - 120))

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
