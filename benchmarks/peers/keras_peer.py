"""Keras on TensorFlow: compile and fit, with its defaults, over arrays in memory."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from cases import (ADAM_EPSILON, LEARNING_RATE, MOMENTUM, make_data, parse_arguments, parse_case, report, steps_in)


class EpochClock(keras.callbacks.Callback):
    """An epoch lasts until the next begins, with all that `fit` does between; as in benchmarks/training."""

    def __init__(self):
        super().__init__()
        self.moments = []

    def on_epoch_begin(self, epoch, logs=None):
        self.moments.append(time.perf_counter())

    def on_train_end(self, logs=None):
        self.moments.append(time.perf_counter())

    def seconds(self):
        """Of each epoch but the first."""
        return [after - before for before, after in zip(self.moments[1:-1], self.moments[2:])]


def make_model(case):
    if case.model == "cnn":
        hidden = [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
                  layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
                  layers.Dense(64, activation="relu")]
    else:
        activation = "tanh" if case.model == "surrogate" else "relu"
        hidden = [layers.Dense(width, activation=activation) for width in case.hidden]
    model = keras.Sequential([keras.Input(case.extents), *hidden, layers.Dense(case.outputs)])
    if case.adam:
        optimizer = keras.optimizers.Adam(LEARNING_RATE, epsilon=ADAM_EPSILON)
    else:
        optimizer = keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM)
    if case.model == "surrogate":
        model.compile(optimizer, "mse")
    else:
        model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def train(case, options):
    keras.utils.set_random_seed(1)
    model = make_model(case)
    x, y = make_data(case)

    def fit(steps, epochs):
        turns = np.arange(steps) % len(x)
        inputs = x[turns].reshape(-1, *case.extents)
        targets = y[turns].reshape(-1, *y.shape[2:])
        clock = EpochClock()
        history = model.fit(inputs, targets, batch_size=case.batch, epochs=epochs, shuffle=False, verbose=0,
                            callbacks=[clock])
        return clock.seconds(), history.history["loss"]

    steps = options.steps
    if steps == 0:
        seconds, _ = fit(16, 3)
        steps = steps_in(options.seconds, min(seconds) / 16)
    seconds, losses = fit(steps, options.repetitions + 1)
    return seconds, steps, losses


if __name__ == "__main__":
    arguments = parse_arguments(__doc__)
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    for one in map(parse_case, arguments.case):
        report(one, *train(one, arguments))
