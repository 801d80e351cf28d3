"""Compiles sources of a CMake build with -O2, in turn with a file that includes the packages alone, and prints for each
the least seconds of a processor, its ratio to that file's, and the memory: of headers alone, and with TRIREME_COMPILED.

usage: compile_time.py COMPILE_COMMANDS REPETITIONS SOURCE…
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

PACKAGES = """#include <mpi.h>

#include <fmt/format.h>
#include <Kokkos_Core.hpp>
#if __has_include(<xtensor/xarray.hpp>)
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#else
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#endif
"""


def compile_once(command, directory):
    """Seconds in user mode, and GB."""
    pid = os.spawnvp(os.P_NOWAIT, "env", ["env", "-C", directory, *command])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"compile_time.py: failed: {shlex.join(command)}")
    return usage.ru_utime, usage.ru_maxrss / 2**20


entries = json.load(open(sys.argv[1]))
commands = {}
for source in sys.argv[3:]:
    found = [entry for entry in entries if entry["file"].endswith(source)]
    if not found:
        raise SystemExit(f"compile_time.py: the build does not compile {source}")
    command = [part for part in shlex.split(found[0]["command"]) if not part.startswith(("-O", "-march="))] + ["-O2"]
    if "ccache" in pathlib.Path(command[0]).name:
        del command[0]
    commands[source] = command, found[0]["directory"], found[0]["file"]

with tempfile.TemporaryDirectory() as folder:
    packages = pathlib.Path(folder, "packages.cpp")
    packages.write_text(PACKAGES)
    jobs = {}
    for source, (command, directory, file) in commands.items():
        command[command.index("-o") + 1] = f"{folder}/object.o"
        jobs["the packages alone"] = [str(packages) if part == file else part for part in command], directory
        jobs[source] = command, directory
        jobs[f"{source} with trireme::compiled"] = [*command, "-DTRIREME_COMPILED"], directory
    times = {name: [] for name in jobs}
    for _ in range(int(sys.argv[2])):
        for name, job in jobs.items():
            times[name].append(compile_once(*job))

compiler = subprocess.run([next(iter(commands.values()))[0][0], "--version"], capture_output=True, text=True).stdout
print(f"{compiler.splitlines()[0]} -O2, least of {sys.argv[2]}")
base = min(seconds for seconds, _ in times["the packages alone"])
for name, runs in times.items():
    seconds = min(seconds for seconds, _ in runs)
    print(f"{name}: {seconds:.1f} s, {seconds / base:.1f} times, {max(memory for _, memory in runs):.2f} GB")
