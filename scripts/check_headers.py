#!/usr/bin/env python3
"""Each public header compiles alone.

    scripts/check_headers.py BUILD    BUILD: a build folder of the preset clang19

A header is compiled behind the packages and behind one header that it includes itself, both precompiled: what it needs
and does not include is missing all the same. What it includes first is checked with it, since nothing stands before that.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PRECOMPILED = 8  # headers; with more of them, compiling those takes the time that the others save


def included(path):
    """The headers of trireme that a header includes in each configuration, and the one before all others, or None."""
    headers, first, depth = [], None, 0
    for line in path.read_text().splitlines():
        directive = re.match(r" *# *(if|endif|include)", line)
        if not directive:
            continue
        depth += {"if": 1, "endif": -1, "include": 0}[directive[1]]
        if name := re.match(r' *# *include ["<](trireme/[^">]+)[">]', line):
            if depth == 0 and name[1].endswith(".hpp"):
                headers.append(name[1])
                first = name[1] if first is None else first
            else:
                first = first or ""
    return headers, first or None


def reached(header, includes):
    """The header and all that it includes."""
    found, waiting = set(), [header]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += includes[name]
    return found


def chosen(closures, lines):
    """For headers the one that is precompiled for them: greedily those that save most lines."""
    choice = {}
    size = {name: sum(lines[part] for part in parts) for name, parts in closures.items()}
    for _ in range(PRECOMPILED):
        saved = collections.Counter()
        for name, parts in closures.items():
            for part in parts - {name}:
                saved[part] += max(0, size[part] - (size[choice[name]] if name in choice else 0))
        best = max(sorted(saved), key=lambda name: saved[name] - size[name])
        for name, parts in closures.items():
            if best in parts - {name} and (name not in choice or size[best] > size[choice[name]]):
                choice[name] = best
    return choice


def plan(root, headers):
    """The headers to compile, with the one to precompile for each, or None. Those to precompile come first."""
    found = {name: included(root / name) for name in headers}
    includes = {name: [part for part in parts if part in found] for name, (parts, _) in found.items()}
    closures = {name: reached(name, includes) for name in headers}
    # Behind another header of its circle a header would not be read at all.
    circles = {name for name in headers if any(name in closures[part] for part in includes[name])}
    choice = chosen(closures, {name: len((root / name).read_text().splitlines()) for name in headers})
    choice = {name: best for name, best in choice.items() if name not in circles}

    order = dict.fromkeys(sorted(set(choice.values())))
    covered = set(order)
    for name in sorted(headers, key=lambda name: (-len(closures[name]), name)):
        if name in covered:
            continue
        order[name] = choice.get(name)
        part = found[name][1]
        while part in found and part not in circles and (order[name] is None or order[name] in closures[part]):
            covered.add(part)
            part = found[part][1]
    return order


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent / "include"
    every = build / "tests/headers/every.cpp"
    if not every.exists():
        sys.exit(f"check_headers.py: {build} has no {every.name} with all headers; configure it with the preset clang19")
    headers = re.findall(r"#include <(.*?)>", every.read_text())
    order = plan(root, headers)
    first = set(order.values()) - {None}

    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "trireme_headers"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout.splitlines()
    command = shlex.split(next(line for line in commands if line.endswith("/headers/every.cpp")))
    packages = next(part for part in command if part.endswith(".pch"))
    flags = command[: command.index("-Winvalid-pch")]

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def file(name, suffix):
            return f"{folder}/{name.replace('/', '_')}.{suffix}"

        def failure(name):
            pathlib.Path(file(name, "cpp")).write_text(f"#include <{name}>\n")
            behind = packages if order[name] is None else file(order[name], "pch")
            to = ["-fsyntax-only"]
            if name in first:
                to = ["-x", "c++-header", "-Xclang", "-emit-pch", "-o", file(name, "pch")]
            result = subprocess.run([*flags, "-Xclang", "-include-pch", "-Xclang", behind, *to, file(name, "cpp")],
                                    cwd=build, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return f"{name} does not compile alone:\n{result.stdout}" if result.returncode else ""

        failures = list(filter(None, pool.map(failure, sorted(first))))
        failures = failures or list(filter(None, pool.map(failure, [name for name in order if name not in first])))
    print("\n".join(failures) or f"{len(headers)} headers compile alone")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
