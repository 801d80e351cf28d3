#!/usr/bin/env python3
"""Draws the pictures of docs/case_studies.md from what the programs wrote: scripts/case_studies/run.sh calls it.

    scripts/case_studies/pictures.py RESULTS FOLDER
"""
import csv
import pathlib
import shutil
import sys

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"  # colour-blind readers can tell them apart
plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "trireme", "font.family": "sans-serif", "font.size": 10.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "legend.frameon": False,
    "lines.linewidth": 1.5})
results, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def columns(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def save(figure, name):
    figure.tight_layout()
    figure.savefig(folder / name, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def digits():
    figure, (loss, accuracy) = plt.subplots(2, 1, figsize=(5.2, 5.2), sharex=True)
    for name, label, color, line in ("trireme", "trireme", BLUE, "-"), ("keras", "Keras", ORANGE, "--"):
        for seed in range(1, 6):
            log = columns(results / f"digits/{name}-{seed}.csv")
            epoch = log["epoch"] + 1
            loss.semilogy(epoch, log["val_loss"], line, color=color, linewidth=1.1, label=label if seed == 1 else None)
            accuracy.plot(epoch, 100 * log["val_accuracy"], line, color=color, linewidth=1.1)
    loss.set_ylabel("val_loss")
    loss.legend()
    accuracy.set_ylabel("val_accuracy, %")
    accuracy.set_ylim(90, 100)
    accuracy.set_xlabel("epoch")
    save(figure, "digits.svg")


def coupled():
    trace = columns(results / "coupled/trace.csv")
    figure, (time, error) = plt.subplots(2, 1, figsize=(5.2, 5.2), sharex=True)
    time.semilogy(trace["step"], trace["milliseconds"], color=BLUE, label="the step's sources")
    time.semilogy(trace["step"], trace["reaction"], "--", color=ORANGE, label="the reaction alone")
    time.set_ylabel("milliseconds")
    time.legend()
    error.semilogy(trace["step"], trace["error"], color=BLUE)
    error.set_ylabel("largest error of a source")
    error.set_xlabel("step")
    for axes in time, error:
        axes.axvline(60, color="#666666", linewidth=1, linestyle=":")
    error.annotate("the network\ntakes over", (60, error.get_ylim()[1]), (63, error.get_ylim()[1]), va="top", fontsize=9.5)
    save(figure, "coupled_steps.svg")

    figure, axes = plt.subplots(figsize=(5.2, 3.2))
    cells = 150
    axes.plot(0.02 * ((np.arange(cells) * 7 + 3) % 50), ".", color="#999999", markersize=3, label="step 0")
    for step, color, line in (20, GREEN, ":"), (60, BLUE, "--"), (100, ORANGE, "-"):
        file = results / f"coupled/at-{step}/cells-{step}-0"
        axes.plot(np.fromfile(file, np.float64, offset=8)[:cells], line, color=color, label=f"step {step}")
    axes.set_xlabel("cell")
    axes.set_ylabel("concentration")
    axes.set_ylim(0, 1.25)
    axes.legend(ncols=4, fontsize=9, loc="upper center", columnspacing=1, handlelength=1.4)
    save(figure, "coupled_field.svg")


def segmentation():
    rows = ("images", "image"), ("masks", "mask"), ("told", "network")
    figure, axes = plt.subplots(3, 3, figsize=(5.2, 5.2))
    for line, (name, label) in zip(axes, rows):
        for place, picture in zip(line, np.load(results / f"segmentation/{name}.npy")):
            limits = {} if name == "images" else {"vmin": 0, "vmax": 1}
            place.imshow(picture, cmap="gray", interpolation="none", **limits)
            place.set(xticks=[], yticks=[])
            place.grid(False)
        line[0].set_ylabel(label)
    save(figure, "segmentation.svg")

    log = columns(results / "segmentation/epochs.csv")
    figure, axes = plt.subplots(figsize=(5.2, 2.8))
    axes.plot(log["epoch"] + 1, log["loss"], color=BLUE, label="loss")
    axes.plot(log["epoch"] + 1, log["val_loss"], "--", color=ORANGE, label="val_loss")
    axes.set_xlabel("epoch")
    axes.set_ylim(0)
    axes.legend()
    save(figure, "segmentation_epochs.svg")
    shutil.copy(results / "segmentation/unet.svg", folder / "unet.svg")


digits()
coupled()
segmentation()
large = [path.name for path in folder.glob("*.svg") if path.stat().st_size > 60_000]
if large:
    sys.exit(f"larger than 60 kB: {', '.join(large)}")
