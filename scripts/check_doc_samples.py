#!/usr/bin/env python3
"""Checks that the C++ blocks of a page are in sources that CMake compiles: files of examples/ and tests/.

    scripts/check_doc_samples.py [PAGE]      default: docs/extending.md

A block is the text between ```cpp and ```. Spaces and ends of lines do not count, so a block may be indented less than
its source. tests/compile_fail has programs that must not compile, and does not count.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def normalised(text):
    return " ".join(text.split())


def sources():
    for folder in "examples", "tests":
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if "compile_fail" not in path.parts:
                yield normalised(path.read_text())


def check(page):
    blocks, errors = 0, []
    known = list(sources())
    text = page.read_text()
    for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.M | re.S):
        blocks += 1
        block = normalised(found[1])
        if not block or not any(block in source for source in known):
            line = text.count("\n", 0, found.start()) + 1
            first = found[1].strip().split("\n")[0]
            errors.append(f"{page.name}:{line}: the block that begins '{first}' is in no source of examples/ and tests/")
    if not blocks:
        errors.append(f"{page.name}: has no block of C++")
    return blocks, errors


page = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/extending.md"
count, errors = check(page)
print("\n".join(errors[:50]) or f"{count} blocks of {page.name} are in sources that are compiled")
sys.exit(bool(errors))
