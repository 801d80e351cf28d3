#!/bin/bash
# launch.sh FOLDER: runs the batch scripts of a folder with stand-ins for the commands of Slurm, PBS, LSF and Flux. Each
# script has to pass on the exit code, threads, data and the run's folder; to queue the job again once where the
# scheduler's warning ended the program before its work was done; and to end a program that ignores the warning.
set -euo pipefail
scripts=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
fail() { echo "launch: ${script:-}: $1" >&2; exit 1; }

# Launchers drop their options and become one program, as the only rank.
mkdir "${work}/bin" "${work}/tmp"
cat >"${work}/bin/launcher" <<'S'
#!/bin/bash
echo "${0##*/} $*" >>"${WORK}/log"
while [[ $1 == -* ]]; do
  case $1 in -n | -ppn | -bind-to | -o | -r) shift 2 ;; *) shift ;; esac
done
exec "$@"
S
cat >"${work}/bin/flux" <<'S'
#!/bin/bash
case "$1 $2" in
  "getattr jobid") echo 17 ;;
  "job timeleft") echo "${TIME_LEFT:-3600}" ;;
  "job killall") until [[ -s ${WORK}/program ]]; do sleep 1; done && kill "-${4#--signal=SIG}" "$(cat "${WORK}/program")" ;;
  "--parent batch") echo "flux $*" >>"${WORK}/log"; exit "${QUEUE_CODE:-0}" ;;
  "cancel --all") kill -TERM "$(cat "${WORK}/program")" ;;
  *) exec launcher "${@:2}" ;;
