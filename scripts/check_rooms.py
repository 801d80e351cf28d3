#!/usr/bin/env python3
"""Checks that no header includes one of a room above its own, and that packages stay in their rooms.

    scripts/check_rooms.py [FOLDER]      default: include/trireme

A room is a folder, or a header that lies in none. The table lists them from the bottom to the top; a header includes
headers of its own room and of rooms before it. So there is no circle between rooms.
"""
import pathlib
import re
import sys

ROOMS = """
    version.hpp core
    tensor
    backend/simd backend/threads backend/gemm backend/convolution backend/execution
    io
    compiled_library.hpp
    mpi/fault mpi
    activations initializers losses schedules optimizers
    data
    layers metrics models
    strategies strategies/engine strategies/gradients strategies/data_parallel strategies/inference
    strategies/sharded strategies/pipeline strategies/parameter_server
    callbacks
    environment
    detail predictor.hpp compiled_model.hpp compile.hpp fit.hpp trireme.hpp
    pjrt/lowering pjrt/runtime pjrt/strategy pjrt.hpp
""".split()
PACKAGES = {  # beginning of an include -> the rooms that may have it
    "mpi.h": ("mpi", "environment"),
    "xtensor": ("tensor",),
    "xflens": ("tensor",),
    "xla/": ("pjrt",),
    "hdf5.h": ("io",),
    "zlib.h": ("io",),
    "protozero/": ("io", "pjrt"),
    "omp.h": ("backend",),
}


def room_of(header):
    return str(header.parent) if header.parent != pathlib.Path(".") else header.stem + ".hpp"


def check(folder):
    errors, height = [], {room: at for at, room in enumerate(ROOMS)}
    headers = [path.relative_to(folder) for path in sorted(folder.rglob("*.[hi]pp"))]
    for header in headers:
        room = room_of(header)
        if room not in height:
            errors.append(f"{header}: the room {room} is not in the table of {sys.argv[0]}")
            continue
        text = (folder / header).read_text()
        for included in re.findall(r'^[ \t]*#[ \t]*include "trireme/([^"]+)"', text, re.M):
            other = room_of(pathlib.Path(included))
            if height.get(other, len(ROOMS)) > height[room]:
                errors.append(f"{header}: includes {included}, of a room above")
        for included in re.findall(r"^[ \t]*#[ \t]*include <([^>]+)>", text, re.M):
            for beginning, rooms in PACKAGES.items():
                if included.startswith(beginning) and room.split("/")[0] not in rooms:
                    errors.append(f"{header}: includes {included}, which belongs to {' and '.join(rooms)}")
    return len(headers), errors


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "include/trireme")
count, errors = check(folder)
print("\n".join(errors[:50]) or f"{count} headers include nothing of a room above their own")
sys.exit(bool(errors))
