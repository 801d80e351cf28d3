"""Compiles one source of a CMake build with -O2 and prints the seconds and the memory that it took.

usage: compile_time.py COMPILE_COMMANDS SOURCE
"""

import json
import resource
import shlex
import subprocess
import sys
import tempfile
import time

entries = [entry for entry in json.load(open(sys.argv[1])) if entry["file"].endswith(sys.argv[2])]
if not entries:
    raise SystemExit(f"compile_time.py: the build does not compile {sys.argv[2]}")
command = shlex.split(entries[0]["command"])
optimised = [part for part in command if not part.startswith(("-O", "-march="))] + ["-O2"]
with tempfile.TemporaryDirectory() as folder:
    optimised[optimised.index("-o") + 1] = f"{folder}/object.o"
    start = time.perf_counter()
    subprocess.run(optimised, cwd=entries[0]["directory"], check=True)
    seconds = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
compiler = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout.splitlines()[0]
print(f"{sys.argv[2]}: {seconds:.1f} s, {memory:.2f} GB with {compiler} -O2")