esac
S
cat >"${work}/bin/scontrol" <<'S'
#!/bin/bash
echo "${0##*/} $* of ${LAUNCH_COMMAND:-} in ${LAUNCH_RUN:-}" >>"${WORK}/log"
exit "${QUEUE_CODE:-0}"
S
# PBS doubles backslashes at each submission, loses quotes and sends no apostrophe.
cat >"${work}/bin/qsub" <<'S'
#!/bin/bash
[[ ${LAUNCH_COMMAND} != *[\\\"\']* ]] || { echo "qsub: cannot send environment with the job" >&2; exit 1; }
echo "qsub $* of $(base64 -d <<<"${LAUNCH_COMMAND}" | tr '\0' '|') in ${LAUNCH_RUN}" >>"${WORK}/log"
exit "${QUEUE_CODE:-0}"
S
cat >"${work}/bin/qstat" <<'S'
#!/bin/bash
printf 'Job Id: %s\n    Resource_List.walltime = %s\n' "$2" "${WALLTIME:-01:00:00}"
S
# program END: warns the batch script unless it only waits for a warning, and then saves the run and ends with 1, as one
# that lets fit's Interrupted pass, is done, or goes on; or cancels the job as schedulers do, and takes notice or none.
cat >"${work}/bin/program" <<'S'
#!/bin/bash
trap 'echo saved >>"${WORK}/log"; exit 1' USR1 USR2
[[ $1 == saves || $1 == waits ]] || trap '' USR1 USR2
[[ $1 != stubborn ]] || trap '' TERM
echo $$ >"${WORK}/program"
case $1 in waits) ;; cancelled | stubborn) kill -TERM "${PPID}" ;; *) kill -USR1 "${PPID}" ;; esac
[[ $1 != done ]] || exit 0
while true; do sleep 1; done
S
printf '#!/bin/bash\nexec %s 0.02\n' "$(type -P sleep)" >"${work}/bin/sleep"  # the scripts look each second
chmod +x "${work}"/bin/*
for command in srun mpiexec; do ln -s launcher "${work}/bin/${command}"; done
ln -s scontrol "${work}/bin/bsub"
printf 'node1\nnode1\nnode2\nnode2\n' >"${work}/hosts"
echo digits >"${work}/data.csv"
export WORK=${work} PATH="${work}/bin:${PATH}" TMPDIR="${work}/tmp"

# run [NAME=VALUE…] PROGRAM [ARGUMENT…]: the script within its allocation; sets code, and writes log.
run() {
  local variables=()
  while [[ $1 == *=* ]]; do variables+=("$1") && shift; done
  rm -f "${work}/program" && : >"${work}/log"
  code=0
  case ${script} in
    slurm-*) set -- SLURM_JOB_ID=17 SLURM_CPUS_PER_TASK=8 SLURM_JOB_NUM_NODES=2 SLURM_SUBMIT_DIR="${work}" \
      "${variables[@]}" bash "${scripts}/${script}" "$@" ;;
    pbs.sh) set -- PBS_JOBID=17 PBS_NODEFILE="${work}/hosts" PBS_O_WORKDIR="${work}" OMP_NUM_THREADS=8 \
      LAUNCH_SCRIPT="${scripts}/pbs.sh" LAUNCH_COMMAND="$(printf '%s\0' "$@" | base64 -w 0)" "${variables[@]}" \
      bash "${scripts}/pbs.sh" ;;
    lsf.sh) set -- LSB_JOBID=17 LSB_DJOB_HOSTFILE="${work}/hosts" LSB_DJOB_NUMPROC=4 LS_SUBCWD="${work}" \
      LAUNCH_COMMAND="$(printf '%q ' "$@")" "${variables[@]}" bash "${scripts}/lsf.sh" ;;
    flux.sh) set -- "${variables[@]}" bash "${scripts}/flux.sh" "$@" ;;
    *) fail "this test does not know how it is started" ;;
  esac
  (cd "${work}" && timeout 120 env "$@") || code=$?
}
ended_with() { ((code == $1)) || fail "$2 ended with ${code}, not $1"; }
logged() { [[ $(grep -cE -- "$1" "${work}/log") == "$2" ]] || fail "$3: $(cat "${work}/log")"; }
queued() { logged '^(scontrol requeue|qsub|flux --parent)' "$1" "$2"; }

for path in "${scripts}"/*.sh; do
  script=${path##*/} again=1 again_code=0 bound=unknown
  case ${script} in
    slurm-*) bound='^srun --cpus-per-task=8 --cpu-bind=cores' ;;
    pbs.sh) bound='^mpiexec -n 4 -ppn 2 -bind-to core:8' ;;
    lsf.sh) bound='^mpiexec -n 4 -ppn 2 -bind-to core:8' again=0 again_code=75 ;;  # LSF itself, for this exit code
    flux.sh) bound='^launcher --nodes=2 --ntasks=4 --cores-per-task=8' ;;
  esac
  bash -n "${path}"
  sed '1,/^# From here on as in the other scripts/d' "${path}" >"${work}/end"
  [[ -s ${work}/end ]] || fail "has no end in common with the others"
  [[ ! -e ${work}/first_end ]] || cmp -s "${work}/end" "${work}/first_end" || fail "does not end as the others do"
  cp "${work}/end" "${work}/first_end"

  # shellcheck disable=SC2016  # the program expands it
  run LAUNCH_DATA="${work}/data.csv" bash -c '[[ $(cat "$1") == digits && -d $2 && $3 == "a  b" ]] &&
    exit $((OMP_NUM_THREADS + 2))' - '{data}' '{run}' 'a  b'
  ended_with 10 "a program that says its threads by its exit code"
  queued 0 "a program that failed without a warning was queued again"
  [[ -z $(ls "${work}/tmp") ]] || fail "left data on the node: $(ls "${work}/tmp")"
  logged "${bound}" 1 "ranks were not bound"

  run program saves
  ended_with "${again_code}" "a job whose program saved the run"
  queued "${again}" "was not queued again once"
  logged '^saved$' 1 "the warning did not reach the program"

  run program "done"
  ended_with 0 "a program that was done when the warning came"
  queued 0 "was queued again though it was done"

  run LAUNCH_GRACE=1 program ignores
  ended_with "${again_code}" "a job whose program ignored the warning"
  queued "${again}" "was not queued again once"

  run LAUNCH_GRACE=100000 program cancelled
  ended_with 143 "a job that was cancelled"
  queued 0 "was queued again though it was cancelled"
  run LAUNCH_GRACE=100000 program stubborn
  ended_with 137 "a cancelled job whose program takes no notice"
  queued 0 "was queued again though it was cancelled"

  if ((again)); then
    run QUEUE_CODE=1 program saves
    ended_with 1 "a job that could not be queued again"
  fi
  if [[ ${script} == pbs.sh || ${script} == flux.sh ]]; then
    run WALLTIME=00:02:00 TIME_LEFT=120 program waits
    queued 1 "was not warned before its time was up"
  fi
  if [[ ${script} == pbs.sh ]]; then
    logged '^qsub -W depend=afterany:17 .* of program\|waits\| in .*/run-17$' 1 "is not the same job"
  fi

  : >"${work}/log"
  case ${script} in
    pbs.sh)
      bash "${path}" prog 'a  b' "{data}\\'\""
      logged "^qsub .*of prog\\|a  b\\|\\{data\\}\\\\'\"\\| in \$" 1 "was not submitted with its program"
      ;;
    lsf.sh)
      bash "${path}" prog 'a  b'
      logged '^bsub .*of prog a\\ \\ b  in $' 1 "was not submitted with its program"
      ;;
  esac
  code=0
  SLURM_JOB_ID=17 bash "${path}" 2>"${work}/said" || code=$?
  ended_with 2 "a script without a program"
  grep -q "no program was given" "${work}/said" || fail "did not say that no program was given"
done
