"""JAX: one jitted step whose state is donated, optax, batches on the device; with --scan one program for an epoch."""

import functools
import os
import sys

PJRT = any(argument.startswith("pjrt_") for argument in sys.argv)
DEVICE = "cuda" if "cuda" in sys.argv else "cpu"  # --device
os.environ.setdefault("JAX_PLATFORMS", "pjrt_plugin" if PJRT else DEVICE)

import jax
import jax.numpy as jnp
import optax

from cases import ADAM_EPSILON, LEARNING_RATE, MOMENTUM, make_data, measure, parse_arguments, parse_case, report

if PJRT:  # the same plugin as trireme's, instead of JAX's own CPU backend
    from jax._src.xla_bridge import register_plugin

    register_plugin("pjrt_plugin", library_path=os.environ["TRIREME_PJRT_PLUGIN"])

glorot = jax.nn.initializers.glorot_uniform()


def dense(key, n, m):
    return glorot(key, (n, m)), jnp.zeros(m)


def make_parameters(case):
    keys = jax.random.split(jax.random.key(1), 16)
    if case.model == "cnn":
        return [(glorot(keys[0], (3, 3, 1, 32)), jnp.zeros(32)), (glorot(keys[1], (3, 3, 32, 64)), jnp.zeros(64)),
                dense(keys[2], 1600, 64), dense(keys[3], 64, 10)]
    if case.model == "transformer":
        norm = lambda: (jnp.ones(256), jnp.zeros(256))
        return {"norms": [norm(), norm()], "qkv": dense(keys[0], 256, 768), "out": dense(keys[1], 256, 256),
                "up": dense(keys[2], 256, 1024), "down": dense(keys[3], 1024, 256), "head": dense(keys[4], 64 * 256, 10)}
    if case.model == "lstm":
        return {"kernel": glorot(keys[0], (32, 512)), "recurrent": glorot(keys[1], (128, 512)), "bias": jnp.zeros(512),
                "head": dense(keys[2], 128, 10)}
    widths = [case.extents[0], *case.hidden, case.outputs]
    return [dense(key, n, m) for key, n, m in zip(keys, widths[:-1], widths[1:])]


def split_keys():
    key = jax.random.key(1)
    while True:
        key, one = jax.random.split(key)
        yield one


def make_deep_parameters(model):
    """The parameters, and the moving statistics of normalizations."""
    keys, statistics = split_keys(), []

    def conv(*extents):
        return glorot(next(keys), extents), jnp.zeros(extents[-1])

    def normalized(*extents):
        statistics.append((jnp.zeros(extents[-1]), jnp.ones(extents[-1])))
        return glorot(next(keys), extents), jnp.ones(extents[-1]), jnp.zeros(extents[-1])

    def level(inputs, filters):
        return [conv(3, 3, inputs, filters), conv(3, 3, filters, filters)]

    if model == "resnet18":
        blocks, width = [], 64
        stem = normalized(3, 3, 3, 64)
        for filters in (64, 64, 128, 128, 256, 256, 512, 512):
            shortcut = normalized(1, 1, width, filters) if filters != width else None
            blocks.append((shortcut, normalized(3, 3, width, filters), normalized(3, 3, filters, filters)))
            width = filters
        return {"stem": stem, "blocks": blocks, "head": dense(next(keys), 512, 10)}, statistics
    if model == "vgg":
        widths = [3, 64, 128, 256, 256, 512, 512, 512, 512]
        return {"filters": [conv(3, 3, n, m) for n, m in zip(widths[:-1], widths[1:])],
                "dense": [dense(next(keys), n, m) for n, m in ((512, 512), (512, 512), (512, 10))]}, statistics
    if model == "unet":
        return {"down_1": level(1, 32), "down_2": level(32, 64), "bottom": level(64, 128), "up_2": level(192, 64),
                "up_1": level(96, 32), "head": conv(1, 1, 32, 1)}, statistics
    return {"filters": [conv(5, 32, 64), conv(5, 64, 128), conv(3, 128, 128)], "head": dense(next(keys), 128, 10)}, []


def convolution(x, kernel, stride=1, padding="SAME"):
    letters = ("NHWC", "HWIO", "NHWC") if x.ndim == 4 else ("NWC", "WIO", "NWC")
    return jax.lax.conv_general_dilated(x, kernel, (stride,) * (x.ndim - 2), padding, dimension_numbers=letters)


def pool(x):
    """Over 2 x 2 as a maximum over axes: a step of cnn_b64 takes 14.5 ms, by reduce_window 37. Over 2 steps by the latter,
    which is faster there."""
    if x.ndim == 3:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "VALID")
    n, h, w, c = x.shape
    return x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def resnet18(p, statistics, x):
    old, new = iter(statistics), []

    def normalized(x, parameters, stride=1):
        kernel, scale, shift = parameters
        x = convolution(x, kernel, stride)
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        new.append(tuple(0.99 * a + 0.01 * b for a, b in zip(next(old), (mean, variance))))
        return (x - mean) * (jax.lax.rsqrt(variance + 1e-3) * scale) + shift

    x = jax.nn.relu(normalized(x, p["stem"]))
    for shortcut, first, second in p["blocks"]:
        stride = 1 if shortcut is None else 2
        beside = x if shortcut is None else normalized(x, shortcut, stride)
        x = jax.nn.relu(beside + normalized(jax.nn.relu(normalized(x, first, stride)), second))
    return x.mean((1, 2)) @ p["head"][0] + p["head"][1], new


