#!/bin/bash
# launch_slurm.sh SCRIPT: runs a Slurm batch script with an srun and an scontrol that stand in for Slurm's. It has
# to pass on the exit code and the threads, and, at the warning signal, to queue the job again and end the step.
set -euo pipefail
script=$1
folder=$(mktemp -d)
trap 'rm -rf "${folder}"' EXIT
fail() { echo "launch_slurm: $1" >&2; exit 1; }

cat > "${folder}/srun" <<'S'
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
S
cat > "${folder}/scontrol" <<'S'
#!/bin/bash
echo "$*" >> "${FOLDER}/scontrol.log"
S
cat > "${folder}/program" <<'S'
#!/bin/bash
trap 'echo ended >> "${FOLDER}/program.log"; exit 143' TERM
kill -USR1 "${PPID}"
for ((i = 0; i < 400; ++i)); do sleep 0.1; done
S
chmod +x "${folder}/srun" "${folder}/scontrol" "${folder}/program"
export FOLDER=${folder} PATH="${folder}:${PATH}" SLURM_JOB_ID=17 SLURM_CPUS_PER_TASK=3

code=0
bash "${script}" bash -c "exit \$((OMP_NUM_THREADS + 2))" || code=$?
((code == 5)) || fail "the exit code is ${code}, not the program's 5"
[[ ! -e ${folder}/scontrol.log ]] || fail "a job that got no signal was queued again"
code=0
bash "${script}" || code=$?
((code == 2)) || fail "the exit code without a program is ${code}, not 2"
timeout 60 bash "${script}" "${folder}/program" || fail "a job queued again did not end with 0"
grep -qx "requeue 17" "${folder}/scontrol.log" || fail "the job was not queued again"
grep -qx ended "${folder}/program.log" || fail "the step was not ended"
