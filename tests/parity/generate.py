#!/usr/bin/env python3
"""Writes what Keras computes as reference cases, each a folder with case.json and .npy arrays.

    pip install keras==3.15.1 tensorflow-cpu==2.21.0 h5py
    generate.py --seed 20261121 --data OPTDIGITS --out CASES [--only FAMILY ...]
    pack.py CASES data

The last line brings the archives up to date that the tests read. All families take 10 to 20 minutes on one core.
OPTDIGITS has optdigits.tra and optdigits.tes of https://archive.ics.uci.edu/dataset/80, for training, programs and
weights_h5. README.md describes the format. Inputs and weights are exactly representable in float32; expected results are
computed in float64, so they are the truth for both scalar types. The same seed gives the same numbers.
"""

import argparse
import json
import math
import os
import shutil
import sys
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import math_ops

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.experimental.enable_op_determinism()


# TensorFlow turns a Python float into float32 before any cast, so in float64 a hyperparameter such as
# beta_2 = 0.999 would be off by 1e-8 and 1 - beta_2 by 1e-5 (relative). Convert straight to the target.
# The slope of leaky_relu is a float32 attribute, and in_top_k exists for float32 only (the predictions
# here lose nothing in it).
def _exact_in_float64():
    plain_cast, plain_convert, plain_in_top_k = tf.cast, tf.convert_to_tensor, tf.math.in_top_k

    def only_python_floats(value):
        if isinstance(value, (list, tuple)):
            return bool(value) and all(only_python_floats(v) for v in value)
        return isinstance(value, float) and not isinstance(value, np.generic)

    def cast(x, dtype, name=None):
        if isinstance(x, float) and tf.as_dtype(dtype).is_floating:
            return tf.constant(x, dtype=dtype)
        return plain_cast(x, dtype, name)

    def convert_to_tensor(value, dtype=None, *args, **kwargs):
        if dtype is None and only_python_floats(value):
            dtype = keras.config.floatx()
        return plain_convert(value, dtype, *args, **kwargs)

    def leaky_relu(features, alpha=0.2, name=None):
        return tf.where(features > 0, features, tf.constant(alpha, features.dtype) * features)

    def in_top_k(targets, predictions, k, name=None):
        return plain_in_top_k(targets, plain_cast(predictions, tf.float32), k, name)

    tf.cast = math_ops.cast = cast
    tf.convert_to_tensor, tf.nn.leaky_relu, tf.math.in_top_k = convert_to_tensor, leaky_relu, in_top_k


_exact_in_float64()
import keras  # noqa: E402  (after the functions above are in place)
import h5py  # noqa: E402


@contextmanager
def precision(name):
    """Makes `name` the type of every Keras variable and computation inside."""
    before = keras.config.floatx()
    keras.config.set_floatx(name)
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_floatx(before)
        keras.config.set_dtype_policy(before)


# ---------------------------------------------------------------------------------------------- cases

TOLERANCE = {  # family: scalar type: (rtol, atol); a case may carry its own
    "layers": {"float32": (2e-5, 1e-5), "float64": (1e-11, 1e-12)},
    "losses": {"float32": (1e-5, 1e-6), "float64": (1e-11, 1e-12)},
    "metrics": {"float32": (1e-5, 1e-6), "float64": (1e-11, 1e-12)},
    "optimizers": {"float32": (1e-4, 1e-5), "float64": (1e-10, 1e-12)},
    "schedules": {"float32": (2e-5, 1e-9), "float64": (1e-12, 1e-15)},
    "callbacks": {"float32": (0.0, 0.0), "float64": (0.0, 0.0)},
    "training": {"float32": (1e-4, 5e-5), "float64": (1e-7, 1e-9)},
    "programs": {"float32": (1e-4, 5e-5), "float64": (1e-7, 1e-9)},
    "weights_h5": {"float32": (1e-5, 1e-6), "float64": (1e-5, 1e-6)},
}


def f32(values):
    """float64 values that float32 represents exactly."""
    return np.asarray(values, np.float32).astype(np.float64)


