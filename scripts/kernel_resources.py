#!/usr/bin/env python3
"""Registers, spills and memory of each device kernel, as a compiler states them, against a table.

    kernel_resources.py LOG [--arch ARCH]            fails if a kernel spills, takes more than its table allows, or is
                                                     not in it
    kernel_resources.py LOG [--arch ARCH] --write    writes the tables

LOG is the output of a build of tests/resources: of nvcc with `-Xptxas -v`, which names the architectures, or of Clang
with `-Rpass-analysis=kernel-resource-usage` for ARCH. The table of an architecture is tests/resources/ARCH.txt; a row:
registers, bytes of static shared memory, bytes of local memory (of a thread), kernel. Another version of the compiler
may take up to eight registers more.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

SLACK = 8  # registers
TABLES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "resources"
Usage = collections.namedtuple("Usage", "registers shared local spilled")


def demangled(text):
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout


def argument(text, begin):
    """The first template argument in `text`, whose list begins at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(text[at], 0)
        if depth < 0 or (depth == 0 and text[at] == ","):
            return text[begin:at]
    return text[begin:]


def kernel_name(launch):
    """The functor of a launch without namespaces, or None for one of Kokkos's own."""
    found = re.search(r"Kokkos::Impl::Parallel(?:For|Reduce)<(?:Kokkos::Impl::CombinedFunctorReducer<)?", launch)
    if not found:
        return None
    functor = argument(launch, found.end())
    if not functor.startswith("trireme::"):
        return None
    functor = re.sub(r", Kokkos::(Cuda|HIP)\b", "", functor)
    functor = re.sub(r"\(bool\)([01])", lambda flag: ["false", "true"][int(flag[1])], functor)
    functor = re.sub(r"(\d+)ul\b", r"\1", re.sub(r"\(unsigned long\)", "", functor))
    return re.sub(r"\s+", " ", re.sub(r"\b(?:[a-z]\w*::)+", "", functor)).replace(" >", ">").strip()


def usages_of_nvcc(text):
    """(architecture, kernel, usage) of each launch."""
    name = arch = stack = spilled = None
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(.*)' for '(sm_\w+)'", line):
            name, arch, stack, spilled = kernel_name(found[1]), found[2], 0, 0
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack, spilled = int(found[1]), int(found[2]) + int(found[3])
        elif (found := re.search(r"Used (\d+) registers", line)) and name:
            shared = re.search(r"(\d+) bytes smem", line)
            yield arch, name, Usage(int(found[1]), int(shared[1]) if shared else 0, stack, spilled)
            name = None


def usages_of_clang(text, arch):
    fields = {}
    for line in text.splitlines():
        if not (found := re.search(r"remark: +([\w ]+?)(?: \[[^]]*\])?: (.*?) \[-Rpass", line)):
            continue
        fields[found[1]] = found[2]
        if found[1] == "LDS Size" and (name := kernel_name(fields["Function Name"])):
            # Scalar registers spill to lanes of vector registers, not to memory.
            usage = Usage(int(fields["VGPRs"]), int(found[2]), int(fields["ScratchSize"]), int(fields["VGPRs Spill"]))
            yield arch, name, usage


def by_architecture(usages):
    """The largest figures of each kernel: the same functor may be launched in several ways."""
    kernels = {}
    for arch, name, usage in usages:
        known = kernels.setdefault(arch, {})
        known[name] = Usage(*map(max, zip(known.get(name, usage), usage)))
    return kernels


def read_table(path):
    if not path.exists():
        sys.exit(f"there is no table {path.name}; --write makes it")
    table = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            registers, shared, local, name = line.split(None, 3)
            table[name] = Usage(int(registers), int(shared), int(local), 0)
    return table


def faults(kernels, table):
    for name, usage in sorted(kernels.items()):
        if usage.spilled:
            yield f"{name} spills registers to memory"
        if name not in table:
            yield f"{name} is not in the table"
            continue
        allowed = table[name]
        if usage.registers > allowed.registers + SLACK:
            yield f"{name} takes {usage.registers} registers, the table allows {allowed.registers} and {SLACK} more"
        for what, now, most in (("shared", usage.shared, allowed.shared), ("local", usage.local, allowed.local)):
            if now > most:
                yield f"{name} takes {now} bytes of {what} memory, the table allows {most}"
    for name in sorted(table.keys() - kernels.keys()):
        yield f"{name} is in the table and was not compiled"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--arch", help="of a log of Clang, such as gfx90a")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = demangled(arguments.log.read_text())
    kernels = by_architecture(usages_of_clang(text, arguments.arch) if arguments.arch else usages_of_nvcc(text))
    if not kernels:
        sys.exit(f"{arguments.log} names no kernel of trireme")
    failed = False
    for arch, usages in sorted(kernels.items()):
        table = TABLES / f"{arch}.txt"
        if arguments.write:
            rows = [f"{u.registers:4} {u.shared:4} {u.local:4}  {name}\n" for name, u in sorted(usages.items())]
            table.write_text("# registers, bytes of shared memory, bytes of local memory, kernel\n" + "".join(rows))
            continue
        for fault in faults(usages, read_table(table)):
            print(f"{table.name}: {fault}", file=sys.stderr)
            failed = True
        print(f"{table.name}: {len(usages)} kernels, at most {max(u.registers for u in usages.values())} registers")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
