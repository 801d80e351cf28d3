#!/usr/bin/env bash
# Checks packaging/spack: the form of the recipes as `spack style` wants it, and what each variant concretizes to.
#
#   scripts/spack.sh            style: Black and Flake8 of PyPI, kept below ~/.cache/trireme
#   SPACK=…/bin/spack scripts/spack.sh   also audits the recipes and concretizes every variant with that Spack 1
source "$(dirname "$0")/dependencies.sh"
cd "$project"
repository=packaging/spack/spack_repo/trireme

require_packages python3-venv
linters=$cache/spack-style-1
if [ ! -e "$linters/.trireme-complete" ]; then
  say "installing Black and Flake8"
  rm -rf "$linters"
  python3 -m venv "$linters" || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
  logged "installing Black and Flake8" "$linters/bin/pip" install -q --disable-pip-version-check black==25.1.0 \
    flake8==7.2.0 pyyaml==6.0.2
  touch "$linters/.trireme-complete"
fi
"$linters/bin/black" -q --check --diff --line-length 99 "$repository" || die "Black would write the recipes otherwise; see above"
# Names of spack.package come with a star, as everywhere in Spack.
"$linters/bin/flake8" --max-line-length 99 --extend-ignore F403,F405,E203,W503 "$repository"
"$linters/bin/python" - "$repository" packaging/spack/environments \
  packaging/spack/debian-12/packages.yaml <<'PYTHON'
import pathlib, sys, yaml
repository, environments, debian = map(pathlib.Path, sys.argv[1:])
said = yaml.safe_load((repository / "repo.yaml").read_text())["repo"]
assert said["namespace"] == repository.name, f"repo.yaml names {said['namespace']}, its folder {repository.name}"
files = sorted(environments.glob("*/spack.yaml"))
assert files, f"{environments} holds no spack.yaml"
for file in files:
    spack = yaml.safe_load(file.read_text())["spack"]
    for path in [*spack["repos"], *(entry["path"] for entry in spack["develop"].values())]:
        assert (file.parent / path).is_dir(), f"{file}: there is no folder {path}"
for name, entry in yaml.safe_load(debian.read_text())["packages"].items():
    for external in entry.get("externals", []):
        assert external["spec"].startswith(f"{name}@"), f"{debian}: {name} has the external {external['spec']}"
PYTHON
say "the recipes have the form that Spack wants"

[ -n "${SPACK:-}" ] || { say "no Spack is named by SPACK: nothing is concretized"; exit 0; }
spack() { "$SPACK" -C "$scope" "$@"; }
scope=$(mktemp -d)
trap 'rm -rf "$scope"' EXIT
echo "repos: {trireme: $PWD/$repository}" >"$scope/repos.yaml"
logged "spack audit" spack audit packages trireme protozero pjrt-c-api
while read -r variant; do
  logged "concretizing trireme $variant" spack spec "trireme@main $variant"
  echo "trireme@main $variant concretizes"
done <<'VARIANTS'
+openmp+serial
~openmp+serial~hdf5~zlib~protozero
+openmp~serial
+pjrt
+examples+tests
+cuda cuda_arch=90
+rocm~openmp amdgpu_target=gfx90a
VARIANTS
while IFS=: read -r variant sentence; do
  if spack spec "trireme@main $variant" >"$scope/log" 2>&1; then die "trireme@main $variant concretizes, and must not"; fi
  grep -qF "trireme: $sentence" "$scope/log" ||
    { tail -n 40 "$scope/log" >&2; die "trireme@main $variant does not concretize, but not since '$sentence'"; }
  echo "trireme@main $variant does not concretize: $sentence"
done <<'VARIANTS'
~openmp~serial:trireme needs a host space: +openmp or +serial
+cuda:+cuda needs an architecture, such as cuda_arch=90
+pjrt~protozero:+pjrt needs +protozero, which writes its messages
VARIANTS
