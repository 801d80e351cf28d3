"""JAX: one jitted step whose state is donated, optax, batches on the device; with --scan one program for an epoch."""

import functools
import os
import sys

PJRT = any(argument.startswith("pjrt_") for argument in sys.argv)
os.environ.setdefault("JAX_PLATFORMS", "pjrt_plugin" if PJRT else "cpu")

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


def apply(case, parameters, x):
    if case.model == "transformer":
        return transformer(parameters, x)
    if case.model == "lstm":
        return lstm(parameters, x)
    if case.model == "cnn":
        for kernel, bias in parameters[:2]:
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + bias)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x, parameters = x.reshape(x.shape[0], -1), parameters[2:]
    activation = jnp.tanh if case.model == "surrogate" else jax.nn.relu
    for kernel, bias in parameters[:-1]:
        x = activation(x @ kernel + bias)
    kernel, bias = parameters[-1]
    return x @ kernel + bias


def train(case, options):
    optimizer = optax.adam(LEARNING_RATE, eps=ADAM_EPSILON) if case.adam else optax.sgd(LEARNING_RATE, MOMENTUM)

    def loss_function(parameters, x, y):
        prediction = apply(case, parameters, x)
        if case.model == "surrogate":
            return jnp.mean((prediction - y) ** 2)
        return optax.softmax_cross_entropy_with_integer_labels(prediction, y).mean()

    def step(parameters, state, x, y):
        loss, gradients = jax.value_and_grad(loss_function)(parameters, x, y)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    parameters = make_parameters(case)
    state = optimizer.init(parameters)
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

        return measure(run_epoch, options)

    step = jax.jit(step, donate_argnums=(0, 1))
    batches = [(jax.device_put(x), jax.device_put(y)) for x, y in zip(*make_data(case))]

    def run(steps):
        nonlocal parameters, state
        for i in range(steps):
            parameters, state, loss = step(parameters, state, *batches[i % len(batches)])
        jax.block_until_ready(parameters)
        return loss

    return measure(run, options)


if __name__ == "__main__":
    arguments = parse_arguments(__doc__, ("--scan", "the loop over steps inside one program"))
    for one in map(parse_case, arguments.case):
        report(one, *train(one, arguments))
