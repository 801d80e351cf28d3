#!/usr/bin/env python3
"""Trains the network of examples/digits with Keras: the same data, split, sizes, optimizer and callbacks.

    KERAS_BACKEND=jax scripts/case_studies/digits_keras.py FOLDER SEED …     writes FOLDER/keras-SEED.csv
"""
import gzip
import os
import pathlib
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples/data/digits.csv.gz"


def split():
    """The order of examples/digits: a shuffle by std::mt19937(20), of which 80 % are for training."""
    with gzip.open(DATA) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    order, random = list(range(len(table))), np.random.RandomState(20)._bit_generator
    for i in range(len(order), 1, -1):
        j = int(random.random_raw()) % i
        order[i - 1], order[j] = order[j], order[i - 1]
    images, labels = larger(table[order, :64].reshape(-1, 8, 8) / 16), table[order, 64].astype(np.int32)
    train = len(order) * 4 // 5
    return (images[:train], labels[:train]), (images[train:], labels[train:])


def larger(images, target=28):
    """Bilinear, as ResizeTo28 of examples/digits."""
    side = images.shape[1]
    at = np.maximum(0, (np.arange(target, dtype=np.float32) + 0.5) * side / target - 0.5)
    low = at.astype(int)
    part, high = (at - low).astype(np.float32), np.minimum(low + 1, side - 1)
    rows = images[:, low] * (1 - part)[:, None] + images[:, high] * part[:, None]
    return (rows[:, :, low] * (1 - part) + rows[:, :, high] * part)[..., None]


folder, seeds = pathlib.Path(sys.argv[1]), [int(seed) for seed in sys.argv[2:]]
(x, y), test = split()
for seed in seeds:
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    model = keras.Sequential([
        layers.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(64, activation="relu"), layers.Dense(10)])
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    began = time.monotonic()
    model.fit(x, y, batch_size=32, epochs=15, verbose=0, validation_data=test, callbacks=[
        keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.3, patience=3),
        keras.callbacks.EarlyStopping("val_loss", patience=8, restore_best_weights=True),
        keras.callbacks.CSVLogger(folder / f"keras-{seed}.csv")])
    seconds = time.monotonic() - began
    loss, accuracy = model.evaluate(*test, batch_size=256, verbose=0)
    print(f"seed {seed}: val_loss {loss:.4f}, val_accuracy {accuracy:.4f}, {seconds:.1f} s")
