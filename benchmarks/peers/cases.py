"""The cases of the table, their data and how they are timed: the same for every peer, and as in benchmarks/training."""

import argparse
import json
import re
import time
from dataclasses import dataclass

import numpy as np

LEARNING_RATE = 1e-3
MOMENTUM = 0.9
ADAM_EPSILON = 1e-7  # Keras's default, and trireme's


MODELS = ("mlp", "cnn", "wide", "surrogate", "transformer", "lstm", "resnet18", "vgg", "unet", "conv1d")


@dataclass(frozen=True)
class Case:
    name: str
    model: str  # one of MODELS, or sweep
    batch: int  # over all processes
    distributed: bool = False
    pjrt: bool = False  # on the plugin that $TRIREME_PJRT_PLUGIN names
    width: int = 0
    depth: int = 0

    @property
    def extents(self):
        """Of one sample, channels last."""
        fixed = {"mlp": (784,), "cnn": (28, 28, 1), "wide": (1024,), "surrogate": (3,),
                 "transformer": (64, 256), "lstm": (64, 32), "resnet18": (32, 32, 3), "vgg": (32, 32, 3),
                 "unet": (64, 64, 1), "conv1d": (1, 128, 32)}
        return fixed.get(self.model, (self.width,))

    @property
    def hidden(self):
        """Widths of the hidden layers of a perceptron."""
        fixed = {"mlp": [128], "wide": [4096, 4096], "surrogate": [64, 64, 64]}
        return fixed.get(self.model, [self.width] * self.depth)

    @property
    def outputs(self):
        return 1 if self.model == "surrogate" else 10

    @property
    def loss(self):
        """squares, pixels (binary cross-entropy of a logit each) or classes (cross-entropy of logits)."""
        return {"surrogate": "squares", "unet": "pixels"}.get(self.model, "classes")

    @property
    def adam(self):
        """Adam, else SGD with momentum."""
        return self.model not in ("wide", "sweep", "resnet18", "vgg")


def parse_case(name):
    match = re.fullmatch(rf"(ddp_|pjrt_)?({'|'.join(MODELS)})_b(\d+)", name)
    if match:
        return Case(name, match[2], int(match[3]), distributed=match[1] == "ddp_", pjrt=match[1] == "pjrt_")
    match = re.fullmatch(r"sweep_w(\d+)_d(\d+)_b(\d+)", name)
    if match:
        return Case(name, "sweep", int(match[3]), width=int(match[1]), depth=int(match[2]))
    raise SystemExit(f"there is no case '{name}'")


def splitmix(counter):
    """SplitMix64 of counters; as in benchmarks/training/synthetic.hpp."""
    with np.errstate(over="ignore"):
        z = (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(count):
    return (splitmix(np.arange(count, dtype=np.uint64)) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)


def make_discs(count, side):
    """Square images with a brighter disc, and whether a pixel lies in it; as in benchmarks/training/synthetic.hpp."""
    draw = splitmix(~np.arange(count, dtype=np.uint64))

    def of(shift, size):
        return ((draw >> np.uint64(shift)) % np.uint64(size)).astype(np.int64)[:, None, None]

    row, column, radius = side // 4 + of(0, side // 2), side // 4 + of(16, side // 2), 4 + of(32, side // 4)
    at = np.arange(side)
    inside = (at[:, None] - row) ** 2 + (at[None, :] - column) ** 2 < radius**2
    shape = (count, side, side)
    noise = (splitmix(np.arange(count * side * side, dtype=np.uint64)) & np.uint64(7)).reshape(shape)
    x = np.float32(0.5) * uniform(count * side * side).reshape(shape) + np.float32(0.5) * inside
    return x.astype(np.float32), np.where(noise < 2, noise == 1, inside).astype(np.float32)


def make_data(case):
    """Inputs (batches, batch, extents…) and targets (batches, batch), (batches, batch, 1) or (batches, batch, extents…)."""
    size = int(np.prod(case.extents))
    batches = min(16, max(2, (64 << 20) // (case.batch * size * 4)))
    count = batches * case.batch
    if case.model == "surrogate":
        x = 2 * uniform(3 * count).reshape(count, 3) - 1
        y = np.sin(2 * x[:, :1]) * x[:, 1:2] + np.float32(0.5) * x[:, 2:]
        return x.reshape(batches, case.batch, 3), y.astype(np.float32).reshape(batches, case.batch, 1)
    if case.model == "unet":
        return [a.reshape(batches, case.batch, *case.extents) for a in make_discs(count, case.extents[0])]
    draw = splitmix(~np.arange(count, dtype=np.uint64))
    shown = draw % np.uint64(10)
    y = np.where(draw >> np.uint64(62) == 0, (draw >> np.uint64(32)) % np.uint64(10), shown).astype(np.int32)
    brighter = (np.arange(size) % 10)[None, :] == shown.astype(np.int64)[:, None]
    x = np.float32(0.5) * uniform(count * size).reshape(count, size) + np.float32(0.5) * brighter.astype(np.float32)
    return x.reshape(batches, case.batch, *case.extents), y.reshape(batches, case.batch)


def parse_arguments(description, *switches):
    """The command line; `switches` are (name, help) of what one peer has besides."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", action="append", required=True)
    parser.add_argument("--steps", type=int, default=0, help="steps of an epoch; 0: as many as take --seconds")
    parser.add_argument("--seconds", type=float, default=0.05, help="an epoch's time, where --steps is 0")
    parser.add_argument("--repetitions", type=int, default=15, help="epochs measured, after one to warm up")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    for name, explanation in switches:
        parser.add_argument(name, action="store_true", help=explanation)
    return parser.parse_args()


def steps_in(seconds, step_seconds):
    return int(min(4096, max(2, seconds / step_seconds)))


def measure(run, options, agree=lambda steps: steps):
    """Times run(steps) -> loss, an epoch that returns when its work is done; `agree` makes all processes' steps one."""
    steps = options.steps
    if steps == 0:
        run(4)
        start = time.perf_counter()
        run(4)
        steps = agree(steps_in(options.seconds, (time.perf_counter() - start) / 4))
    losses, seconds = [], []
    for _ in range(options.repetitions + 1):
        start = time.perf_counter()
        losses.append(float(run(steps)))
        seconds.append(time.perf_counter() - start)
    return seconds[1:], steps, losses


def report(case, seconds, steps, losses, parameters):
    times = sorted(1e6 * s / steps for s in seconds)
    print(json.dumps({"case": case.name, "us_min": round(times[0], 3), "us_median": round(times[len(times) // 2], 3),
                      "steps": steps, "parameters": parameters, "loss_first": round(losses[0], 6), "loss_last": round(losses[-1], 6)}), flush=True)
