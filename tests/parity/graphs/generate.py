"""What Keras computes for a model of two inputs and two outputs whose branches share layers, and files of models whose
layers it stores in another order than they were made in.

    KERAS_BACKEND=tensorflow CUDA_VISIBLE_DEVICES= python generate.py .

Needs keras 3.15 and tensorflow-cpu; the same seed gives the same bytes. Format as in the cases of reference.hpp.
"""
import json
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

keras.config.set_floatx("float64")
keras.utils.set_random_seed(20261121)
random = np.random.default_rng(20261121)


def begin(name):
    global folder, arrays
    folder, arrays = Path(sys.argv[1]) / name, {}
    folder.mkdir(parents=True, exist_ok=True)


def keep(name, values):
    values = np.ascontiguousarray(values)
    np.save(folder / f"{name}.npy", values)
    arrays[name] = {"file": f"{name}.npy", "shape": list(values.shape), "dtype": str(values.dtype)}
    return name


def exact(shape):
    """Numbers that float32 holds exactly."""
    return random.standard_normal(shape).astype(np.float32).astype(np.float64)


def samples(name, count):
    a, b = exact((count, 4)), exact((count, 6))
    price = (a[:, :1] * b[:, :1] + 0.5 * b[:, 1:2]).astype(np.float32).astype(np.float64)
    kind = (np.abs(a[:, 1] + b[:, 2]) * 2).astype(np.int32) % 3
    for key, values in (("a", a), ("b", b), ("price", price), ("kind", kind)):
        keep(f"{name}_{key}", values)
    return [a, b], [price, kind]


begin("two_towers")
first, second = layers.Input((4,)), layers.Input((6,))
shared = layers.Dense(5, "tanh")
normalization = layers.BatchNormalization(momentum=0.75)
towers = [normalization(shared(x)) for x in (layers.Dense(6, "tanh")(first), second)]
joined = layers.Dense(4, "tanh")(layers.Concatenate()(towers))
model = keras.Model([first, second], [layers.Dense(1, name="price")(joined), layers.Dense(3, name="kind")(joined)])
model.compile(
    keras.optimizers.SGD(0.0625, momentum=0.875),
    loss=[keras.losses.MeanSquaredError(), keras.losses.SparseCategoricalCrossentropy(from_logits=True)],
    loss_weights=[0.25, 1.5],
    metrics=[[keras.metrics.MeanAbsoluteError()], ["accuracy"]],
)
for weight in model.weights:  # exact in float32
    value = weight.numpy()
    weight.assign(value.astype(np.float32).astype(np.float64))

# Whole batches only: on TensorFlow Keras averages the outputs' losses over batches, whatever their sizes.
x, y = samples("train", 48)
test_x, test_y = samples("test", 13)
sample_weight = random.integers(1, 9, 48).astype(np.float64) / 4
keep("sample_weight", sample_weight)
weights = [{"name": w.path, "initial": keep(f"initial_{i}", w.numpy())} for i, w in enumerate(model.weights)]


class Record(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.logs = []

    def on_train_batch_end(self, batch, logs=None):
        self.logs.append({k: float(v) for k, v in logs.items()})


record = Record()
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, sample_weight=sample_weight,
                    validation_data=(test_x, test_y), callbacks=[record], verbose=0).history
for i, w in enumerate(model.weights):
    weights[i]["final"] = keep(f"final_{i}", w.numpy())
price, kind = model.predict(test_x, verbose=0)
model.save_weights(folder / "model.weights.h5")
case = {
    "family": "graphs", "name": "two_towers", "class": "Model", "batch_size": 16, "epochs": 3,
    "loss_weights": {"price": 0.25, "kind": 1.5}, "learning_rate": 0.0625, "momentum": 0.875,
    "weights": weights, "history": {k: [float(v) for v in values] for k, values in history.items()},
    "batch_logs": record.logs, "predictions": [keep("predicted_price", price), keep("predicted_kind", kind)],
    "evaluation": {k: float(v) for k, v in model.evaluate(test_x, test_y, verbose=0, return_dict=True).items()},
    "tolerance": {"float32": {"rtol": 1e-4, "atol": 5e-5}, "float64": {"rtol": 1e-9, "atol": 1e-11}},
    "arrays": arrays,
}
(folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def dense(name):
    return layers.Dense(5, "tanh", name=name)


def branches(name):
    """A short branch made before a long one: Keras stores the layers of the long one first, by their depth."""
    x = layers.Input((5,))
    short = dense("short")(x)
    long = dense("long_2")(dense("long_1")(x))
    return keras.Model(x, dense("head")(layers.Add()([long, short])), name=name)


def towers():
    """One model on two branches, of which one goes on deeper than the other behind it."""
    x = layers.Input((5,))
    stem = dense("stem")(x)
    shared = branches("shared")
    left = shared(dense("left_2")(dense("left_1")(stem)))
    right = shared(dense("right_2")(dense("right_1")(stem)))
    left = dense("after_2")(dense("after_1")(left))
    normal = layers.BatchNormalization(momentum=0.75, epsilon=1 / 1024, name="normal_left")(left)
    other = layers.BatchNormalization(momentum=0.75, epsilon=1 / 1024, name="normal_right")(right)
    return keras.Model(x, layers.Dense(5, name="head")(layers.Add()([normal, other])))


def write_file(name, model):
    """A model's file after two steps, its predictions then, and after a third one that takes the optimizer's state."""
    begin(name)
    model.compile(keras.optimizers.Adam(1 / 64, beta_1=0.875, beta_2=0.96875, epsilon=2**-20), "mse")
    x, y = exact((12, 5)), exact((12, 5))
    for _ in range(2):
        model.train_on_batch(x, y)
    model.save_weights(folder / "model.weights.h5")
    keep("x", x), keep("y", y), keep("prediction", model.predict(x, verbose=0))
    model.train_on_batch(x, y)
    keep("prediction_next", model.predict(x, verbose=0))
    (folder / "case.json").write_text(json.dumps({
        "family": "graphs", "name": name, "class": "Model", "layers": [layer.name for layer in model.layers],
        "trainable_variables": [v.path for v in model.trainable_variables],
        "tolerance": {"float64": {"rtol": 1e-9, "atol": 1e-11}}, "arrays": arrays}, indent=1) + "\n")


write_file("branches", branches("graph"))
write_file("towers", towers())