def vgg(p, x):
    for i, (kernel, bias) in enumerate(p["filters"]):
        x = jax.nn.relu(convolution(x, kernel) + bias)
        if i in (0, 1, 3, 5, 7):
            x = pool(x)
    x = x.reshape(x.shape[0], -1)
    for kernel, bias in p["dense"][:-1]:
        x = jax.nn.relu(x @ kernel + bias)
    return x @ p["dense"][-1][0] + p["dense"][-1][1]


def unet(p, x):
    def level(x, parameters):
        for kernel, bias in parameters:
            x = jax.nn.relu(convolution(x, kernel) + bias)
        return x

    def enlarge(x):
        n, h, w, c = x.shape
        return jnp.broadcast_to(x[:, :, None, :, None, :], (n, h, 2, w, 2, c)).reshape(n, 2 * h, 2 * w, c)

    first = level(x, p["down_1"])
    second = level(pool(first), p["down_2"])
    x = level(pool(second), p["bottom"])
    x = level(jnp.concatenate([enlarge(x), second], -1), p["up_2"])
    x = level(jnp.concatenate([enlarge(x), first], -1), p["up_1"])
    return convolution(x, p["head"][0]) + p["head"][1]


def conv1d(p, x):
    x = x[:, 0]
    for i, (kernel, bias) in enumerate(p["filters"]):
        x = jax.nn.relu(convolution(x, kernel) + bias)
        if i < 2:
            x = pool(x)
    return x.mean(1) @ p["head"][0] + p["head"][1]


def transformer(p, x):
    def normalize(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift

    def affine(x, kernel, bias):
        return x @ kernel + bias

    rows = x.shape[0]
    q, k, v = jnp.split(affine(normalize(x, *p["norms"][0]), *p["qkv"]).reshape(rows, 64, 12, 64), 3, axis=2)
    x = x + affine(jax.nn.dot_product_attention(q, k, v).reshape(rows, 64, 256), *p["out"])
    x = x + affine(jax.nn.relu(affine(normalize(x, *p["norms"][1]), *p["up"])), *p["down"])
    return affine(x.reshape(rows, -1), *p["head"])


def lstm(p, x):
    inputs = jnp.swapaxes(x, 0, 1) @ p["kernel"] + p["bias"]

    def step(state, z):
        h, c = state
        i, f, g, o = jnp.split(z + h @ p["recurrent"], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], 128))
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), inputs)
    return h @ p["head"][0] + p["head"][1]


MODELS = {"transformer": transformer, "lstm": lstm, "vgg": vgg, "unet": unet, "conv1d": conv1d}


def apply(case, parameters, x):
    if case.model in MODELS:
        return MODELS[case.model](parameters, x)
    if case.model == "cnn":
        for kernel, bias in parameters[:2]:
            x = pool(jax.nn.relu(convolution(x, kernel, padding="VALID") + bias))
        x, parameters = x.reshape(x.shape[0], -1), parameters[2:]
    activation = jnp.tanh if case.model == "surrogate" else jax.nn.relu
    for kernel, bias in parameters[:-1]:
        x = activation(x @ kernel + bias)
    kernel, bias = parameters[-1]
    return x @ kernel + bias


def train(case, options):
    optimizer = optax.adam(LEARNING_RATE, eps=ADAM_EPSILON) if case.adam else optax.sgd(LEARNING_RATE, MOMENTUM)

    def loss_function(parameters, statistics, x, y):
        if case.model == "resnet18":
            prediction, statistics = resnet18(parameters, statistics, x)
        else:
            prediction = apply(case, parameters, x)
        if case.loss == "squares":
            loss = jnp.mean((prediction - y) ** 2)
        elif case.loss == "pixels":
            loss = optax.sigmoid_binary_cross_entropy(prediction, y).mean()
        else:
            loss = optax.softmax_cross_entropy_with_integer_labels(prediction, y).mean()
        return loss, statistics

    def step(parameters, state, x, y):
        optimizer_state, statistics = state
        (loss, statistics), gradients = jax.value_and_grad(loss_function, has_aux=True)(parameters, statistics, x, y)
        updates, optimizer_state = optimizer.update(gradients, optimizer_state, parameters)
        return optax.apply_updates(parameters, updates), (optimizer_state, statistics), loss

    if case.model in ("resnet18", "vgg", "unet", "conv1d"):
        parameters, statistics = make_deep_parameters(case.model)
    else:
        parameters, statistics = make_parameters(case), []
    count = sum(p.size for p in jax.tree.leaves(parameters))
    state = optimizer.init(parameters), statistics
    if options.scan:
        x, y = map(jax.device_put, make_data(case))

        @functools.partial(jax.jit, static_argnums=4, donate_argnums=(0, 1))
        def epoch(parameters, state, x, y, steps):
            def next_step(carried, batch):
                *carried, loss = step(*carried, x[batch], y[batch])
                return tuple(carried), loss

            carried, losses = jax.lax.scan(next_step, (parameters, state), jnp.arange(steps) % len(x))
            return *carried, losses[-1]

        def run_epoch(steps):
            nonlocal parameters, state
            parameters, state, loss = epoch(parameters, state, x, y, steps)
            jax.block_until_ready(parameters)
            return loss

        return *measure(run_epoch, options), count

    step = jax.jit(step, donate_argnums=(0, 1))
    batches = [(jax.device_put(x), jax.device_put(y)) for x, y in zip(*make_data(case))]

    def run(steps):
        nonlocal parameters, state
        for i in range(steps):
            parameters, state, loss = step(parameters, state, *batches[i % len(batches)])
        jax.block_until_ready(parameters)
        return loss

    return *measure(run, options), count


if __name__ == "__main__":
    arguments = parse_arguments(__doc__, ("--scan", "the loop over steps inside one program"))
    for one in map(parse_case, arguments.case):
        report(one, *train(one, arguments))
