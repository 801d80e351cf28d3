"""Prints what the installed torch needs for a CPU: PyPI's wheel for Linux links CUDA's libraries, so they have to be
there, but neither the compiler for GPUs nor what is only loaded on one."""

import re
from importlib.metadata import requires

NOT_FOR_A_CPU = {"triton", "cuda-bindings"}
LOADED_ON_A_GPU = {"cusolver", "nvtx"}

for line in requires("torch") or []:
    requirement, _, marker = (part.strip() for part in line.partition(";"))
    name, extras, version = re.fullmatch(r"([\w.-]+)(\[[^]]*\])?\s*(.*)", requirement).groups()
    if name in NOT_FOR_A_CPU or "extra ==" in marker:
        continue
    if extras:
        kept = [extra.strip() for extra in extras[1:-1].split(",") if extra.strip() not in LOADED_ON_A_GPU]
        requirement = f"{name}[{','.join(kept)}]{version}"
    print(requirement + (f"; {marker}" if marker else ""))
