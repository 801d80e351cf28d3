#!/usr/bin/env python3
"""Saves a model of Keras with a layer of bfloat16 after two steps of Adam, and its weights in float64.

    pip install keras==3.15.1 tensorflow-cpu==2.21.0 h5py
    generate.py FOLDER
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(20261128)
keras.utils.set_random_seed(1)
model = keras.Sequential(
    [keras.Input((3,)), keras.layers.Dense(4, "tanh", dtype="bfloat16"), keras.layers.Dense(2, name="head")]
)
model.compile(keras.optimizers.Adam(0.125), "mse")
x, y = random.normal(size=(8, 3)).astype(np.float32), random.normal(size=(8, 2)).astype(np.float32)
model.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
model.save_weights(f"{folder}/model.weights.h5")
for index, weight in enumerate(model.weights):
    np.save(f"{folder}/w{index}.npy", keras.ops.convert_to_numpy(weight).astype(np.float64))
for name, slot in zip(("momentum", "velocity"), model.optimizer.variables[2:4]):
    np.save(f"{folder}/{name}.npy", keras.ops.convert_to_numpy(slot).astype(np.float64))
