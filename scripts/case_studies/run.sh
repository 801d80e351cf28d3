#!/usr/bin/env bash
# Runs the programs of docs/case_studies.md, and draws its pictures.
#
#   scripts/case_studies/run.sh BUILD RESULTS     BUILD: a build with optimised examples, such as build/quickstart
#
# RESULTS gets what the programs print and write; docs/case_studies gets the pictures. Matplotlib and Keras with JAX come
# from PyPI into a virtual environment below ~/.cache/trireme. The programs take a minute on two cores, Keras two.
source "$(dirname "$0")/../dependencies.sh"

[ $# -eq 2 ] || die "takes two arguments: BUILD RESULTS"
programs=$(cd "$1/examples" && pwd)
[ ! -e "$2" ] || die "$2 is there already"
mkdir -p "$2"/{digits,strategies,coupled}
results=$(cd "$2" && pwd)
for program in digits strategies coupled segmentation; do
  [ -x "$programs/$program/$program" ] || die "there is no $program in $1: build it first"
done

venv=$cache/case-studies
if [ ! -e "$venv/.trireme-complete" ]; then
  python3 -m venv "$venv"
  logged "installing Matplotlib and Keras" "$venv/bin/pip" install -q --disable-pip-version-check \
    matplotlib==3.11.2 keras==3.15.1 jax==0.10.2
  touch "$venv/.trireme-complete"
fi

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false OMPI_ALLOW_RUN_AS_ROOT=1 \
       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# on RANKS PROGRAM arguments…
on() {
  local ranks=$1 program=$2
  shift 2
  mpiexec -n "$ranks" "$programs/$program/$program" "$@" 2> >(grep -Ev 'oversubscribing|Detected:|Requested:' >&2)
}

say "digits"
cd "$results/digits"
{
  OMP_NUM_THREADS=2 on 1 digits --strategy one-device --quiet --log one-device.csv
  OMP_NUM_THREADS=2 on 1 digits --strategy mirrored --quiet --log mirrored.csv
  for seed in 1 2 3 4 5; do on 2 digits --quiet --seed "$seed" --log "trireme-$seed.csv"; done
} | tee trireme.txt
KERAS_BACKEND=jax "$venv/bin/python" "$project/scripts/case_studies/digits_keras.py" . 1 2 3 4 5 | tee keras.txt

say "strategies"
cd "$results/strategies"
for ranks in 1 2 4; do
  for strategy in ranks sharded virtual; do
    echo "$ranks $(on $ranks strategies $strategy)"
  done
done | tee losses.txt

say "coupled"
cd "$results/coupled"
{
  on 3 coupled 100 "" trace.csv
  for steps in 20 60 100; do
    on 3 coupled "$steps" backup
    mkdir "at-$steps"
    cp backup/* "at-$steps"
  done
} | tee ends.txt

say "segmentation"
cd "$results"
on 2 segmentation segmentation | tee segmentation.txt

say "pictures"
mkdir -p "$project/docs/case_studies"
"$venv/bin/python" "$project/scripts/case_studies/pictures.py" "$results" "$project/docs/case_studies"
