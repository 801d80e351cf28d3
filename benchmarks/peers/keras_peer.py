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


def normalized(x, filters, size=3, stride=1):
    return layers.BatchNormalization()(layers.Conv2D(filters, size, stride, "same", use_bias=False)(x))


def make_resnet18(x):
    x, width = layers.ReLU()(normalized(x, 64)), 64
    for filters in (64, 64, 128, 128, 256, 256, 512, 512):
        stride = 1 if filters == width else 2
        beside = x if filters == width else normalized(x, filters, 1, stride)
        x = normalized(layers.ReLU()(normalized(x, filters, stride=stride)), filters)
        x, width = layers.ReLU()(layers.Add()([beside, x])), filters
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def make_vgg(x):
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for filters in stage:
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    for width in (512, 512):
        x = layers.Dense(width, activation="relu")(x)
    return layers.Dense(10)(x)


def make_unet(x):
    def level(x, filters):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        return x

    first = level(x, 32)
    second = level(layers.MaxPooling2D(2)(first), 64)
    x = level(layers.MaxPooling2D(2)(second), 128)
    x = level(layers.Concatenate()([layers.UpSampling2D(2)(x), second]), 64)
    x = level(layers.Concatenate()([layers.UpSampling2D(2)(x), first]), 32)
    return layers.Conv2D(1, 1)(x)


def make_conv1d(x):
    x = layers.Reshape((128, 32))(x)
    for filters, size, is_last in ((64, 5, False), (128, 5, False), (128, 3, True)):
        x = layers.Conv1D(filters, size, padding="same", activation="relu")(x)
        x = layers.GlobalAveragePooling1D()(x) if is_last else layers.MaxPooling1D(2)(x)
    return layers.Dense(10)(x)


DEEP = {"resnet18": make_resnet18, "vgg": make_vgg, "unet": make_unet, "conv1d": make_conv1d}


def make_model(case):
    if case.model in DEEP:
        hidden = []
    elif case.model == "cnn":
        hidden = [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
                  layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
                  layers.Dense(64, activation="relu")]
    else:
        activation = "tanh" if case.model == "surrogate" else "relu"
        hidden = [layers.Dense(width, activation=activation) for width in case.hidden]
    if case.model in DEEP:
        inputs = keras.Input(case.extents)
        model = keras.Model(inputs, DEEP[case.model](inputs))
    else:
        model = keras.Sequential([keras.Input(case.extents), *hidden, layers.Dense(case.outputs)])
    if case.adam:
        optimizer = keras.optimizers.Adam(LEARNING_RATE, epsilon=ADAM_EPSILON)
    else:
        optimizer = keras.optimizers.SGD(LEARNING_RATE, momentum=MOMENTUM)
    if case.loss == "squares":
        model.compile(optimizer, "mse")
    elif case.loss == "pixels":
        model.compile(optimizer, keras.losses.BinaryCrossentropy(from_logits=True),
                      metrics=[keras.metrics.BinaryAccuracy(threshold=0)])
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
    return seconds, steps, losses, int(sum(np.prod(w.shape) for w in model.trainable_weights))


if __name__ == "__main__":
    arguments = parse_arguments(__doc__)
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    for one in map(parse_case, arguments.case):
        report(one, *train(one, arguments))