def plain(value):
    """JSON-ready copy; non-finite numbers become the strings nan, inf, -inf."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (np.ndarray, tf.Tensor, keras.Variable)):
        return plain(np.asarray(value).tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


class Case:
    """One folder: arrays are written as they are added, case.json by save()."""

    def __init__(self, run, family, name, **fields):
        keras.backend.clear_session()
        self.family, self.name, self.fields = family, name, fields
        self.rng = np.random.default_rng([run.seed, zlib.crc32(f"{family}/{name}".encode())])
        self.folder = run.out / family / name
        self.folder.mkdir(parents=True)
        self.arrays = {}
        self.tolerance = dict(TOLERANCE[family])
        run.counts[family] = run.counts.get(family, 0) + 1

    def normal(self, *shape, scale=1.0):
        return f32(self.rng.standard_normal(shape) * scale)

    def uniform(self, *shape, low=0.0, high=1.0):
        return f32(self.rng.uniform(low, high, shape))

    def integers(self, low, high, *shape):
        return self.rng.integers(low, high, shape).astype(np.int32)

    def probabilities(self, *shape):
        """Rows that sum to one up to float32 rounding."""
        e = np.exp(self.rng.standard_normal(shape))
        return f32(e / e.sum(-1, keepdims=True))

    def add(self, key, value):
        value = np.asarray(value)
        if value.dtype.kind == "f":
            value = value.astype("<f8")
        elif value.dtype.kind in "iub":
            value = value.astype("<i4")
        value = np.array(value, order="C")
        np.save(self.folder / f"{key}.npy", value)
        self.arrays[key] = {"file": f"{key}.npy", "shape": list(value.shape), "dtype": value.dtype.name}
        return key

    def save(self, **fields):
        body = {"family": self.family, "name": self.name, **self.fields, **fields, "arrays": self.arrays}
        body["tolerance"] = {k: {"rtol": r, "atol": a} for k, (r, a) in self.tolerance.items()}
        text = json.dumps(plain(body), indent=1, allow_nan=False)
        (self.folder / "case.json").write_text(text + "\n")


DROPPED = ("initializer", "lora", "quantization")
DROPPED_IF_NONE = ("regularizer", "constraint")


def clean(config):
    """A Keras config without what does not change the numbers."""
    if isinstance(config, dict):
        if set(config) >= {"class_name", "config"}:
            return {"class_name": config["class_name"], "config": clean(config["config"])}
        skip = ("name", "trainable", "dtype", "seed", "synchronized", "unroll", "zero_output_for_mask", "jit_compile")
        return {k: clean(v) for k, v in config.items()
                if k not in skip and not any(d in k for d in DROPPED)
                and not (v is None and any(d in k for d in DROPPED_IF_NONE))}
    if isinstance(config, (list, tuple)):
        return [clean(v) for v in config]
    return config


# --------------------------------------------------------------------------------------------- layers


def random_weight(case, variable):
    """Values in the range where every branch of the layer is exercised, by the role of the weight."""
    role = variable.path.split("/")[-1]
    shape = tuple(variable.shape)
    if role == "moving_variance":
        return case.uniform(*shape, low=0.5, high=1.5)
    if role in ("gamma", "scale"):
        return f32(1 + 0.25 * case.rng.standard_normal(shape))
    if role == "alpha":
        return case.uniform(*shape, low=0.05, high=0.5)
    return case.normal(*shape, scale=0.4)


def layer_case(run, name, make, *shapes, training=None, call=None, config=None, x=None, differentiable=True,
               compiled=False, selects=False, note=None, expected=None):
    """y, dx and weight gradients of sum(y * dy) for one layer.

    shapes: one per input. x: overrides the random inputs. call(layer, xs): how the layer is called.
    compiled: under XLA, for gradients that TensorFlow's CPU kernels lack. selects: the layer only selects
    and adds, so float32 on a coarse grid is exact (TensorFlow's 3D maximum has no float64 kernel).
    expected(xs, dy): y and dx in NumPy where TensorFlow has only a float32 kernel that rounds.
    """
    dtype = "float32" if selects else "float64"
    case = Case(run, "layers", name)
    with precision(dtype):
        layer = make()
    inputs = x(case) if x else [case.normal(*s) for s in shapes]
    call = call or (lambda layer, xs: layer(xs if len(xs) > 1 else xs[0], training=training)
                    if training is not None else layer(xs if len(xs) > 1 else xs[0]))
    tensors = [tf.constant(v.astype(dtype) if v.dtype.kind == "f" else v) for v in inputs]
    if not layer.built:
        shapes_of = [v.shape for v in inputs]
        if isinstance(layer, keras.layers.MultiHeadAttention):
            layer.build(*([shapes_of[0]] * 2 if len(inputs) == 1 else shapes_of[:2]))
        else:
            layer.build(shapes_of if len(inputs) > 1 else shapes_of[0])
    if not isinstance(layer, keras.layers.Normalization):
        for variable in layer.weights:
            variable.assign(random_weight(case, variable))
    before = [w.numpy() for w in layer.weights]
    trainable = {id(w) for w in layer.trainable_weights}

    def forward_backward():
        with tf.GradientTape() as tape:
            if differentiable:
                tape.watch(tensors)
            y = call(layer, tensors)
            dy = case.normal(*y.shape)
            dy = tf.constant((np.round(dy * 64) / 64 if selects else dy).astype(dtype))
            total = tf.reduce_sum(y * dy)
        wrt = [w.value for w in layer.trainable_weights]
        gradients = tape.gradient(total, (tensors if differentiable else []) + wrt,
                                  unconnected_gradients="zero")
        return y, dy, [tf.convert_to_tensor(g) for g in gradients]

    y, dy, gradients = (tf.function(forward_backward, jit_compile=True) if compiled else forward_backward)()
    assert y.dtype == dtype, name
    y, dy, gradients = y.numpy(), dy.numpy(), [g.numpy() for g in gradients]
    if expected:
        exact = expected(inputs, dy)
        np.testing.assert_allclose(exact[0], y, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(exact[1], gradients[0], rtol=1e-5, atol=1e-5)
        y, gradients[0] = exact

    xs = [case.add("x" if len(inputs) == 1 else f"x{i}", v) for i, v in enumerate(inputs)]
    case.add("y", y)
    case.add("dy", dy)
    dxs = []
    if differentiable:
        dxs = [case.add("dx" if len(inputs) == 1 else f"dx{i}", gradients[i]) for i in range(len(inputs))]
    weights, taken = [], len(dxs)
    for i, (variable, value) in enumerate(zip(layer.weights, before)):
        entry = {"name": variable.path.split("/", 1)[1], "array": case.add(f"w{i}", value),
                 "trainable": id(variable) in trainable}
        if entry["trainable"]:
            entry["gradient"] = case.add(f"dw{i}", gradients[taken])
            taken += 1
        elif training:
            entry["after_update"] = case.add(f"w{i}_after", variable.numpy())
        weights.append(entry)
    described = clean(layer.get_config()) if config is None else config
    case.save(**{"class": type(layer).__name__}, config=described, inputs=xs, input_gradients=dxs,
              weights=weights, **({"training": training} if training is not None else {}),
              **({"note": note} if note else {}))


def layers(run):
    K = keras.layers

    def add(name, make, *shapes, **options):
        layer_case(run, name, make, *shapes, **options)

    # Dense, once per activation. A Python callable has no config of its own, so it is described by hand.
    add("dense_bias", lambda: K.Dense(5), (4, 3))
    add("dense_no_bias", lambda: K.Dense(5, use_bias=False), (4, 3))
    add("dense_rank3", lambda: K.Dense(6), (2, 3, 5))
    for activation in ("relu", "tanh", "sigmoid", "softmax", "elu", "selu", "softplus", "silu", "softsign",
                       "exponential", "hard_sigmoid", "mish", "relu6", "leaky_relu"):
        add(f"dense_{activation}", lambda a=activation: K.Dense(5, activation=a), (7, 3),
            note="the string leaky_relu has slope 0.2; the layer LeakyReLU 0.3" if activation == "leaky_relu" else None)
    by_hand = {
        "gelu_exact": (lambda x: keras.activations.gelu(x, approximate=False), {"name": "gelu", "approximate": False}),
        "gelu_tanh": (lambda x: keras.activations.gelu(x, approximate=True), {"name": "gelu", "approximate": True}),
        "leaky_relu_03": (lambda x: keras.activations.leaky_relu(x, negative_slope=0.3),
                          {"name": "leaky_relu", "negative_slope": 0.3}),
    }
    for suffix, (function, description) in by_hand.items():
        add(f"dense_{suffix}", lambda f=function: K.Dense(5, activation=f), (7, 3),
            config={"units": 5, "activation": description, "use_bias": True})
    add("einsum_dense", lambda: K.EinsumDense("abc,cde->abde", output_shape=(None, 2, 5), bias_axes="de"), (3, 4, 6))

    # Activations as layers, with exact zeros among the inputs to fix the derivative at the corner.
    def with_zeros(case):
        x = case.normal(5, 7, scale=2.0)
        x[0, :3], x[3, 2:4] = 0.0, 0.0
        return [x]

    for activation in ("relu", "tanh", "sigmoid", "softmax", "elu", "selu", "softplus", "softsign", "silu", "gelu",
                       "leaky_relu", "exponential", "linear", "hard_sigmoid", "hard_silu", "mish", "relu6", "log_softmax",
                       "celu"):
        add(f"activation_{activation}", lambda a=activation: K.Activation(a), x=with_zeros)
    add("relu_layer", lambda: K.ReLU(), x=with_zeros)
    add("relu_layer_options", lambda: K.ReLU(max_value=1.5, negative_slope=0.125, threshold=0.25), x=with_zeros)
    add("leaky_relu_layer", lambda: K.LeakyReLU(), x=with_zeros)
    add("prelu", lambda: K.PReLU(), (3, 4, 5))
    add("prelu_shared_axes", lambda: K.PReLU(shared_axes=[1, 2]), (2, 3, 4, 5))
    add("elu_layer", lambda: K.ELU(alpha=0.75), x=with_zeros)
    add("softmax_layer", lambda: K.Softmax(), (3, 4, 5))
    add("softmax_layer_axis1", lambda: K.Softmax(axis=1), (3, 4, 5))
    add("rescaling", lambda: K.Rescaling(scale=0.0625, offset=-0.5), (3, 4, 5))

    # Convolutions.
    add("conv1d_valid", lambda: K.Conv1D(4, 3), (2, 9, 3))
    add("conv1d_same_stride2", lambda: K.Conv1D(4, 4, strides=2, padding="same"), (2, 9, 3))
    add("conv1d_causal_dilation2", lambda: K.Conv1D(4, 3, padding="causal", dilation_rate=2), (2, 9, 3), compiled=True)
    for kernel, tag in (((3, 3), "k3x3"), ((2, 4), "k2x4")):
        for padding in ("valid", "same"):
            for stride in (1, 2):
                add(f"conv2d_{tag}_{padding}_stride{stride}",
                    lambda k=kernel, p=padding, s=stride: K.Conv2D(4, k, strides=s, padding=p), (2, 7, 8, 3))
    add("conv2d_stride_2x3_same", lambda: K.Conv2D(4, (3, 5), strides=(2, 3), padding="same"), (2, 7, 10, 3))
    add("conv2d_dilation2", lambda: K.Conv2D(4, 3, dilation_rate=2), (2, 7, 8, 3), compiled=True)
    add("conv2d_dilation2_same", lambda: K.Conv2D(4, 3, dilation_rate=(2, 1), padding="same"), (2, 7, 8, 3), compiled=True)
    add("conv2d_groups2", lambda: K.Conv2D(6, 3, groups=2), (2, 6, 7, 4), compiled=True)
    add("conv2d_1x1_no_bias", lambda: K.Conv2D(5, 1, use_bias=False), (2, 4, 5, 3))
    add("conv2d_relu", lambda: K.Conv2D(5, 3, activation="relu"), (2, 5, 6, 3))
    add("conv3d_valid", lambda: K.Conv3D(3, (2, 3, 2)), (2, 4, 5, 6, 2))
    add("conv3d_same_stride2", lambda: K.Conv3D(3, 3, strides=2, padding="same"), (1, 4, 5, 6, 2))
    add("depthwise_conv1d", lambda: K.DepthwiseConv1D(3, depth_multiplier=2), (2, 7, 3))
    add("depthwise_conv2d_valid", lambda: K.DepthwiseConv2D((3, 2), depth_multiplier=2), (2, 6, 7, 3))
    add("depthwise_conv2d_same_stride2", lambda: K.DepthwiseConv2D(3, strides=2, padding="same"), (2, 7, 8, 3))
    add("separable_conv1d", lambda: K.SeparableConv1D(4, 3, depth_multiplier=2), (2, 7, 3))
    add("separable_conv2d_valid", lambda: K.SeparableConv2D(4, (3, 2), depth_multiplier=2), (2, 6, 7, 3))
    add("separable_conv2d_same_stride2", lambda: K.SeparableConv2D(5, 3, strides=2, padding="same"), (2, 7, 8, 3))
    add("conv1d_transpose_same", lambda: K.Conv1DTranspose(4, 3, strides=2, padding="same"), (2, 5, 3))
    add("conv2d_transpose_valid", lambda: K.Conv2DTranspose(4, (3, 2)), (2, 4, 5, 3))
    add("conv2d_transpose_valid_stride2", lambda: K.Conv2DTranspose(4, 3, strides=2), (2, 4, 5, 3))
    add("conv2d_transpose_valid_k2_stride3", lambda: K.Conv2DTranspose(4, 2, strides=3), (2, 4, 5, 3),
        note="kernel smaller than stride: the rows and columns that no input reaches hold the bias")
    add("conv2d_transpose_same_stride2", lambda: K.Conv2DTranspose(4, (3, 4), strides=2, padding="same"), (2, 4, 5, 3))
    add("conv2d_transpose_output_padding",
        lambda: K.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=0), (2, 4, 5, 3))
    add("conv3d_transpose_valid", lambda: K.Conv3DTranspose(2, 2, strides=2), (1, 2, 3, 4, 3))

    # Pooling; stride differs from the window.
    for rank, shape, window in ((1, (2, 11, 3), 3), (2, (2, 7, 10, 3), (3, 2)), (3, (1, 5, 6, 7, 2), (2, 3, 2))):
        strides = {1: 2, 2: (2, 3), 3: (1, 2, 2)}[rank]
        for kind in ("Max", "Average"):
            for padding in ("valid", "same"):
                add(f"{kind.lower()}_pooling{rank}d_{padding}",
                    lambda k=kind, r=rank, w=window, s=strides, p=padding:
                        getattr(K, f"{k}Pooling{r}D")(w, strides=s, padding=p), shape,
                    selects=(kind, rank) == ("Max", 3), compiled=(kind, rank) == ("Average", 3),
                    note="padding counts neither as value nor in the divisor"
                    if (kind, padding) == ("Average", "same") else None)
    add("max_pooling2d_default_stride", lambda: K.MaxPooling2D(), (2, 5, 6, 3))
    add("max_pooling2d_ties", lambda: K.MaxPooling2D(2), x=lambda c: [c.integers(0, 2, 2, 6, 6, 2).astype(np.float64)],
        note="ties: TensorFlow's CPU kernel gives the gradient to the first maximum of the window, row by row")
    for rank, shape in ((1, (2, 5, 3)), (2, (2, 4, 5, 3)), (3, (2, 3, 4, 5, 2))):
        for kind in ("Average", "Max"):
            add(f"global_{kind.lower()}_pooling{rank}d", lambda k=kind, r=rank: getattr(K, f"Global{k}Pooling{r}D")(), shape)
    add("global_average_pooling2d_keepdims", lambda: K.GlobalAveragePooling2D(keepdims=True), (2, 4, 5, 3))

    # Normalization.
    for training in (True, False):
        mode = "training" if training else "inference"
        add(f"batch_normalization_rank2_{mode}", lambda: K.BatchNormalization(), (9, 4), training=training)
        add(f"batch_normalization_rank4_{mode}", lambda: K.BatchNormalization(), (3, 4, 5, 2), training=training)
    add("batch_normalization_options_training",
        lambda: K.BatchNormalization(momentum=0.75, epsilon=0.015625, scale=False), (7, 3), training=True)
    add("batch_normalization_no_center_training", lambda: K.BatchNormalization(center=False), (7, 3), training=True)
    add("batch_normalization_axis1_training", lambda: K.BatchNormalization(axis=1), (3, 4, 5), training=True)
    add("batch_normalization_one_sample_training", lambda: K.BatchNormalization(), (1, 4), training=True,
        note="variance 0: y = beta, and the moving variance moves towards 0")
    add("layer_normalization", lambda: K.LayerNormalization(), (4, 5, 6))
    add("layer_normalization_axes", lambda: K.LayerNormalization(axis=[1, 2], epsilon=1e-5), (3, 4, 5))
    add("layer_normalization_bare", lambda: K.LayerNormalization(center=False, scale=False), (4, 6))
    add("group_normalization", lambda: K.GroupNormalization(groups=2), (2, 3, 4, 6))
    add("group_normalization_instance", lambda: K.GroupNormalization(groups=-1), (2, 3, 4, 5))
    add("rms_normalization", lambda: K.RMSNormalization(), (3, 4, 5))

    def adapt_case():
        # The adapted statistics are weights in Keras; they are listed here as expected arrays.
        case = Case(run, "layers", "normalization_adapted")
        data = f32(case.rng.normal(2.0, 3.0, (50, 4)))
        layer = K.Normalization(axis=-1)
        layer.adapt(data)
        mean, variance = np.asarray(layer.mean).ravel(), np.asarray(layer.variance).ravel()
        exact_mean, exact_variance = data.mean(0), data.var(0)
        np.testing.assert_allclose(mean, exact_mean, rtol=1e-5)
        np.testing.assert_allclose(variance, exact_variance, rtol=1e-5)
        x = case.normal(3, 4, scale=3.0)
        y = (x - exact_mean) / np.maximum(np.sqrt(exact_variance), keras.config.epsilon())
        np.testing.assert_allclose(np.asarray(layer(x)), y, rtol=1e-4, atol=1e-4)
        for key, value in (("data", data), ("mean", exact_mean), ("variance", exact_variance), ("x", x), ("y", y)):
            case.add(key, value)
        case.save(**{"class": "Normalization"}, config={"axis": [-1]}, inputs=["x"],
                  note="mean and (biased) variance of `data`; y = (x - mean) / max(sqrt(variance), 1e-7). Keras keeps "
                       "the statistics in float32; the arrays here are NumPy's float64")

    adapt_case()
    add("normalization_given", lambda: K.Normalization(axis=-1, mean=[0.5, -1.0, 2.0], variance=[4.0, 0.25, 1.0]), (4, 3))
    add("normalization_invert",
        lambda: K.Normalization(axis=-1, mean=[0.5, -1.0, 2.0], variance=[4.0, 0.25, 1.0], invert=True), (4, 3))

    # Embedding: a repeated index must add its gradients.
    add("embedding", lambda: K.Embedding(7, 4), differentiable=False, x=lambda c: [c.integers(0, 7, 5, 6)])

    # Recurrent layers.
    for sequences in (False, True):
        tag = "sequences" if sequences else "last"
        add(f"simple_rnn_{tag}", lambda s=sequences: K.SimpleRNN(4, return_sequences=s), (3, 5, 2))
        add(f"lstm_{tag}", lambda s=sequences: K.LSTM(4, return_sequences=s), (3, 5, 2))
        add(f"gru_{tag}", lambda s=sequences: K.GRU(4, return_sequences=s, reset_after=True), (3, 5, 2))
        add(f"bidirectional_lstm_{tag}", lambda s=sequences: K.Bidirectional(K.LSTM(4, return_sequences=s)), (3, 5, 2))
    add("bidirectional_lstm_sum", lambda: K.Bidirectional(K.LSTM(4, return_sequences=True), merge_mode="sum"), (3, 5, 2))
    add("lstm_go_backwards", lambda: K.LSTM(4, return_sequences=True, go_backwards=True), (3, 5, 2))
    add("lstm_no_bias_options", lambda: K.LSTM(4, use_bias=False, activation="relu", recurrent_activation="hard_sigmoid"),
        (3, 5, 2))
    add("gru_reset_before", lambda: K.GRU(4, return_sequences=True, reset_after=False), (3, 5, 2))

    # Attention. A single input means self attention: query = key = value = x.
    self_attention = lambda layer, xs: layer(xs[0], xs[0])  # noqa: E731
    causal = lambda layer, xs: layer(xs[0], xs[0], use_causal_mask=True)  # noqa: E731
    add("multi_head_attention", lambda: K.MultiHeadAttention(2, 3), (2, 5, 6), call=self_attention)
    add("multi_head_attention_causal", lambda: K.MultiHeadAttention(2, 3), (2, 5, 6), call=causal,
        note="called with use_causal_mask=True")
    add("multi_head_attention_no_bias", lambda: K.MultiHeadAttention(3, 4, use_bias=False), (2, 5, 6), call=self_attention)
    add("multi_head_attention_value_dim", lambda: K.MultiHeadAttention(2, 3, value_dim=5, output_shape=4), (2, 5, 6),
        call=causal, note="called with use_causal_mask=True")
    add("multi_head_attention_cross", lambda: K.MultiHeadAttention(2, 3), (2, 4, 6), (2, 7, 5),
        call=lambda layer, xs: layer(xs[0], xs[1]), note="query = x0, key = value = x1")

    # Merges.
    for merge in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        count = 2 if merge == "Subtract" else 3
        add(f"{merge.lower()}_merge", lambda m=merge: getattr(K, m)(), *([(3, 4, 5)] * count))
    add("add_merge_broadcast", lambda: K.Add(), (3, 4, 5), (3, 1, 5))
    add("concatenate_last", lambda: K.Concatenate(), (2, 3, 4), (2, 3, 1), (2, 3, 2))
    add("concatenate_axis1", lambda: K.Concatenate(axis=1), (2, 3, 4), (2, 1, 4))

    # Shape layers.
    add("flatten", lambda: K.Flatten(), (2, 3, 4, 5))
    add("reshape", lambda: K.Reshape((4, -1)), (2, 3, 8))
    add("permute", lambda: K.Permute((3, 1, 2)), (2, 3, 4, 5))
    add("zero_padding1d", lambda: K.ZeroPadding1D((2, 1)), (2, 3, 4))
    add("zero_padding2d", lambda: K.ZeroPadding2D(((1, 2), (3, 0))), (2, 3, 4, 2))
    add("zero_padding3d", lambda: K.ZeroPadding3D(((1, 0), (0, 2), (1, 1))), (1, 2, 3, 4, 2))
    add("cropping1d", lambda: K.Cropping1D((2, 1)), (2, 7, 3))
    add("cropping2d", lambda: K.Cropping2D(((1, 2), (0, 3))), (2, 6, 7, 3))
    add("cropping3d", lambda: K.Cropping3D(((1, 0), (0, 2), (1, 1))), (1, 3, 4, 5, 2))
    add("up_sampling1d", lambda: K.UpSampling1D(3), (2, 3, 4))
    add("up_sampling2d_nearest", lambda: K.UpSampling2D((2, 3)), (2, 3, 4, 2), expected=resize("nearest", (2, 3)))
    add("up_sampling2d_bilinear", lambda: K.UpSampling2D((2, 3), interpolation="bilinear"), (2, 3, 4, 2),
        expected=resize("bilinear", (2, 3)),
        note="half-pixel centres, edges clamped; TensorFlow resizes in float32, so y and dx are NumPy's float64")
    add("up_sampling3d", lambda: K.UpSampling3D((1, 2, 3)), (1, 2, 3, 2, 2))


def resize(method, factors):
    """float64 y and dx of a 2D upsampling, from its two interpolation matrices."""

    def matrix(size, factor):
        m = np.zeros((size * factor, size))
        for i in range(size * factor):
            if method == "nearest":
                m[i, i // factor] = 1.0
                continue
            at = (i + 0.5) / factor - 0.5
            low = math.floor(at)
            m[i, min(max(low, 0), size - 1)] += 1 - (at - low)
            m[i, min(max(low + 1, 0), size - 1)] += at - low
        return m

    def both(inputs, dy):
        rows, columns = (matrix(inputs[0].shape[1 + i], factors[i]) for i in range(2))
        return (np.einsum("ia,jb,nabc->nijc", rows, columns, inputs[0]),
                np.einsum("ia,jb,nijc->nabc", rows, columns, dy))

    return both


# --------------------------------------------------------------------------------------------- losses


def ctc_float64(labels, logits):
    """Connectionist temporal classification for each sample, by the forward recursion over the labels with
    blanks between them; TensorFlow computes it in float32."""
    losses = []
    for row, steps in zip(np.asarray(labels), tf.unstack(tf.nn.log_softmax(logits))):
        row = [int(label) for label in row if label != 0]
        extended = [0] + [symbol for label in row for symbol in (label, 0)]
        symbols = tf.gather(steps, extended, axis=1)
        never = tf.constant(-1e300, tf.float64)
        skips = tf.constant([i >= 2 and extended[i] != 0 and extended[i] != extended[i - 2] for i in range(len(extended))])
        alpha = tf.concat([symbols[0, :2], tf.fill([len(extended) - 2], never)], 0)
        for t in range(1, steps.shape[0]):
            one = tf.concat([[never], alpha[:-1]], 0)
            two = tf.where(skips, tf.concat([[never, never], alpha[:-2]], 0), never)
            alpha = tf.reduce_logsumexp(tf.stack([alpha, one, two]), 0) + symbols[t]
        losses.append(-tf.reduce_logsumexp(alpha[-2:]))
    return tf.stack(losses)


def loss_case(run, name, cls, config, y_true, y_pred, note=None):
    """Per-sample values, all reductions and the gradients of the reduced value, with and without weights.

    y_true, y_pred: functions of the case. The weights are one per sample, and one per value where a sample
    has several values. The tolerance in float32 follows what Keras itself shows.
    """
    case = Case(run, "losses", name, **{"class": cls}, config=config)
    y_true, y_pred = y_true(case), y_pred(case)
    case.add("y_true", y_true)
    case.add("y_pred", y_pred)

    def evaluate(reduction, weight=None):
        prediction = tf.constant(y_pred.astype(keras.config.floatx()))
        with tf.GradientTape() as tape:
            tape.watch(prediction)
            loss = getattr(keras.losses, cls)(reduction=reduction, **config)
            if cls == "CTC" and prediction.dtype == tf.float64:
                np.testing.assert_allclose(loss.call(y_true, prediction), ctc_float64(y_true, prediction), rtol=1e-5)
                loss.call = ctc_float64
            loss = loss(y_true, prediction, sample_weight=weight)
        assert loss.dtype == keras.config.floatx(), name
        return loss.numpy(), tape.gradient(loss, prediction).numpy()

    values = evaluate(None)[0]
    case.add("values", values)
    weights = {"": None}
    if values.ndim:
        # Keras refuses weights (n,) for values (n, t): they have to be (n, 1) or (n, t).
        weights["_weighted"] = case.uniform(len(values), *[1] * (values.ndim - 1), high=2.0)
        weights["_weighted"].flat[0] = 0.0
        case.add("sample_weight", weights["_weighted"])
        if values.ndim > 1:
            weights["_elementwise"] = case.uniform(*values.shape, high=2.0)
            case.add("sample_weight_elementwise", weights["_elementwise"])
    expected = {}
    for suffix, weight in weights.items():
        for reduction in ("sum_over_batch_size", "sum", "mean_with_sample_weight"):
            loss, gradient = evaluate(reduction, weight)
            assert loss.shape == (), name
            expected[reduction + suffix] = loss
            if reduction == "sum_over_batch_size":
                case.add("gradient" + suffix, gradient)

    with precision("float32"):
        rounded = evaluate(None)[0], evaluate("sum_over_batch_size")[1]
    exact = values, evaluate("sum_over_batch_size")[1]
    error = max(float(np.max(np.abs(r - e) / (1.0 + np.abs(e)))) for r, e in zip(rounded, exact))
    if error > 2e-6:
        case.tolerance["float32"] = (float(f"{5 * error:.1g}"), float(f"{5 * error:.1g}"))
    case.save(expected=expected, keras_float32_error=float(f"{error:.2e}"), **({"note": note} if note else {}))


def losses(run):
    def add(name, cls, y_true, y_pred, config=None, **options):
        loss_case(run, name, cls, config or {}, y_true, y_pred, **options)

    shape = (6, 4)
    binary = lambda c: c.integers(0, 2, *shape).astype(float)  # noqa: E731
    unit = lambda c: c.uniform(*shape, low=0.02, high=0.98)  # noqa: E731
    logits = lambda c: c.normal(*shape, scale=2.0)  # noqa: E731
    one_hot = lambda c: np.eye(4)[c.integers(0, 4, 6)]  # noqa: E731
    soft = lambda c: c.probabilities(*shape)  # noqa: E731
    labels = lambda c: c.integers(0, 4, 6)  # noqa: E731
    real = lambda c: c.normal(*shape)  # noqa: E731
    positive = lambda c: c.uniform(*shape, low=0.1, high=3.0)  # noqa: E731

    def edges(values, count=6, classes=4):
        return lambda c: f32(c.rng.choice(values, (count, classes)))

    edge_note = ("probabilities 0 and 1 are clipped to [1e-7, 1 - 1e-7] with gradient 0 outside; in float32 the upper "
                 "limit rounds to 1 - 1.19e-7, hence the wide tolerance")
    big = [-80.0, -1.0, 0.0, 1.0, 80.0]

    # Binary.
    for cls, tag, extra in (
        ("BinaryCrossentropy", "binary_crossentropy", {}),
        ("BinaryFocalCrossentropy", "binary_focal_crossentropy", {}),
    ):
        add(tag, cls, binary, unit, {**extra})
        add(f"{tag}_logits", cls, binary, logits, {"from_logits": True, **extra})
        add(f"{tag}_smoothing", cls, binary, unit, {"label_smoothing": 0.125})
        add(f"{tag}_logits_smoothing", cls, binary, logits, {"from_logits": True, "label_smoothing": 0.125})
        add(f"{tag}_edges", cls, binary, edges([0.0, 1.0, 0.5, 0.25]), note=edge_note)
        add(f"{tag}_logits_edges", cls, binary, edges(big), {"from_logits": True})
        add(f"{tag}_column", cls, lambda c: c.integers(0, 2, 5, 1).astype(float), lambda c: c.uniform(5, 1, low=0.02, high=0.98))
    add("binary_focal_crossentropy_balanced", "BinaryFocalCrossentropy", binary, unit,
        {"apply_class_balancing": True, "alpha": 0.375, "gamma": 1.5})

    # Categorical.
    for cls, tag in (("CategoricalCrossentropy", "categorical_crossentropy"),
                     ("CategoricalFocalCrossentropy", "categorical_focal_crossentropy")):
        add(tag, cls, one_hot, soft)
        add(f"{tag}_soft_labels", cls, soft, soft)
        add(f"{tag}_unnormalised", cls, one_hot, unit, note="predictions are divided by their sum first")
        add(f"{tag}_logits", cls, one_hot, logits, {"from_logits": True})
        add(f"{tag}_smoothing", cls, one_hot, soft, {"label_smoothing": 0.125})
        add(f"{tag}_logits_smoothing", cls, one_hot, logits, {"from_logits": True, "label_smoothing": 0.125})
        add(f"{tag}_edges", cls, one_hot, lambda c: np.eye(4)[c.integers(0, 4, 6)], note=edge_note)
        add(f"{tag}_logits_edges", cls, one_hot, edges(big), {"from_logits": True})
        add(f"{tag}_sequence", cls, lambda c: np.eye(5)[c.integers(0, 5, 3, 4)], lambda c: c.probabilities(3, 4, 5))
    add("categorical_focal_crossentropy_options", "CategoricalFocalCrossentropy", one_hot, soft, {"alpha": 0.5, "gamma": 3.0})
    sparse = "SparseCategoricalCrossentropy"
    add("sparse_categorical_crossentropy", sparse, labels, soft)
    add("sparse_categorical_crossentropy_unnormalised", sparse, labels, unit,
        note="predictions are divided by their sum first")
    add("sparse_categorical_crossentropy_logits", sparse, labels, logits, {"from_logits": True})
    add("sparse_categorical_crossentropy_column", sparse, lambda c: c.integers(0, 4, 6, 1), logits, {"from_logits": True})
    add("sparse_categorical_crossentropy_edges", sparse, labels, lambda c: np.eye(4)[c.integers(0, 4, 6)], note=edge_note)
    add("sparse_categorical_crossentropy_logits_edges", sparse, labels, edges(big), {"from_logits": True})
    add("sparse_categorical_crossentropy_sequence", sparse, lambda c: c.integers(0, 5, 3, 4), lambda c: c.normal(3, 4, 5),
        {"from_logits": True})

    def with_ignored(case):
        y = case.integers(0, 4, 3, 5)
        y[0, 1] = y[2, 3] = y[2, 4] = -1
        return y

    add("sparse_categorical_crossentropy_ignore_class", sparse, with_ignored, lambda c: c.normal(3, 5, 4),
        {"from_logits": True, "ignore_class": -1}, note="ignored positions also leave the divisor of the mean")

    # Hinge family: labels {0, 1} become {-1, 1} when all labels are 0 or 1.
    signs = lambda c: 2.0 * c.integers(0, 2, *shape) - 1  # noqa: E731
    for cls, tag in (("Hinge", "hinge"), ("SquaredHinge", "squared_hinge")):
        add(tag, cls, signs, real)
        add(f"{tag}_zero_one_labels", cls, binary, real)
        add(f"{tag}_edges", cls, signs, edges([-1.0, 0.0, 1.0, 2.0]))
    add("categorical_hinge", "CategoricalHinge", one_hot, real)

    # Regression.
    for cls, tag in (("MeanSquaredError", "mean_squared_error"), ("MeanAbsoluteError", "mean_absolute_error"),
                     ("MeanAbsolutePercentageError", "mean_absolute_percentage_error"), ("LogCosh", "log_cosh"),
                     ("Huber", "huber"), ("CosineSimilarity", "cosine_similarity")):
        add(tag, cls, real, real)
        add(f"{tag}_sequence", cls, lambda c: c.normal(2, 3, 4), lambda c: c.normal(2, 3, 4))
    add("mean_absolute_error_edges", "MeanAbsoluteError", edges([-1.0, 0.0, 1.0]), edges([-1.0, 0.0, 1.0]),
        note="derivative 0 where the values are equal")
    add("mean_absolute_percentage_error_edges", "MeanAbsolutePercentageError", edges([0.0, 1.0, -2.0]),
        edges([0.5, 1.0, -2.0]), note="the divisor is max(|y_true|, 1e-7)")
    add("log_cosh_edges", "LogCosh", edges([0.0, 1.0]), edges(big))
    add("huber_delta", "Huber", real, lambda c: c.normal(*shape, scale=3.0), {"delta": 0.75})
    add("huber_edges", "Huber", edges([0.0]), edges([-2.0, -1.0, 0.0, 1.0, 2.0]), note="|error| exactly delta is quadratic")
    add("cosine_similarity_axis1", "CosineSimilarity", lambda c: c.normal(2, 3, 4), lambda c: c.normal(2, 3, 4), {"axis": 1})

    def zero_rows(case):
        y = case.normal(*shape)
        y[1] = 0.0
        return y

    add("cosine_similarity_zero_vector", "CosineSimilarity", zero_rows, zero_rows,
        note="norms come from max(sum of squares, 1e-12)")
    msle = "MeanSquaredLogarithmicError"
    add("mean_squared_logarithmic_error", msle, positive, positive)
    add("mean_squared_logarithmic_error_edges", msle, edges([0.0, 1.0, -2.0]), edges([-1.0, 0.0, 0.5]),
        note="both sides are raised to at least 1e-7")
    add("kl_divergence", "KLDivergence", soft, soft)
    add("kl_divergence_edges", "KLDivergence", one_hot, lambda c: np.eye(4)[c.integers(0, 4, 6)],
        note="both sides are clipped to [1e-7, 1]")
    add("poisson", "Poisson", positive, positive)
    add("poisson_edges", "Poisson", edges([0.0, 1.0, 3.0]), edges([0.0, 1.0, 2.0]), note="log(y_pred + 1e-7)")

    # Overlap losses: axis None reduces everything to one number.
    mask = lambda c: c.integers(0, 2, 3, 4, 5, 1).astype(float)  # noqa: E731
    map_ = lambda c: c.uniform(3, 4, 5, 1)  # noqa: E731
    add("dice", "Dice", mask, map_)
    add("dice_axes", "Dice", mask, map_, {"axis": (1, 2, 3)})
    add("tversky", "Tversky", mask, map_, {"alpha": 0.375, "beta": 0.75},
        note="alpha weighs sum(y_true * (1 - y_pred)), beta sum(y_pred * (1 - y_true)), the reverse of Keras's documentation")
    add("tversky_axes", "Tversky", mask, map_, {"alpha": 0.375, "beta": 0.75, "axis": (1, 2, 3)})

    # CTC: label 0 is padding, class 0 the blank.
    def ctc_labels(case):
        y = case.integers(1, 5, 3, 4)
        y[1, 3:], y[2, 2:] = 0, 0
        return y

    add("ctc", "CTC", ctc_labels, lambda c: c.normal(3, 9, 5),
        note="y_true (batch, length) padded with 0; y_pred (batch, time, classes) unnormalised; class 0 is the blank. "
             "Computed here in float64; Keras only has float32")


# -------------------------------------------------------------------------------------------- metrics

BATCHES = (7, 1, 0, 5)


def iou_float64(metric):
    """Mean over the target classes that occur. Keras divides in float32, by the union + 1e-7."""
    table = metric.total_cm.numpy().astype(np.float64)
    hits, union = np.diag(table), table.sum(0) + table.sum(1) - np.diag(table)
    values = [hits[k] / union[k] for k in metric.target_class_ids if union[k] > 0]
    return np.mean(values) if values else 0.0


def metric_case(run, name, cls, config, batch, note=None, weight_shape=None):
    """Results after each of several uneven batches, with and without weights.

    batch(case, n) gives y_true, y_pred (or values alone, for Mean and Sum). An empty batch is part of the
    sequence where Keras accepts one.
    """
    case = Case(run, "metrics", name, **{"class": cls}, config=config)
    make = lambda: getattr(keras.metrics, cls)(**config)  # noqa: E731
    arrays = [tuple(np.asarray(v) for v in batch(case, n)) for n in BATCHES]
    shapes = [weight_shape(n) if weight_shape else (n,) for n in BATCHES]
    iou = "IoU" in cls
    if iou:  # Keras counts in integers by default and would cut fractional weights off
        weights = [case.integers(0, 4, *shape).astype(np.float64) for shape in shapes]
        case.tolerance = {k: (2e-7, 2e-7) for k in case.tolerance}
    else:
        weights = [case.uniform(*shape, high=2.0) for shape in shapes]
    weights[0].flat[1] = 0.0

    def result_of(metric):
        result = np.asarray(metric.result())
        if iou:
            np.testing.assert_allclose(result, iou_float64(metric), rtol=1e-6)
            return iou_float64(metric)
        return result

    def drive(with_weights):
        metric, results, sizes = make(), [], []
        for n, values, weight in zip(BATCHES, arrays, weights):
            try:
                metric.update_state(*values, **({"sample_weight": weight} if with_weights else {}))
                results.append(result_of(metric))
                sizes.append(n)
            except Exception:
                if n:
                    raise
        return results, sizes

    results, sizes = drive(False)
    expected = {"results": results}
    kept = [i for i, n in enumerate(BATCHES) if n in sizes]
    expected["results_weighted"], weighted_sizes = drive(True)
    assert weighted_sizes == sizes, name
    names = ("y_true", "y_pred") if len(arrays[0]) == 2 else ("values",)
    batches = []
    for k, i in enumerate(kept):
        entry = {"size": BATCHES[i], **{key: case.add(f"b{k}_{key}", v) for key, v in zip(names, arrays[i])}}
        entry["sample_weight"] = case.add(f"b{k}_sample_weight", weights[i])
        batches.append(entry)
    case.save(batches=batches, expected=expected, **({"note": note} if note else {}))


def metrics(run):
    def add(name, cls, batch, config=None, **options):
        metric_case(run, name, cls, config or {}, batch, **options)

    classes = 4

    def one_hot(c, n, k=classes):
        return np.eye(k)[c.integers(0, k, n)]

    def binary_row(c, n):
        p = c.uniform(n)
        p[:1] = 0.5  # exactly on the default threshold
        return c.integers(0, 2, n).astype(float), p

    def binary_matrix(c, n):
        return c.integers(0, 2, n, 3).astype(float), c.uniform(n, 3)

    def categorical(c, n):
        return one_hot(c, n), c.probabilities(n, classes)

    def sparse(c, n):
        return c.integers(0, classes, n), c.probabilities(n, classes)

    def regression(c, n):
        y = c.normal(n, 3)
        return y, f32(y + 0.5 * c.rng.standard_normal((n, 3)))

    def positive(c, n):
        return c.uniform(n, 3, low=0.1, high=2.0), c.uniform(n, 3, low=0.1, high=2.0)

    # Reductions.
    add("mean", "Mean", lambda c, n: (c.normal(n),))
    add("mean_rank2", "Mean", lambda c, n: (c.normal(n, 3),), note="a weight per row is broadcast over the columns")
    add("sum", "Sum", lambda c, n: (c.normal(n),))

    # Accuracies.
    add("accuracy", "Accuracy", lambda c, n: (c.integers(0, 3, n), c.integers(0, 3, n)))
    add("binary_accuracy", "BinaryAccuracy", binary_row, note="prediction > threshold, strictly")
    add("binary_accuracy_threshold", "BinaryAccuracy", binary_matrix, {"threshold": 0.25})
    add("categorical_accuracy", "CategoricalAccuracy", categorical)
    add("sparse_categorical_accuracy", "SparseCategoricalAccuracy", sparse)
    add("sparse_categorical_accuracy_column", "SparseCategoricalAccuracy",
        lambda c, n: (c.integers(0, classes, n, 1), c.probabilities(n, classes)))
    add("sparse_categorical_accuracy_sequence", "SparseCategoricalAccuracy",
        lambda c, n: (c.integers(0, classes, n, 3), c.probabilities(n, 3, classes)), weight_shape=lambda n: (n, 3))
    add("categorical_accuracy_ties", "CategoricalAccuracy",
        lambda c, n: (one_hot(c, n), f32(c.rng.choice([0.25, 0.5], (n, classes)))), note="ties: the first maximum counts")
    for k in (1, 2, 3):
        add(f"top_k_categorical_accuracy_k{k}", "TopKCategoricalAccuracy", categorical, {"k": k})
        add(f"sparse_top_k_categorical_accuracy_k{k}", "SparseTopKCategoricalAccuracy", sparse, {"k": k})
    add("top_k_categorical_accuracy_default", "TopKCategoricalAccuracy",
        lambda c, n: (one_hot(c, n, 8), c.probabilities(n, 8)))
    add("sparse_top_k_categorical_accuracy_ties", "SparseTopKCategoricalAccuracy",
        lambda c, n: (c.integers(0, 6, n), f32(c.rng.choice([0.125, 0.25], (n, 6)))), {"k": 2},
        note="a class tied with the k-th largest value counts as inside")

    # Confusion counts.
    for cls, tag in (("TruePositives", "true_positives"), ("TrueNegatives", "true_negatives"),
                     ("FalsePositives", "false_positives"), ("FalseNegatives", "false_negatives")):
        add(tag, cls, binary_row)
        add(f"{tag}_thresholds", cls, binary_matrix, {"thresholds": [0.25, 0.5, 0.75]}, weight_shape=lambda n: (n, 3))
    for cls, tag in (("Precision", "precision"), ("Recall", "recall")):
        add(tag, cls, binary_row)
        add(f"{tag}_thresholds", cls, binary_row, {"thresholds": [0.0, 0.25, 0.5, 1.0]})
        add(f"{tag}_top_k", cls, categorical, {"top_k": 2})
        add(f"{tag}_class_id", cls, categorical, {"class_id": 1})
        add(f"{tag}_top_k_class_id", cls, categorical, {"top_k": 2, "class_id": 3})
    for curve in ("ROC", "PR"):
        tag = f"auc_{curve.lower()}"
        add(tag, "AUC", binary_row, {"curve": curve})
        add(f"{tag}_20_thresholds", "AUC", binary_row, {"curve": curve, "num_thresholds": 20})
        add(f"{tag}_given_thresholds", "AUC", binary_row, {"curve": curve, "thresholds": [0.125, 0.5, 0.875]})
        for method in ("minoring", "majoring"):
            add(f"{tag}_{method}", "AUC", binary_row, {"curve": curve, "summation_method": method})
    add("auc_logits", "AUC", lambda c, n: (c.integers(0, 2, n).astype(float), c.normal(n, scale=2.0)), {"from_logits": True})
    add("auc_multi_label", "AUC", binary_matrix, {"multi_label": True, "num_labels": 3})
    add("precision_at_recall", "PrecisionAtRecall", binary_row, {"recall": 0.5})
    add("recall_at_precision", "RecallAtPrecision", binary_row, {"precision": 0.5})
    add("sensitivity_at_specificity", "SensitivityAtSpecificity", binary_row, {"specificity": 0.5})
    add("specificity_at_sensitivity", "SpecificityAtSensitivity", binary_row, {"sensitivity": 0.5})

    # F-scores.
    for average in (None, "micro", "macro", "weighted"):
        tag = average or "per_class"
        add(f"f1_score_{tag}", "F1Score", categorical, {"average": average})
        add(f"f1_score_{tag}_threshold", "F1Score", binary_matrix, {"average": average, "threshold": 0.5})
        add(f"fbeta_score_{tag}", "FBetaScore", categorical, {"average": average, "beta": 2.0})

    # Intersection over union.
    ids = lambda c, n: (c.integers(0, 3, n), c.integers(0, 3, n))  # noqa: E731
    add("iou", "IoU", ids, {"num_classes": 3, "target_class_ids": [0, 2]})
    add("mean_iou", "MeanIoU", ids, {"num_classes": 3})
    add("mean_iou_absent_class", "MeanIoU", lambda c, n: (c.integers(0, 2, n), c.integers(0, 2, n)), {"num_classes": 3},
        note="a class that never occurs leaves the mean")
    add("mean_iou_ignore_class", "MeanIoU", ids, {"num_classes": 3, "ignore_class": 0})
    add("binary_iou", "BinaryIoU", binary_row, {"target_class_ids": [0, 1], "threshold": 0.5})
    onehot3 = lambda c, n: (one_hot(c, n, 3), c.probabilities(n, 3))  # noqa: E731
    add("one_hot_iou", "OneHotIoU", onehot3, {"num_classes": 3, "target_class_ids": [0, 2]})
    add("one_hot_mean_iou", "OneHotMeanIoU", onehot3, {"num_classes": 3})

    # Regression.
    for cls, tag in (("MeanSquaredError", "mean_squared_error"), ("MeanAbsoluteError", "mean_absolute_error"),
                     ("MeanAbsolutePercentageError", "mean_absolute_percentage_error"), ("LogCoshError", "log_cosh_error"),
                     ("RootMeanSquaredError", "root_mean_squared_error"), ("CosineSimilarity", "cosine_similarity")):
        add(tag, cls, regression)
    add("mean_squared_logarithmic_error", "MeanSquaredLogarithmicError", positive)
    for aggregation in ("uniform_average", "variance_weighted_average", None):
        add(f"r2_score_{aggregation or 'per_output'}", "R2Score", regression, {"class_aggregation": aggregation})
    add("r2_score_adjusted", "R2Score", regression, {"num_regressors": 2},
        note="the count in the adjustment is rows times outputs")
    add("pearson_correlation", "PearsonCorrelation", regression)
    add("concordance_correlation", "ConcordanceCorrelation", regression)

    # Losses as metrics.
    add("binary_crossentropy", "BinaryCrossentropy", binary_matrix)
    add("binary_crossentropy_logits", "BinaryCrossentropy", lambda c, n: (binary_matrix(c, n)[0], c.normal(n, 3)),
        {"from_logits": True, "label_smoothing": 0.125})
    add("categorical_crossentropy", "CategoricalCrossentropy", categorical)
    add("categorical_crossentropy_logits", "CategoricalCrossentropy",
        lambda c, n: (one_hot(c, n), c.normal(n, classes)), {"from_logits": True, "label_smoothing": 0.125})
    add("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", sparse)
    add("sparse_categorical_crossentropy_logits", "SparseCategoricalCrossentropy",
        lambda c, n: (c.integers(0, classes, n), c.normal(n, classes)), {"from_logits": True})
    add("kl_divergence", "KLDivergence", lambda c, n: (c.probabilities(n, classes), c.probabilities(n, classes)))
    add("poisson", "Poisson", positive)
    signs = lambda c, n: (2.0 * c.integers(0, 2, n, 3) - 1, c.normal(n, 3))  # noqa: E731
    add("hinge", "Hinge", signs)
    add("squared_hinge", "SquaredHinge", signs)
    add("categorical_hinge", "CategoricalHinge", lambda c, n: (one_hot(c, n), c.normal(n, classes)))


# ----------------------------------------------------------------------------------------- optimizers

STEPS = 12
VARIABLES = (("kernel", (4, 3)), ("bias", (3,)), ("kernel3d", (2, 3, 5)))


def schedule_of(description):
    return getattr(keras.optimizers.schedules, description["class"])(**description["config"])


class DocumentedScheduleFreeAdamW(keras.optimizers.ScheduleFreeAdamW):
    """The step that Keras documents. On TensorFlow, Keras's own reads z after changing it where the old z is meant
    (`momentum.value` is the variable, not a copy)."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        z, velocity = self._momentums[index].value, self._velocities[index].value
        number = lambda value: tf.cast(tf.convert_to_tensor(value), variable.dtype)  # noqa: E731
        step, rate = number(self.iterations) + 1, number(learning_rate)
        if self.warmup_steps:
            rate = rate * tf.minimum(step / self.warmup_steps, 1.0)
        old_z = tf.identity(z)
        old_x = (variable - (1 - self.beta_1) * old_z) / self.beta_1
        velocity.assign(self.beta_2 * velocity + (1 - self.beta_2) * gradient**2)
        corrected = velocity / (1 - number(self.beta_2) ** step)
        z.assign(old_z - rate * gradient / (tf.sqrt(corrected) + self.epsilon))
        x = old_x + (z - old_x) / step
        variable.assign((1 - self.beta_1) * z + self.beta_1 * x)


def optimizer_case(run, name, cls, config=None, schedule=None, exclude=None, finalize=False, note=None, probes=()):
    """Variables after every one of 12 steps of given gradients; step 5 is huge, step 8 is zero (from 0).

    schedule: replaces learning_rate. exclude: names without weight decay. probes: optimizer lists
    (such as averages) that are recorded after every step too.
    """
    config = dict(config or {})
    case = Case(run, "optimizers", name, **{"class": cls}, config=config)
    start = [case.normal(*shape) for _, shape in VARIABLES]
    gradients = [f32(case.rng.standard_normal((STEPS, *shape)) * 0.5) for _, shape in VARIABLES]
    for g in gradients:
        g[5] *= 1024.0
        g[8] = 0.0

    def drive(optimizer_class):
        optimizer = optimizer_class(
            **config, **({"learning_rate": schedule_of(schedule)} if schedule else {}))
        dtype = keras.config.floatx()
        variables = [keras.Variable(v.astype(dtype), name=n) for (n, _), v in zip(VARIABLES, start)]
        if exclude:
            optimizer.exclude_from_weight_decay(var_names=exclude)
        optimizer.build(variables)
        trace = [[] for _ in variables]
        seen = {probe: [[] for _ in variables] for probe in probes}
        for step in range(STEPS):
            optimizer.apply([tf.constant(g[step].astype(dtype)) for g in gradients], variables)
            for i, v in enumerate(variables):
                trace[i].append(v.numpy())
            for probe in probes:
                for i, v in enumerate(getattr(optimizer, probe)):
                    seen[probe][i].append(v.numpy())
        final = None
        if finalize:
            optimizer.finalize_variable_values(variables)
            final = [v.numpy() for v in variables]
        slots = [(v.name, tuple(v.shape)) for v in optimizer.variables]
        return [np.stack(t) for t in trace], {k: [np.stack(t) for t in v] for k, v in seen.items()}, final, slots, optimizer

    real = getattr(keras.optimizers, cls)
    documented = DocumentedScheduleFreeAdamW if cls == "ScheduleFreeAdamW" else real
    trace, seen, final, slots, optimizer = drive(documented)
    with precision("float32"):
        rounded = drive(documented)[0]
    defaults = {k: v for k, v in optimizer.get_config().items() if k != "name" and (k != "learning_rate" or not schedule)}
    listed = []
    for i, (variable, shape) in enumerate(VARIABLES):
        entry = {"name": variable, "shape": shape, "start": case.add(f"v{i}_start", start[i]),
                 "gradients": case.add(f"v{i}_gradients", gradients[i]), "steps": case.add(f"v{i}_steps", trace[i])}
        if documented is not real:
            entry["steps_keras_tensorflow"] = case.add(f"v{i}_steps_keras_tensorflow", drive(real)[0][i])
        if final:
            entry["finalized"] = case.add(f"v{i}_finalized", final[i])
        for probe, values in seen.items():
            label = {"_model_variables_moving_average": "average"}[probe]
            entry[label] = case.add(f"v{i}_{label}", values[i])
        listed.append(entry)
    error = max(float(np.max(np.abs(r - t) / (1.0 + np.abs(t)))) for r, t in zip(rounded, trace))
    if error > 2e-5:  # sign-like updates amplify rounding; allow what Keras itself shows, five times
        case.tolerance["float32"] = (float(f"{5 * error:.1g}"), float(f"{5 * error:.1g}"))
    case.save(full_config=defaults, variables=listed, state_variables=[{"name": n, "shape": s} for n, s in slots],
              keras_float32_error=float(f"{error:.2e}"), **({"schedule": schedule} if schedule else {}),
              **({"departs": True} if documented is not real else {}),
              **({"exclude_from_weight_decay": exclude} if exclude else {}), **({"note": note} if note else {}))


def optimizers(run):
    def add(name, cls, **config):
        options = {k: config.pop(k) for k in ("schedule", "exclude", "finalize", "note", "probes") if k in config}
        optimizer_case(run, name, cls, config, **options)

    decay = {"class": "ExponentialDecay", "config": {"initial_learning_rate": 0.05, "decay_steps": 4, "decay_rate": 0.5}}
    cosine = {"class": "CosineDecay", "config": {"initial_learning_rate": 0.0, "decay_steps": 8, "alpha": 0.125,
                                                 "warmup_target": 0.05, "warmup_steps": 3}}
    stairs = {"class": "PiecewiseConstantDecay", "config": {"boundaries": [3, 7], "values": [0.05, 0.01, 0.002]}}
    average = ("_model_variables_moving_average",)

    # Every optimizer: defaults, own options, shared options.
    own = {
        "SGD": ({"learning_rate": 0.05, "momentum": 0.875}, {"learning_rate": 0.05, "momentum": 0.875, "nesterov": True}),
        "RMSprop": ({"centered": True, "learning_rate": 0.01}, {"momentum": 0.75, "learning_rate": 0.01, "rho": 0.8},
                    {"momentum": 0.75, "centered": True, "epsilon": 1e-3}),
        "Adam": ({"amsgrad": True, "learning_rate": 0.01}, {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3}),
        "AdamW": ({"weight_decay": 0.1, "learning_rate": 0.05}, {"amsgrad": True, "weight_decay": 0.05}),
        "Adadelta": ({"learning_rate": 1.0, "rho": 0.9}, {"learning_rate": 0.5, "epsilon": 1e-4}),
        "Adagrad": ({"learning_rate": 0.1, "initial_accumulator_value": 0.0},
                    {"learning_rate": 0.1, "epsilon": 1e-2}),
        "Adamax": ({"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.9}, {"epsilon": 1e-3, "learning_rate": 0.05}),
        "Nadam": ({"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.9}, {"epsilon": 1e-3, "learning_rate": 0.05}),
        "Ftrl": ({"learning_rate": 0.1, "l1_regularization_strength": 0.05, "l2_regularization_strength": 0.02},
                 {"learning_rate": 0.1, "l2_shrinkage_regularization_strength": 0.1, "beta": 0.5,
                  "learning_rate_power": -0.75}),
        "Lion": ({"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.9}, {"weight_decay": 0.1, "learning_rate": 0.01}),
        "Lamb": ({"learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.9}, {"weight_decay": 0.1, "learning_rate": 0.01}),
        "Adafactor": ({"relative_step": False, "learning_rate": 0.05}, {"clip_threshold": 0.5, "beta_2_decay": -0.5,
                                                                       "learning_rate": 0.5}),
        "Muon": ({"learning_rate": 0.02, "nesterov": False, "rms_rate": None},
                 {"learning_rate": 0.02, "ns_steps": 3, "adam_lr_ratio": 0.5, "weight_decay": 0.1}),
        "ScheduleFreeAdamW": ({"learning_rate": 0.01, "warmup_steps": 4}, {"weight_decay": 0.1, "beta_1": 0.8}),
    }
    for cls, variants in own.items():
        tag = cls.lower()
        if cls == "ScheduleFreeAdamW":
            variant_note = {"note": "steps follow the documented algorithm; steps_keras_tensorflow is what Keras does on "
                                    "TensorFlow, where it reads z after changing it"}
        else:
            variant_note = {}
        add(f"{tag}_default", cls, **variant_note)
        for i, variant in enumerate(variants):
            add(f"{tag}_options{i + 1}", cls, **variant, **variant_note)
        add(f"{tag}_schedule", cls, schedule=decay, **variant_note)
        add(f"{tag}_weight_decay_clipnorm", cls, weight_decay=0.05, clipnorm=1.0, **variant_note)
        add(f"{tag}_accumulation", cls, gradient_accumulation_steps=3, **variant_note)

    # Options of every optimizer, on two of them.
    for cls, rate in (("SGD", {"learning_rate": 0.05, "momentum": 0.875}), ("Adam", {"learning_rate": 0.01})):
        tag = cls.lower()
        add(f"{tag}_clipvalue", cls, **rate, clipvalue=0.25)
        add(f"{tag}_clipnorm", cls, **rate, clipnorm=0.75)
        add(f"{tag}_global_clipnorm", cls, **rate, global_clipnorm=1.5)
        add(f"{tag}_weight_decay", cls, **rate, weight_decay=0.1)
        add(f"{tag}_ema", cls, **rate, use_ema=True, ema_momentum=0.75, finalize=True, probes=average,
            note="steps: the trained variables; average: their moving average; finalized: after finalize_variable_values")
        add(f"{tag}_ema_overwrite", cls, **rate, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=4, finalize=True,
            probes=average)
        add(f"{tag}_ema_accumulation", cls, **rate, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=2,
            gradient_accumulation_steps=3, finalize=True, probes=average,
            note="the average moves on every micro-step and equals the variable until an update has been counted; "
                 "overwriting counts updates")
        add(f"{tag}_loss_scale_factor", cls, **rate, loss_scale_factor=8.0, note="the given gradients are divided by 8")
        add(f"{tag}_warmup_cosine", cls, schedule=cosine, **({"momentum": 0.875} if cls == "SGD" else {}))
        add(f"{tag}_piecewise", cls, schedule=stairs)
        add(f"{tag}_schedule_accumulation", cls, schedule=decay, gradient_accumulation_steps=3,
            note="the schedule is a function of the micro-steps, not of the updates")
        add(f"{tag}_accumulation_clipnorm_weight_decay", cls, **rate, gradient_accumulation_steps=3, clipnorm=0.75,
            weight_decay=0.1, note="clipping and decay act on the averaged gradient, once per update")
    add("adamw_exclude_bias", "AdamW", weight_decay=0.1, learning_rate=0.05, exclude=["bias"])
    loss_scale_case(run)


def loss_scale_case(run):
    """LossScaleOptimizer around SGD: growth every 3 good steps, halving and no update on overflow."""
    case = Case(run, "optimizers", "loss_scale_dynamic", **{"class": "LossScaleOptimizer"},
                config={"initial_scale": 64.0, "dynamic_growth_steps": 3, "inner": {"class": "SGD", "learning_rate": 0.0625}})
    start = [case.normal(*s) for _, s in VARIABLES]
    gradients = [f32(case.rng.standard_normal((STEPS, *s)) * 8) for _, s in VARIABLES]
    gradients[0][4].flat[1] = np.inf
    gradients[1][9].flat[0] = np.nan
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.0625), initial_scale=64.0, dynamic_growth_steps=3)
    variables = [keras.Variable(v, name=n) for (n, _), v in zip(VARIABLES, start)]
    optimizer.build(variables)
    scales, counters, iterations, trace = [], [], [], [[] for _ in variables]
    for step in range(STEPS):
        optimizer.apply([tf.constant(g[step]) for g in gradients], variables)
        scales.append(float(optimizer.dynamic_scale.numpy()))
        counters.append(int(optimizer.step_counter.numpy()))
        iterations.append(int(np.asarray(optimizer.iterations)))
        for i, v in enumerate(variables):
            trace[i].append(v.numpy())
    listed = [{"name": n, "shape": s, "start": case.add(f"v{i}_start", start[i]),
               "gradients": case.add(f"v{i}_gradients", gradients[i]), "steps": case.add(f"v{i}_steps", np.stack(trace[i]))}
              for i, (n, s) in enumerate(VARIABLES)]
    case.save(variables=listed, expected={"scale_after": scales, "counter_after": counters, "iterations_after": iterations},
              note="the given gradients are those of the scaled loss: they are divided by the scale in force; step 4 holds "
                   "an infinity and step 9 a NaN")


# ------------------------------------------------------------------------------------------ schedules


def schedules(run):
    rng = np.random.default_rng([run.seed, zlib.crc32(b"schedules")])
    between = lambda low, high: round(float(rng.uniform(low, high)), 4)  # noqa: E731
    rate = between(0.05, 0.2)
    described = {
        "cosine_decay": ("CosineDecay", {"decay_steps": 20}),
        "cosine_decay_alpha": ("CosineDecay", {"decay_steps": 20, "alpha": between(0.05, 0.2)}),
        "cosine_decay_warmup": ("CosineDecay", {"decay_steps": 20, "warmup_target": between(0.3, 0.5), "warmup_steps": 6}),
        "cosine_decay_warmup_from_zero": ("CosineDecay", {"initial_learning_rate": 0.0, "decay_steps": 12, "alpha": 0.125,
                                                          "warmup_target": between(0.3, 0.5), "warmup_steps": 5}),
        "cosine_decay_warmup_steps_only": ("CosineDecay", {"decay_steps": 20, "warmup_steps": 6}),
        "cosine_decay_restarts": ("CosineDecayRestarts", {"first_decay_steps": 5}),
        "cosine_decay_restarts_options": ("CosineDecayRestarts", {"first_decay_steps": 5, "t_mul": 1.5,
                                                                  "m_mul": between(0.6, 0.9), "alpha": between(0.05, 0.1)}),
        "cosine_decay_restarts_t_mul_1": ("CosineDecayRestarts", {"first_decay_steps": 7, "t_mul": 1.0, "m_mul": 0.5}),
        "exponential_decay": ("ExponentialDecay", {"decay_steps": 7, "decay_rate": between(0.5, 0.95)}),
        "exponential_decay_staircase": ("ExponentialDecay", {"decay_steps": 7, "decay_rate": between(0.5, 0.95),
                                                             "staircase": True}),
        "inverse_time_decay": ("InverseTimeDecay", {"decay_steps": 7, "decay_rate": between(0.3, 0.9)}),
        "inverse_time_decay_staircase": ("InverseTimeDecay", {"decay_steps": 7, "decay_rate": between(0.3, 0.9),
                                                              "staircase": True}),
        "piecewise_constant_decay": ("PiecewiseConstantDecay", {"boundaries": [4, 9, 10],
                                                                "values": [between(0.1, 1.0) for _ in range(4)]}),
        "polynomial_decay": ("PolynomialDecay", {"decay_steps": 15}),
        "polynomial_decay_power": ("PolynomialDecay", {"decay_steps": 15, "end_learning_rate": between(0.001, 0.01),
                                                       "power": 2.5}),
        "polynomial_decay_cycle": ("PolynomialDecay", {"decay_steps": 6, "end_learning_rate": between(0.001, 0.01),
                                                       "power": 1.0, "cycle": True}),
        "polynomial_decay_cycle_power": ("PolynomialDecay", {"decay_steps": 6, "power": 0.5, "cycle": True}),
    }
    steps = list(range(45)) + [100, 1000, 100000]
    for name, (cls, config) in described.items():
        if cls != "PiecewiseConstantDecay":
            config.setdefault("initial_learning_rate", rate)
        case = Case(run, "schedules", name, **{"class": cls}, config=config)
        schedule = getattr(keras.optimizers.schedules, cls)(**config)
        values = np.array([np.asarray(schedule(step), np.float64) for step in steps])
        case.add("steps", np.array(steps))
        case.add("values", values)
        case.save()


# ------------------------------------------------------------------------------------------ callbacks


def tiny_model(learning_rate=1.0):
    """One weight and no bias, compiled with metrics so that mode auto can look up their directions."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(learning_rate), loss="mse", metrics=["accuracy", "mae"])
    model.train_on_batch(np.ones((2, 1)), np.ones((2, 1)))
    model.optimizer.learning_rate = learning_rate
    return model


def script(case, kind, length, scale=64):
    """Monitored values on a grid of 1/64, so that sums with a min_delta on the grid are exact."""
    steps = {
        "noisy": lambda i: 2.0 - 0.10 * i + 0.35 * case.rng.standard_normal(),
        "plateau": lambda i: 2.0 - 0.25 * min(i, 3) + (0.0 if i <= 3 else 0.125 * int(case.rng.integers(0, 2))),
        "rising": lambda i: 0.5 + 0.125 * i + 0.05 * case.rng.standard_normal(),
        "equal": lambda i: 1.0,
        "falling": lambda i: 3.0 - 0.20 * i + 0.02 * case.rng.standard_normal(),
        "slow": lambda i: 2.0 - (1 + int(case.rng.integers(0, 3))) / 64 * i,
        "valley": lambda i: 1.0 + 0.125 * abs(i - 4) + 0.04 * case.rng.standard_normal(),
    }[kind]
    shift = int(case.rng.integers(0, 32)) / 64
    return [round((steps(i) + shift) * scale) / scale for i in range(length)]


def nan_is_no_improvement(cls):
    """The same callback under the declared departure: a NaN never improves."""

    class Departed(cls):
        def _is_improvement(self, monitor_value, reference_value):
            return not math.isnan(monitor_value) and super()._is_improvement(monitor_value, reference_value)

    return Departed


def saves_nothing_but_the_best(cls):
    """A checkpoint under the declared departures: where the value is missing, save_best_only saves nothing."""

    class Departed(nan_is_no_improvement(cls)):
        def _should_save_model(self, epoch, batch, logs, filepath):
            if self.save_best_only and self.monitor not in logs:
                return False
            return super()._should_save_model(epoch, batch, logs, filepath)

    return Departed


def build_logs(case, monitor, values, missing=(), nan=(), inf=(), base=None):
    logs = []
    for epoch, value in enumerate(values):
        entry = {} if base is None else dict(base[epoch])
        if epoch in nan:
            value = math.nan
        if epoch in inf:
            value = math.inf
        if epoch not in missing:
            entry[monitor] = value
        logs.append(entry)
    return logs


def early_stopping_trace(cls, config, fits):
    callback, model, out = cls(**config), tiny_model(), []
    callback.set_model(model)
    for logs in fits:
        model.stop_training = False
        trace = {"epochs": []}
        callback.on_train_begin()
        for epoch, entry in enumerate(logs):
            model.set_weights([np.full((1, 1), epoch + 1.0)])  # the weight tells which epoch it belongs to
            try:
                callback.on_epoch_end(epoch, dict(entry))
            except ValueError as error:
                trace["error"] = type(error).__name__
                break
            trace["epochs"].append({"wait": callback.wait, "best": callback.best, "best_epoch": callback.best_epoch,
                                    "stop": bool(model.stop_training)})
            if model.stop_training:
                break
        if "error" not in trace:
            callback.on_train_end()
            trace["stopped_epoch"] = callback.stopped_epoch
            trace["final_weights_epoch"] = int(model.get_weights()[0][0, 0]) - 1
        out.append(trace)
    return out


def reduce_lr_trace(cls, config, fits, learning_rate):
    callback, model, out = cls(**config), tiny_model(learning_rate), []
    callback.set_model(model)
    for logs in fits:
        trace = {"epochs": []}
        callback.on_train_begin()
        for epoch, entry in enumerate(logs):
            seen = {"accuracy": 0.5, **entry}  # Keras does not write into logs that are empty
            callback.on_epoch_end(epoch, seen)
            trace["epochs"].append({"logged_learning_rate": seen["learning_rate"],
                                    "learning_rate": float(model.optimizer.learning_rate.numpy()),
                                    "wait": callback.wait, "cooldown_counter": callback.cooldown_counter,
                                    "best": callback.best})
        out.append(trace)
    return out


def checkpoint_trace(cls, config, fits):
    callback, model, out = cls(**config), tiny_model(), []
    callback.set_model(model)
    saved = []
    model.save_weights = lambda path, overwrite=True: saved.append(path)
    for epochs in fits:
        trace = {"epochs": []}
        callback.on_train_begin()
        for epoch, entry in enumerate(epochs):
            row = {"batch_files": [], "epoch_files": []}
            trace["epochs"].append(row)
            try:
                callback.on_epoch_begin(epoch)
                for batch, logs in enumerate(entry["batches"]):
                    stage = f"batch {batch}"
                    callback.on_train_batch_end(batch, dict(logs))
                    row["batch_files"] += [{"batch": batch, "file": file} for file in saved]
                    saved.clear()
                stage = "epoch end"
                callback.on_epoch_end(epoch, dict(entry["logs"]))
                row["epoch_files"] = list(saved)
                saved.clear()
            except (KeyError, TypeError, ValueError) as error:
                trace["error"] = {"type": type(error).__name__, "epoch": epoch, "at": stage}
            row["best"] = callback.best
            if "error" in trace:
                break
        out.append(trace)
        if "error" in trace:
            break
    return out


def callbacks(run):
    def early(name, kind, length=10, monitor="val_loss", missing=(), nan=(), inf=(), fits=1, flip=False, note=None, **config):
        case = Case(run, "callbacks", f"early_stopping_{name}")
        config = {"monitor": monitor, **config}
        scripts = []
        for _ in range(fits):
            values = kind if isinstance(kind, list) else script(case, kind, length)
            values = [4.0 - v for v in values] if flip else values
            scripts.append(build_logs(case, monitor, values, missing, nan, inf))
        trace = early_stopping_trace(keras.callbacks.EarlyStopping, config, scripts)
        departed = early_stopping_trace(nan_is_no_improvement(keras.callbacks.EarlyStopping), config, scripts)
        departs = plain(departed) != plain(trace)
        case.save(**{"class": "EarlyStopping"}, config=config, logs=scripts, expected=trace, departs=departs,
                  **({"expected_departure": departed} if departs else {}), **({"note": note} if note else {}))

    for patience in range(4):
        for kind in ("noisy", "plateau", "valley"):
            early(f"patience{patience}_{kind}", kind, patience=patience)
        early(f"patience{patience}_restore", "valley", patience=patience, restore_best_weights=True)
    early("defaults_rising", "rising")
    early("equal_values", "equal", patience=2)
    early("never_stops", "falling", patience=1)
    early("never_stops_restore", "falling", patience=3, restore_best_weights=True)
    early("restore_last_epoch_not_best", "valley", length=6, patience=3, restore_best_weights=True,
          note="training ends by itself; the best weights come back all the same")
    early("min_delta", "slow", patience=2, min_delta=0.0625)
    early("min_delta_negative", "slow", patience=2, min_delta=-0.0625, note="the sign of min_delta does not matter")
    early("min_delta_exact", [1.0, 0.875, 0.75, 0.625, 0.484375, 0.375, 0.25], patience=2, min_delta=0.125,
          note="an improvement of exactly min_delta is none")
    early("baseline_beaten", "falling", patience=2, baseline=2.5)
    early("baseline_never_beaten", "plateau", patience=2, baseline=0.25)
    early("baseline_improving_below_it", "falling", length=8, patience=2, baseline=-1.0,
          note="while values improve, wait grows but patience is not looked at")
    early("baseline_min_delta_exact", [1.125, 1.0, 0.875, 0.875, 0.875, 0.875], patience=2, baseline=1.0, min_delta=0.125)
    early("baseline_restore", "valley", patience=3, baseline=0.5, restore_best_weights=True)
    early("start_from_epoch", "rising", patience=1, start_from_epoch=3)
    early("start_from_epoch_restore", "rising", patience=2, start_from_epoch=4, restore_best_weights=True)
    early("start_after_the_end", "rising", length=5, patience=0, start_from_epoch=9, restore_best_weights=True)
    early("mode_max", "valley", flip=True, patience=2, mode="max", monitor="val_score")
    early("mode_max_on_loss", "noisy", patience=1, mode="max")
    early("mode_min_named_accuracy", "noisy", patience=1, mode="min", monitor="val_accuracy")
    early("auto_accuracy", "valley", flip=True, patience=1, monitor="val_accuracy")
    early("auto_training_loss", "valley", patience=1, monitor="loss")
    early("auto_mae", "valley", patience=1, monitor="mae")
    early("auto_unknown_metric", "valley", patience=1, monitor="val_score", note="no declared direction: an error")
    early("max_min_delta_exact", [0.25, 0.375, 0.5, 0.640625, 0.75, 0.8], patience=2, mode="max", min_delta=0.125)
    early("missing_some", "plateau", patience=2, missing=(1, 2, 5), note="wait does not advance on a missing value")
    early("missing_first_restore", "rising", patience=2, missing=(0, 1), restore_best_weights=True)
    early("missing_always", "plateau", patience=1, missing=tuple(range(10)), restore_best_weights=True)
    early("nan_first", "valley", patience=3, nan=(0,))
    early("nan_first_restore", "falling", patience=3, nan=(0,), restore_best_weights=True)
    early("nan_middle", "falling", patience=2, nan=(3, 6))
    early("nan_always", "falling", patience=2, nan=tuple(range(10)))
    early("nan_after_start_from_epoch", "falling", patience=2, nan=(2,), start_from_epoch=2)
    early("nan_first_mode_max", "falling", flip=True, patience=2, nan=(0,), mode="max")
    early("infinity_first", "valley", patience=2, inf=(0,))
    early("two_fits", "valley", patience=1, fits=2, restore_best_weights=True, note="everything is reset between fits")

    def reduce(name, kind, length=14, monitor="val_loss", missing=(), nan=(), fits=1, flip=False, learning_rate=1.0,
               note=None, **config):
        case = Case(run, "callbacks", f"reduce_lr_{name}")
        config = {"monitor": monitor, **config}
        scripts = []
        for _ in range(fits):
            values = kind if isinstance(kind, list) else script(case, kind, length)
            values = [4.0 - v for v in values] if flip else values
            scripts.append(build_logs(case, monitor, values, missing, nan))
        trace = reduce_lr_trace(keras.callbacks.ReduceLROnPlateau, config, scripts, learning_rate)
        departed = reduce_lr_trace(nan_is_no_improvement(keras.callbacks.ReduceLROnPlateau), config, scripts, learning_rate)
        departs = plain(departed) != plain(trace)
        case.tolerance["float32"] = (1e-6, 0.0)  # products with a factor such as 0.1
        case.save(**{"class": "ReduceLROnPlateau"}, config=config, learning_rate=learning_rate, logs=scripts, expected=trace,
                  departs=departs, **({"expected_departure": departed} if departs else {}),
                  **({"note": note} if note else {}))

    for patience in range(4):
        for kind in ("noisy", "plateau"):
            reduce(f"patience{patience}_{kind}", kind, patience=patience, factor=0.5)
    for cooldown in range(4):
        reduce(f"cooldown{cooldown}", "equal", patience=2, factor=0.5, cooldown=cooldown)
        reduce(f"cooldown{cooldown}_noisy", "noisy", patience=1, factor=0.5, cooldown=cooldown)
    reduce("defaults", "equal", length=24, learning_rate=0.001)
    reduce("factor_tenth", "rising", patience=2, factor=0.1, learning_rate=0.01)
    reduce("min_lr", "equal", patience=1, factor=0.25, min_lr=0.03125)
    reduce("min_lr_cooldown", "rising", patience=2, factor=0.25, min_lr=0.03125, cooldown=2,
           note="at the floor nothing is reduced, so wait keeps growing and no cooldown starts")
    reduce("min_delta", "slow", patience=2, factor=0.5, min_delta=0.0625)
    reduce("min_delta_exact", [2.0, 1.875, 1.75, 1.609375, 1.5, 1.375, 1.25], patience=2, factor=0.5, min_delta=0.125)
    reduce("mode_max", "valley", flip=True, patience=1, factor=0.5, mode="max", monitor="val_score")
    reduce("auto_accuracy", "valley", flip=True, patience=1, factor=0.5, monitor="val_accuracy")
    reduce("missing_some", "equal", patience=2, factor=0.5, missing=(1, 4, 5))
    reduce("missing_in_cooldown", "equal", patience=1, factor=0.5, cooldown=3, missing=(2, 3),
           note="a missing value does not count the cooldown down; the learning rate is logged all the same")
    reduce("nan_first", "falling", patience=2, factor=0.5, nan=(0,))
    reduce("nan_middle", "falling", patience=2, factor=0.5, nan=(3, 4, 5))
    reduce("nan_always", "falling", patience=2, factor=0.5, nan=tuple(range(14)))
    reduce("two_fits", "rising", length=6, patience=2, factor=0.5, cooldown=3, fits=2,
           note="wait, best and cooldown are reset, the learning rate is not")

    def checkpoint(name, kind="noisy", length=6, batches=0, fits=1, missing=(), nan=(), monitor="val_loss", path="{epoch:02d}",
                   departed=saves_nothing_but_the_best, departs=None, note=None, **config):
        case = Case(run, "callbacks", f"model_checkpoint_{name}")
        config = {"filepath": f"{path}.weights.h5", "monitor": monitor, "save_weights_only": True, **config}
        scripts = []
        for _ in range(fits):
            values = kind if isinstance(kind, list) else script(case, kind, length)
            epochs = build_logs(case, monitor, values, missing, nan)
            rows = []
            for entry in epochs:
                train = [{"loss": v} for v in script(case, "noisy", max(batches, 1))]
                entry.update({"loss": train[-1]["loss"]} if monitor != "loss" else {})
                entry["accuracy"] = int(case.rng.integers(0, 65)) / 64
                rows.append({"batches": train[:batches], "logs": entry})
            scripts.append(rows)
        trace = checkpoint_trace(keras.callbacks.ModelCheckpoint, config, scripts)
        other = departs or checkpoint_trace(departed(keras.callbacks.ModelCheckpoint), config, scripts)
        differs = plain(other) != plain(trace)
        case.save(**{"class": "ModelCheckpoint"}, config=config, logs=scripts, expected=trace, departs=differs,
                  **({"expected_departure": other} if differs else {}), **({"note": note} if note else {}))

    checkpoint("every_epoch")
    checkpoint("template", path="run-{epoch:03d}-{val_loss:.4f}-{accuracy:.3f}")
    checkpoint("fixed_name", path="last")
    checkpoint("best_only", save_best_only=True)
    checkpoint("best_only_equal", "equal", save_best_only=True)
    checkpoint("best_only_max", mode="max", monitor="val_score", save_best_only=True)
    checkpoint("best_only_auto_accuracy", monitor="val_accuracy", save_best_only=True)
    checkpoint("best_only_auto_mae", monitor="val_mae", save_best_only=True)
    checkpoint("threshold_min", "falling", save_best_only=True, initial_value_threshold=2.5)
    checkpoint("threshold_max", "falling", mode="max", save_best_only=True, initial_value_threshold=2.5)
    checkpoint("best_two_fits", "valley", save_best_only=True, fits=2, note="the best of the first fit still holds in the second")
    checkpoint("missing_monitor", save_best_only=True, missing=(1, 3),
               note="Keras saves where the value is missing, over the best so far if the path is the same")
    checkpoint("missing_always", save_best_only=True, missing=tuple(range(6)),
               note="Keras saves every epoch, trireme nothing at all")
    checkpoint("nan_first", "falling", save_best_only=True, nan=(0,))
    checkpoint("nan_middle", "falling", save_best_only=True, nan=(2, 3))
    checkpoint("nan_threshold", "falling", save_best_only=True, nan=(0, 1), initial_value_threshold=2.75)
    checkpoint("unknown_field", path="{epoch:02d}-{val_f1:.2f}", departs="an error before the first batch",
               note="Keras raises at the first save")
    checkpoint("unknown_monitor", monitor="val_score", note="mode auto: an error at the end of the first epoch, even though "
                                                            "nothing but the epoch decides")
    for every in (1, 2, 3, 5, 7, 11):
        checkpoint(f"every_{every}_batches", batches=5, save_freq=every, path="{epoch:02d}-{batch:03d}")
    checkpoint("every_3_batches_loss", batches=5, save_freq=3, path="{epoch:02d}-{batch:03d}-{loss:.3f}")
    checkpoint("every_2_of_1_batch", batches=1, save_freq=2, path="{epoch:02d}-{batch:03d}")
    checkpoint("every_3_batches_two_fits", batches=5, length=2, fits=2, save_freq=3, path="{epoch:02d}-{batch:03d}",
               note="the count of batches runs on into the second fit")

    def works(cls):
        class Departed(saves_nothing_but_the_best(cls)):
            def on_train_begin(self, logs=None):
                if self.monitor_op is None:
                    self._set_monitor_op()

        return Departed

    checkpoint("best_only_every_2_batches", batches=5, monitor="loss", save_freq=2, save_best_only=True,
               path="{epoch:02d}-{batch:03d}", departed=works,
               note="Keras chooses the comparison only at the end of an epoch, so the second comparison of the first epoch "
                    "raises a TypeError (the first finds no best yet and saves)")
    checkpoint("best_only_every_5_batches", batches=5, monitor="loss", save_freq=5, save_best_only=True,
               path="{epoch:02d}-{batch:03d}", departed=works,
               note="one comparison an epoch: no error in Keras")
    checkpoint("best_only_every_3_batches_val_loss", batches=5, save_freq=3, save_best_only=True,
               path="{epoch:02d}-{batch:03d}", departs="an error before the first batch",
               note="the monitored value is never in a batch's logs, so Keras warns and saves every time")


# ------------------------------------------------------------------------------------------- training


def digits(folder):
    """First 256 training and 97 test rows of optdigits, scaled by 1/16 (exact in float32)."""
    train = np.loadtxt(folder / "optdigits.tra", delimiter=",", dtype=np.int64)[:256]
    test = np.loadtxt(folder / "optdigits.tes", delimiter=",", dtype=np.int64)[:97]
    return train[:, :64] / 16.0, train[:, 64], test[:, :64] / 16.0, test[:, 64]


def initial_weights(case, model):
    """Keras's default families of initial values, drawn from the case's generator and rounded to float32."""
    values = []
    for variable in model.weights:
        role, shape = variable.path.split("/")[-1], tuple(variable.shape)
        if role in ("gamma", "scale", "moving_variance"):
            values.append(np.ones(shape))
        elif role in ("beta", "bias", "moving_mean", "alpha"):
            value = np.full(shape, 0.25 if role == "alpha" else 0.0)
            if role == "bias" and "lstm" in variable.path:
                value[shape[-1] // 4:shape[-1] // 2] = 1.0  # forget gate
            values.append(value)
        elif role == "embeddings":
            values.append(case.uniform(*shape, low=-0.05, high=0.05))
        elif role == "recurrent_kernel":
            matrix = (int(np.prod(shape[:-1])), shape[-1])  # a convolution's flattened
            q, r = np.linalg.qr(case.rng.standard_normal((max(matrix), min(matrix))))
            q = q * np.sign(np.diag(r))
            values.append(f32((q if matrix[0] >= matrix[1] else q.T).reshape(shape)))
        else:
            receptive = int(np.prod(shape[:-2])) if "conv" in variable.path else 1
            limit = math.sqrt(6.0 / (receptive * (shape[-2] + shape[-1])))
            values.append(case.uniform(*shape, low=-limit, high=limit))
    return values


def layer_list(model):
    return [{"class": type(layer).__name__, "config": clean(layer.get_config())} for layer in model.layers
            if not isinstance(layer, keras.layers.InputLayer)]


class BatchLosses(keras.callbacks.Callback):
    """The loss of each batch itself, which compute_loss leaves in a variable, and the logs that callbacks see."""

    def __init__(self, cell):
        super().__init__()
        self.cell, self.own, self.logged = cell, [], []
        self.first = None

    def on_epoch_begin(self, epoch, logs=None):
        self.own.append([])
        self.logged.append([])

    def on_train_batch_end(self, batch, logs=None):
        self.own[-1].append(float(self.cell.numpy()))
        self.logged[-1].append(dict(logs))
        if self.first is None:
            self.first = self.model.get_weights()


def watch_loss(model):
    """Routes the model's training loss through a variable outside Keras's tracking."""
    cell = tf.Variable(0.0, dtype=keras.config.floatx())
    original = model.compute_loss

    def compute_loss(*args, training=True, **kwargs):
        loss = original(*args, training=training, **kwargs)
        if training:
            cell.assign(tf.cast(loss, cell.dtype))
        return loss

    model.compute_loss = compute_loss
    return cell


def fits_on_digits(run, family):
    """The function that trains one case of the family on the digits and writes it down."""
    L = keras.losses
    x, y, x_test, y_test = digits(run.data)
    folder = run.out / family / "data"
    folder.mkdir(parents=True)
    for key, value in (("x_train", x), ("x_test", x_test)):
        np.save(folder / f"{key}.npy", value.astype("<f8"))
    for key, value in (("y_train", y), ("y_test", y_test)):
        np.save(folder / f"{key}.npy", value.astype("<i4"))

    def fit(name, build, optimizer, input_shape=(64,), loss=None, batch=32, targets="labels", metrics=("accuracy",),
            class_weight=None, sample_weight=False, weighted_metrics=None, note=None, architecture=None, inputs="pixels",
            epochs=3):
        opt_class, opt_config = optimizer
        loss = loss or ("SparseCategoricalCrossentropy", {"from_logits": True})
        case = Case(run, family, name)
        weights = case.uniform(len(x), low=0.25, high=2.0) if sample_weight else None
        scale = {"labels": lambda v, _: v, "label_over_8": lambda v, _: v / 8.0, "one_hot": lambda v, _: np.eye(10)[v],
                 "pixels": lambda _, v: v.reshape((-1, *input_shape))}[targets]
        feed = {"pixels": lambda v: v, "grey_levels": lambda v: np.round(v * 16)}[inputs]
        start = None

        def drive():
            nonlocal start
            keras.backend.clear_session()
            dtype = keras.config.floatx()
            model = build()
            if start is None:
                start = initial_weights(case, model)
            model.set_weights([v.astype(dtype) for v in start])
            options = {k: schedule_of(v) if isinstance(v, dict) else v for k, v in opt_config.items()}
            model.compile(getattr(keras.optimizers, opt_class)(**options), loss=getattr(L, loss[0])(**loss[1]),
                          metrics=list(metrics), weighted_metrics=weighted_metrics)
            watcher = BatchLosses(watch_loss(model))
            shape = lambda v: feed(v).reshape((-1, *input_shape)).astype(dtype)  # noqa: E731
            history = model.fit(shape(x), scale(y, x), batch_size=batch, epochs=epochs, shuffle=False, verbose=0,
                                validation_data=(shape(x_test), scale(y_test, x_test)), validation_batch_size=batch,
                                class_weight=class_weight, sample_weight=weights, callbacks=[watcher]).history
            return model, watcher, history

        model, watcher, history = drive()
        with precision("float32"):
            rounded, _, rounded_history = drive()
        deviation = {
            "history": max(float(np.max(np.abs(np.subtract(rounded_history[k], history[k])))) for k in history),
            "final_weights": max(float(np.max(np.abs(a - b))) for a, b in zip(rounded.get_weights(), model.get_weights())),
        }
        listed = []
        for i, (variable, first, final) in enumerate(zip(model.weights, watcher.first, model.get_weights())):
            listed.append({"name": variable.path, "initial": case.add(f"w{i}_initial", start[i]),
                           "after_first_batch": case.add(f"w{i}_first", first), "final": case.add(f"w{i}_final", final)})
        if weights is not None:
            case.add("sample_weight", weights)
        case.add("batch_losses", np.array(watcher.own))
        logged = {k: [[row[k] for row in epoch] for epoch in watcher.logged] for k in watcher.logged[0][0]}
        error = 10 * max(deviation.values())
        if error > case.tolerance["float32"][1]:
            case.tolerance["float32"] = (case.tolerance["float32"][0], float(f"{error:.1g}"))
        case.save(model=architecture or layer_list(model), input_shape=input_shape, targets=targets, inputs=inputs,
                  optimizer={"class": opt_class, "config": opt_config}, loss={"class": loss[0], "config": loss[1]},
                  metrics=list(metrics), weighted_metrics=weighted_metrics, epochs=epochs, batch_size=batch, shuffle=False,
                  class_weight=class_weight, weights=listed, history=history, batch_logs=logged,
                  keras_float32_deviation={k: float(f"{v:.2e}") for k, v in deviation.items()},
                  **({"note": note} if note else {}))

    return fit


def training(run):
    K = keras.layers
    fit = fits_on_digits(run, "training")

    def mlp(**options):
        return lambda: keras.Sequential([keras.Input((64,)), K.Dense(32, activation="relu", **options),
                                         K.Dense(10, **options)])

    def mlp_softmax():
        return keras.Sequential([keras.Input((64,)), K.Dense(32, activation="relu"), K.Dense(10, activation="softmax")])

    def cnn():
        return keras.Sequential([keras.Input((8, 8, 1)), K.Conv2D(8, 3, padding="same", activation="relu"), K.MaxPooling2D(2),
                                 K.Conv2D(16, 3, activation="relu"), K.Flatten(), K.Dense(10)])

    def cnn_batch_norm():
        return keras.Sequential([keras.Input((8, 8, 1)), K.Conv2D(8, 3, padding="same", use_bias=False),
                                 K.BatchNormalization(momentum=0.9), K.ReLU(), K.MaxPooling2D(2), K.Flatten(), K.Dense(10)])

    def mlp_l2():
        decay = lambda: keras.regularizers.L2(0.01)  # noqa: E731
        return keras.Sequential([keras.Input((64,)), K.Dense(32, activation="relu", kernel_regularizer=decay()),
                                 K.Dense(10, kernel_regularizer=decay())])

    def regressor():
        return keras.Sequential([keras.Input((64,)), K.Dense(24, activation="tanh"), K.Dense(1)])

    def lstm():
        return keras.Sequential([keras.Input((8, 8)), K.LSTM(16), K.Dense(10)])

    def transformer():
        inputs = keras.Input((8, 8))
        h = K.Dense(12, name="embed")(inputs)
        a = K.LayerNormalization(name="norm_1")(h)
        h = K.Add()([h, K.MultiHeadAttention(3, 4, name="attention")(a, a)])
        f = K.LayerNormalization(name="norm_2")(h)
        f = K.Dense(20, activation="gelu", name="expand")(f)
        h = K.Add()([h, K.Dense(12, name="contract")(f)])
        return keras.Model(inputs, K.Dense(10, name="head")(K.GlobalAveragePooling1D()(h)))

    block = ["embed: Dense(12)", "h = h + MultiHeadAttention(num_heads=3, key_dim=4)(a, a) with a = LayerNormalization(h)",
             "h = h + Dense(12)(Dense(20, gelu, not approximate)(LayerNormalization(h)))", "GlobalAveragePooling1D",
             "head: Dense(10)"]
    adam = ("Adam", {"learning_rate": 0.005})
    fit("mlp_sgd", mlp(), ("SGD", {"learning_rate": 0.1}))
    fit("mlp_sgd_momentum", mlp(), ("SGD", {"learning_rate": 0.05, "momentum": 0.9}))
    fit("mlp_sgd_nesterov", mlp(), ("SGD", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True}))
    fit("mlp_adam", mlp(), adam)
    fit("mlp_rmsprop", mlp(), ("RMSprop", {"learning_rate": 0.002}))
    fit("mlp_adamw", mlp(), ("AdamW", {"learning_rate": 0.005, "weight_decay": 0.05}))
    fit("mlp_batch48", mlp(), adam, batch=48, note="256 = 5 * 48 + 16 and 97 = 2 * 48 + 1: both last batches are partial")
    fit("mlp_softmax", mlp_softmax, adam, loss=("SparseCategoricalCrossentropy", {}), batch=48)
    fit("mlp_l2", mlp_l2, ("SGD", {"learning_rate": 0.1}),
        note="kernel_regularizer L2(0.01) on both Dense layers: the loss adds 0.01 * sum(kernel^2), in training and in "
             "validation, and the reported losses contain it")
    fit("mlp_class_weight", mlp(), adam, batch=48, class_weight={i: 0.5 + 0.125 * i for i in range(10)},
        weighted_metrics=["accuracy"], note="class weights act on training only; validation is unweighted")
    fit("mlp_sample_weight", mlp(), adam, batch=48, sample_weight=True, weighted_metrics=["accuracy"],
        note="validation is unweighted")
    fit("regression_mlp", regressor, adam, loss=("MeanSquaredError", {}), batch=48, targets="label_over_8", metrics=("mae",))
    fit("cnn_adam", cnn, adam, input_shape=(8, 8, 1))
    fit("cnn_batch_normalization", cnn_batch_norm, ("SGD", {"learning_rate": 0.05, "momentum": 0.9}), input_shape=(8, 8, 1),
        batch=48)
    fit("lstm_adam", lstm, adam, input_shape=(8, 8))
    fit("transformer_adamw", transformer, ("AdamW", {"learning_rate": 0.005, "weight_decay": 0.01}), input_shape=(8, 8),
        architecture=block)


# ------------------------------------------------------------------------------------------- programs


def programs(run):
    """Architectures that people train, each as a whole: what single layers do not show is how they go together."""
    K = keras.layers
    fit = fits_on_digits(run, "programs")
    adam = ("Adam", {"learning_rate": 0.005})
    image, rows = (8, 8, 1), (8, 8)

    def sequential(shape, *layers):
        return lambda: keras.Sequential([keras.Input(shape), *[layer() for layer in layers]])

    def of(cls, *args, **options):
        return lambda: cls(*args, **options)

    def functional(shape, body):
        def build():
            inputs = keras.Input(shape)
            return keras.Model(inputs, body(inputs))
        return build

    conv = lambda n, size=3, **o: of(K.Conv2D, n, size, padding="same", **o)  # noqa: E731

    fit("timeseries_fcn", sequential((64, 1), of(K.Conv1D, 8, 3, padding="same"), of(K.BatchNormalization, momentum=0.9), of(K.ReLU),
                                     of(K.Conv1D, 8, 3, padding="same", strides=2), of(K.BatchNormalization, momentum=0.9), of(K.ReLU),
                                     of(K.GlobalAveragePooling1D), of(K.Dense, 10)), adam, input_shape=(64, 1))
    fit("wavenet", functional((64, 1), lambda h: K.Dense(10)(K.GlobalMaxPooling1D()(causal_stack(K, h)))), adam, input_shape=(64, 1),
        architecture=["h = Conv1D(8, 2, padding='causal')(x)",
                      "for d in 1, 2, 4: h = h + Conv1D(8, 1)(tanh(Conv1D(8, 2, causal, dilation d)(h)) * sigmoid(Conv1D(8, 2, causal, dilation d)(h))), "
                      "the layers in the order tanh's, sigmoid's, 1x1", "GlobalMaxPooling1D", "Dense(10)"])
    fit("autoencoder", sequential(image, conv(8, activation="relu"), of(K.MaxPooling2D, 2, padding="same"), conv(4, activation="relu"),
                                  of(K.MaxPooling2D, 2, padding="same"),
                                  of(K.Conv2DTranspose, 4, 3, strides=2, activation="relu", padding="same"),
                                  of(K.Conv2DTranspose, 8, 3, strides=2, activation="relu", padding="same"),
                                  conv(1, activation="sigmoid")), adam, input_shape=image, loss=("BinaryCrossentropy", {}), targets="pixels",
        metrics=("mae",))

    def unet(inputs):
        relu = dict(padding="same", activation="relu")
        one = K.Conv2D(6, 3, name="down_1", **relu)(inputs)
        two = K.Conv2D(8, 3, name="down_2", **relu)(K.MaxPooling2D(2)(one))
        bottom = K.Conv2D(12, 3, name="bottom", **relu)(K.MaxPooling2D(2)(two))
        up = K.Conv2D(8, 3, name="up_2", **relu)(K.Concatenate()([K.UpSampling2D(2)(bottom), two]))
        up = K.Conv2D(6, 3, name="up_1", **relu)(K.Concatenate()([K.UpSampling2D(2, interpolation="bilinear")(up), one]))
        return K.Conv2D(1, 1, activation="sigmoid", name="head")(up)
    fit("unet", functional(image, unet), ("RMSprop", {"learning_rate": 0.002}), input_shape=image, loss=("MeanSquaredError", {}),
        targets="pixels", metrics=("mae",),
        architecture=["down_1: Conv2D(6, 3, same, relu)", "down_2: Conv2D(8, 3, same, relu) of MaxPooling2D(down_1)",
                      "bottom: Conv2D(12, 3, same, relu) of MaxPooling2D(down_2)",
                      "up_2: Conv2D(8, 3, same, relu) of Concatenate(UpSampling2D(2)(bottom), down_2)",
                      "up_1: Conv2D(6, 3, same, relu) of Concatenate(UpSampling2D(2, bilinear)(up_2), down_1)",
                      "head: Conv2D(1, 1, sigmoid)"])

    def resnet(inputs):
        norm = lambda name: K.BatchNormalization(momentum=0.9, name=name)  # noqa: E731
        h = K.ReLU()(norm("n0")(K.Conv2D(6, 3, padding="same", use_bias=False, name="c0")(inputs)))
        for i, (n, stride) in enumerate(((6, 1), (12, 2)), 1):
            short = h
            if stride > 1:
                short = norm(f"ns{i}")(K.Conv2D(n, 1, strides=stride, use_bias=False, name=f"cs{i}")(h))
            h = K.ReLU()(norm(f"na{i}")(K.Conv2D(n, 3, strides=stride, padding="same", use_bias=False, name=f"ca{i}")(h)))
            h = norm(f"nb{i}")(K.Conv2D(n, 3, padding="same", use_bias=False, name=f"cb{i}")(h))
            h = K.ReLU()(K.Add()([h, short]))
        return K.Dense(10, name="head")(K.GlobalAveragePooling2D()(h))
    fit("resnet", functional(image, resnet), ("SGD", {"learning_rate": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}),
        input_shape=image, batch=48,
        architecture=["c0, n0: Conv2D(6, 3, same, no bias), BatchNormalization, ReLU",
                      "block 1: ReLU(nb1(cb1(ReLU(na1(ca1(h))))) + h), 6 filters",
                      "block 2: ReLU(nb2(cb2(ReLU(na2(ca2(h))))) + ns2(cs2(h))), 12 filters, strides 2 in ca2 (same) and cs2 (1x1, valid)",
                      "GlobalAveragePooling2D", "head: Dense(10)"])
    fit("bidirectional", functional(rows, lambda h: K.Dense(10)(K.Bidirectional(K.GRU(5), merge_mode="sum", name="second")(
        K.Bidirectional(K.LSTM(6, return_sequences=True), name="first")(h)))), adam, input_shape=rows,
        architecture=["first: Bidirectional(LSTM(6, return_sequences), concat)", "second: Bidirectional(GRU(5), sum)", "Dense(10)"])
    fit("masked_tokens", sequential((64,), of(K.Embedding, 17, 6, mask_zero=True), of(K.GRU, 8), of(K.Dense, 10)), adam, inputs="grey_levels",
        note="grey levels 0 to 16 as tokens; 0 is masked")
    fit("stacked_rnn", sequential(rows, of(K.SimpleRNN, 8, return_sequences=True), of(K.SimpleRNN, 6, return_sequences=True, go_backwards=True), of(K.Flatten), of(K.Dense, 10)),
        adam, input_shape=rows)
    fit("separable", sequential(image, of(K.SeparableConv2D, 8, 3, padding="same", depth_multiplier=2), of(K.GroupNormalization, groups=4),
                                of(K.Activation, "silu"), of(K.DepthwiseConv2D, 3, strides=2, padding="same"), of(K.UnitNormalization),
                                of(K.PReLU, shared_axes=(1, 2)), of(K.AveragePooling2D, 2), of(K.GlobalMaxPooling2D), of(K.Dense, 10)),
        adam, input_shape=image)

    def mixer(inputs):
        h = K.Dense(6, name="stem")(inputs)
        t = K.Permute((2, 1))(K.LayerNormalization(name="n1")(h))
        t = K.Dense(8, name="token_2")(K.Dense(16, activation="gelu", name="token_1")(t))
        h = K.Add()([h, K.Permute((2, 1))(t)])
        c = K.Dense(6, name="channel_2")(K.Dense(12, activation="gelu", name="channel_1")(K.LayerNormalization(name="n2")(h)))
        return K.Dense(10, name="head")(K.GlobalAveragePooling1D()(K.Add()([h, c])))
    fit("mixer", functional(rows, mixer), ("Lamb", {"learning_rate": 0.005}), input_shape=rows,
        architecture=["stem: Dense(6)", "h = h + Permute(token_2(gelu(token_1(Permute(n1(h))))))", "h = h + channel_2(gelu(channel_1(n2(h))))",
                      "GlobalAveragePooling1D", "head: Dense(10)"])

    def decoder(inputs):
        h = K.Dense(12, name="embed")(inputs)
        a = K.RMSNormalization(name="norm_1")(h)
        h = K.Add()([h, K.GroupQueryAttention(3, 6, 2, name="attention")(a, a, use_causal_mask=True)])
        f = K.RMSNormalization(name="norm_2")(h)
        f = K.Multiply()([K.Dense(16, activation="silu", use_bias=False, name="gate")(f), K.Dense(16, use_bias=False, name="up")(f)])
        h = K.Add()([h, K.Dense(12, use_bias=False, name="down")(f)])
        return K.Dense(10, name="head")(K.GlobalAveragePooling1D()(h))
    fit("decoder_block", functional(rows, decoder),
        ("AdamW", {"learning_rate": {"class": "CosineDecay", "config": {"initial_learning_rate": 0.0, "decay_steps": 20, "warmup_target": 0.01,
                                                                         "warmup_steps": 6}}, "weight_decay": 0.01, "global_clipnorm": 1.0}),
        input_shape=rows,
        architecture=["embed: Dense(12)", "h = h + GroupQueryAttention(head_dim=3, num_query_heads=6, num_key_value_heads=2)(a, a, causal), a = RMSNormalization(h)",
                      "h = h + down(silu(gate(f)) * up(f)), f = RMSNormalization(h), no biases", "GlobalAveragePooling1D", "head: Dense(10)"])
    fit("volumes", sequential((4, 4, 4, 1), of(K.Conv3D, 6, 2, padding="same", strides=2, activation="relu"), of(K.Conv3D, 8, 2),
                              of(K.LeakyReLU), of(K.GlobalAveragePooling3D), of(K.Dense, 10)), adam, input_shape=(4, 4, 4, 1))
    fit("frames", sequential((4, 4, 4, 1), of(K.ConvLSTM2D, 4, 2, padding="same", return_sequences=True), of(K.ConvLSTM2D, 3, 2), of(K.Flatten),
                             of(K.Dense, 10)), adam, input_shape=(4, 4, 4, 1))
    fit("constrained", sequential((64,), of(K.Normalization, mean=[0.25] * 64, variance=[0.0625] * 64),
                                  of(K.Dense, 16, activation="selu", kernel_constraint=keras.constraints.MaxNorm(0.75)),
                                  of(K.Dense, 10, kernel_constraint=keras.constraints.NonNeg(), kernel_regularizer=keras.regularizers.L1L2(1e-3, 1e-3),
                                     activity_regularizer=keras.regularizers.L2(1e-3))),
        ("SGD", {"learning_rate": 0.05, "momentum": 0.9}))
    fit("averaged", sequential((64,), of(K.Dense, 24, activation="mish"), of(K.Dense, 10)),
        ("Adam", {"learning_rate": 0.005, "use_ema": True, "ema_momentum": 0.9, "gradient_accumulation_steps": 2}), targets="one_hot",
        loss=("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}), metrics=("categorical_accuracy", "top_k_categorical_accuracy"),
        note="after fit the weights are the moving averages (finalize_variable_values)")


def causal_stack(K, inputs):
    causal = lambda d, name, a=None: K.Conv1D(8, 2, padding="causal", dilation_rate=d, activation=a, name=name)  # noqa: E731
    h = causal(1, "stem")(inputs)
    for d in (1, 2, 4):
        gated = K.Multiply()([causal(d, f"tanh_{d}", "tanh")(h), causal(d, f"sigmoid_{d}", "sigmoid")(h)])
        h = K.Add()([h, K.Conv1D(8, 1, name=f"mix_{d}")(gated)])
    return h


# ----------------------------------------------------------------------------------------- weights_h5


def weights_h5(run):
    K = keras.layers
    x, y, _, _ = digits(run.data)

    def save(name, build, optimizer, input_shape):
        case = Case(run, "weights_h5", name)
        opt_class, opt_config = optimizer
        model = build()
        model.set_weights([v.astype("float32") for v in initial_weights(case, model)])
        model.compile(getattr(keras.optimizers, opt_class)(**opt_config),
                      loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        shaped = x.reshape((-1, *input_shape)).astype("float32")
        for step in range(2):
            rows = slice(32 * step, 32 * step + 32)
            model.train_on_batch(shaped[rows], y[rows])
        model.save_weights(case.folder / "model.weights.h5")
        datasets = []
        with h5py.File(case.folder / "model.weights.h5") as file:
            file.visititems(lambda path, node: datasets.append(
                {"path": path, "shape": list(node.shape), "dtype": str(node.dtype)}) if isinstance(node, h5py.Dataset) else None)
        case.add("x", shaped[100:107])
        case.add("prediction", model.predict(shaped[100:107], verbose=0))
        case.add("x_next", shaped[64:80])
        case.add("y_next", y[64:80])
        weights = [{"name": v.path, "array": case.add(f"w{i}", v.numpy())} for i, v in enumerate(model.weights)]
        slots = [{"name": v.name, "array": case.add(f"optimizer{i}", v.numpy())} for i, v in enumerate(model.optimizer.variables)]
        model.train_on_batch(shaped[64:80], y[64:80])  # a third step proves that the optimizer's state was read
        for i, (entry, v) in enumerate(zip(weights, model.weights)):
            entry["after_next_step"] = case.add(f"w{i}_next", v.numpy())
        case.save(file="model.weights.h5", model=layer_list(model), input_shape=input_shape,
                  optimizer={"class": opt_class, "config": opt_config},
                  loss={"class": "SparseCategoricalCrossentropy", "config": {"from_logits": True}}, datasets=datasets,
                  weights=weights, optimizer_variables=slots,
                  note="float32 model after 2 training steps; `after_next_step` follows a third one on x_next, y_next")

    with precision("float32"):
        save("mlp_adam", lambda: keras.Sequential([keras.Input((64,)), K.Dense(32, activation="relu", name="hidden"),
                                                   K.Dense(10, name="head")]), ("Adam", {"learning_rate": 0.005}), (64,))
        save("cnn_batch_norm_sgd_momentum",
             lambda: keras.Sequential([keras.Input((8, 8, 1)), K.Conv2D(8, 3, padding="same"), K.BatchNormalization(), K.ReLU(),
                                       K.MaxPooling2D(2), K.Conv2D(16, 3, activation="relu"), K.Flatten(), K.Dense(10)]),
             ("SGD", {"learning_rate": 0.05, "momentum": 0.9}), (8, 8, 1))
        save("lstm_adam", lambda: keras.Sequential([keras.Input((8, 8)), K.LSTM(16), K.Dense(10)]),
             ("Adam", {"learning_rate": 0.005}), (8, 8))


# ----------------------------------------------------------------------------------------------- main

FAMILIES = {f.__name__: f for f in (layers, losses, metrics, optimizers, schedules, callbacks, training, programs, weights_h5)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="receives one folder per family")
    parser.add_argument("--data", type=Path, help="folder of optdigits.tra and optdigits.tes")
    parser.add_argument("--only", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    run = parser.parse_args()
    if run.data is None and {"training", "programs", "weights_h5"} & set(run.only):
        parser.error("training, programs and weights_h5 need --data")
    run.counts = {}
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    for name in run.only:
        shutil.rmtree(run.out / name, ignore_errors=True)
        FAMILIES[name](run)
        print(f"{name}: {run.counts[name]} cases", flush=True)
    (run.out / "index.json").write_text(json.dumps(
        {"seed": run.seed, "keras": keras.__version__, "tensorflow": tf.__version__,
         "cases": {f: sorted(p.parent.name for p in (run.out / f).glob("*/case.json")) for f in FAMILIES
                   if (run.out / f).is_dir()}}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
