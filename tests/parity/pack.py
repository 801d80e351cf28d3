#!/usr/bin/env python3
"""Packs reference cases into archives: one FAMILY.json and one FAMILY.npz instead of a folder a case.

    pack.py CASES ARCHIVES [FAMILY | FAMILY/CASE ...]

CASES is what generate.py wrote. Each family of ARCHIVES keeps the cases that it has, with what CASES says of them now;
those that are named are added, of a FAMILY all. FAMILY.json lists the case.json of each case, and for arrays that all
cases share an entry "data". FAMILY.npz holds the arrays, uncompressed, as <case>/<array>.npy. Files of another kind stay
files: ARCHIVES/FAMILY/<case>/<file>. The same cases give the same bytes. Standard library only.
"""

import argparse
import ast
import json
import struct
import zipfile
from pathlib import Path

TYPES = {"<f8": "float64", "<i4": "int32"}


def described(content, path):
    """Shape and type that the header of a .npy file states."""
    if content[:8] != b"\x93NUMPY\x01\x00":
        raise SystemExit(f"{path} is no .npy file of version 1")
    (length,) = struct.unpack("<H", content[8:10])
    header = ast.literal_eval(content[10:10 + length].decode("latin-1"))
    if header["fortran_order"] or header["descr"] not in TYPES:
        raise SystemExit(f"{path} is not in C order, or holds neither float64 nor int32")
    return {"file": path.name, "shape": list(header["shape"]), "dtype": TYPES[header["descr"]]}


def packed_cases(archives, family):
    """Names of the cases that the archive of a family has."""
    path = archives / f"{family}.json"
    return {entry["name"] for entry in json.loads(path.read_text())} - {"data"} if path.exists() else set()


def pack(cases, archives, family, names):
    folder, entries, members = cases / family, [], {}
    if (folder / "data").is_dir():
        names = names | {"data"}
    for name in sorted(names):
        arrays = {path.stem: path for path in sorted((folder / name).glob("*.npy"))}
        found = {}
        for key, path in arrays.items():
            content = members[f"{name}/{key}.npy"] = path.read_bytes()
            found[key] = described(content, path)
        if name == "data":
            entry = {"family": family, "name": name, "arrays": found}
        else:
            entry = json.loads((folder / name / "case.json").read_text())
            if (entry["family"], entry["name"], entry.get("arrays", {})) != (family, name, found):
                raise SystemExit(f"{folder / name}: case.json and the arrays beside it differ")
        entries.append(entry)
        for path in sorted((folder / name).iterdir()):
            if path.name != "case.json" and path.suffix != ".npy":
                kept = archives / family / name / path.name
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(path.read_bytes())
    lines = ",\n".join(json.dumps(entry, separators=(",", ":"), allow_nan=False) for entry in entries)
    (archives / f"{family}.json").write_text(f"[\n{lines}\n]\n")
    if members:
        with zipfile.ZipFile(archives / f"{family}.npz", "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(members):
                member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                member.create_system, member.external_attr = 3, 0o100644 << 16
                archive.writestr(member, members[name])
    print(f"{family}: {len(entries) - ('data' in names)} cases, {len(members)} arrays")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path, help="has a folder FAMILY/CASE for each case")
    parser.add_argument("archives", type=Path)
    parser.add_argument("names", nargs="*", metavar="FAMILY | FAMILY/CASE")
    given = parser.parse_args()
    given.archives.mkdir(parents=True, exist_ok=True)
    families = {path.stem: packed_cases(given.archives, path.stem) for path in given.archives.glob("*.json")}
    for name in given.names:
        family, _, case = name.partition("/")
        all_cases = {path.parent.name for path in (given.cases / family).glob("*/case.json")}
        if not all_cases or (case and case not in all_cases):
            raise SystemExit(f"{given.cases} has no {name}")
        families.setdefault(family, packed_cases(given.archives, family)).update([case] if case else all_cases)
    for family, names in sorted(families.items()):
        pack(given.cases, given.archives, family, names)


if __name__ == "__main__":
    main()
