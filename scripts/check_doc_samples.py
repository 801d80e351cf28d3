#!/usr/bin/env python3
"""Checks that the C++ blocks of pages and of headers' comments are in sources that CMake compiles: files of examples/
and tests/, for comments of headers also code of headers.

    scripts/check_doc_samples.py [PAGE …]      default: README.md, docs/*.md and include/**/*.hpp

A block is the text between ```cpp and ```. Spaces and ends of lines do not count, so a block may be indented less than
its source. tests/compile_fail has programs that must not compile, and does not count. Code of trireme that is indented
instead, a line that begins with `tr::` or `trireme::`, is refused: it would be compared with nothing.

In a header a block is what stands indented by five spaces or more behind an empty line of a `///` comment.

A page that has the line `<!-- every line of FILE … -->` shows these sources whole: each line of theirs is in a block,
in the order of the source within a block. Blank lines, includes and the comment at the top do not count.
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


known = list(sources())
headers = sorted((ROOT / "include").rglob("*.hpp"))
code_of_headers = [normalised(re.sub(r"^\s*///.*$", "", path.read_text(), flags=re.M)) for path in headers]


def lines_left_out(path, blocks):
    """The lines of a source that no block shows, as (number, line)."""
    lines = [(at, " ".join(line.split())) for at, line in enumerate(path.read_text().split("\n"), 1)]
    while lines and (lines[0][1].startswith("//") or not lines[0][1]):
        lines.pop(0)
    lines = [(at, line) for at, line in lines if line and not line.startswith(("#include", "#pragma once"))]
    texts, shown = [line for _, line in lines], set()
    for block in blocks:
        own = [line for line in (" ".join(line.split()) for line in block.split("\n")) if line]
        for at in range(len(texts) - len(own) + 1):
            if texts[at : at + len(own)] == own:
                shown.update(range(at, at + len(own)))
    return [line for at, line in enumerate(lines) if at not in shown]


def check_comments(header):
    blocks, errors = 0, []
    text = header.read_text()
    for found in re.finditer(r"^\s*///\n((?:\s*///     .*\n)+)", text, re.M):
        blocks += 1
        block = normalised(re.sub(r"^\s*///", "", found[1], flags=re.M))
        if not any(block in source for source in known + code_of_headers):
            line = text.count("\n", 0, found.start(1)) + 1
            errors.append(f"{header.relative_to(ROOT)}:{line}: the sample '{block[:60]}' is in no source that is compiled")
    return blocks, errors


def check(page):
    if page.suffix == ".hpp":
        return check_comments(page)
    blocks, errors = 0, []
    text = page.read_text()
    for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.M | re.S):
        blocks += 1
        block = normalised(found[1])
        if not block or not any(block in source for source in known):
            line = text.count("\n", 0, found.start()) + 1
            first = found[1].strip().split("\n")[0]
            errors.append(f"{page.name}:{line}: the block that begins '{first}' is in no source of examples/ and tests/")
    fenced = False
    for at, line in enumerate(text.split("\n"), 1):
        if re.match(r" *```", line):
            fenced = not fenced
        elif not fenced and re.match(r"(    |\t)\s*(tr|trireme)::", line):
            errors.append(f"{page.name}:{at}: indented C++ in no ```cpp block: {line.strip()}")
    shown = [found[1] for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.M | re.S)]
    for name in " ".join(re.findall(r"^<!-- every line of (.*) -->$", text, re.M)).split():
        for at, line in lines_left_out(ROOT / name, shown):
            errors.append(f"{page.name}: does not show line {at} of {name}: {line}")
    return blocks, errors


pages = [pathlib.Path(page) for page in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *headers]
results = [check(page) for page in pages]
count, errors = sum(blocks for blocks, _ in results), [error for _, found in results for error in found]
if not count:
    errors.append(f"{', '.join(page.name for page in pages)}: no block of C++")
print("\n".join(errors[:50]) or f"{count} blocks of {len(pages)} pages and headers are in sources that are compiled")
sys.exit(bool(errors))
