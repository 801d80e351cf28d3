#!/usr/bin/env python3
"""Writes docs/performance.md from what scripts/bench.sh has measured.

    scripts/bench.sh --peers "torch torch-compile torch-flush jax jax-scan jax-old keras" --json results.json
    scripts/bench/page.py results.json [more.json …]

Several files are those of one machine; where two have the same case and peer, the later one counts. The page has a
section for each machine, of which this replaces or adds one, and in it a line for each run, so that it shows which were
short. Of a sweep it has the least and the mean ratio for each width; of results of --busy also the quiet medians, if a
file has those of the same case.
"""
import json
import re
import statistics
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"

PEERS = {"torch": "PyTorch", "torch-compile": "PyTorch, compiled", "torch-flush": "PyTorch, flushed", "jax": "JAX",
         "jax-scan": "JAX, scan", "jax-old": "JAX, old", "keras": "Keras", "kernels": "own kernels"}

ABOUT_PEERS = {
    "torch": "PyTorch {version}, eager: fused optimizers, `set_to_none`, channels last",
    "torch-compile": "the same with a step as one program of `torch.compile`, in its mode max-autotune; of `lstm` "
                     "forward and backward alone",
    "torch-flush": "the same, eager, with `set_flush_denormal`",
    "jax": "JAX {version}: one jitted step with donated state, optax, batches on the device",
    "jax-scan": "the same with the loop over steps inside the program",
    "jax-old": "the same with JAX {version}",
    "keras": "Keras on TensorFlow {version}: `compile` and `fit` with their defaults over arrays in memory",
    "kernels": "the same model without PJRT",
}

# What a case trains, by its name without the batch.
CASES = {
    "mlp": "784-128-10, ReLU; Adam",
    "cnn": "28x28x1: 32 filters 3x3, pooling 2x2, 64 filters 3x3, pooling 2x2, 64, 10; ReLU; Adam",
    "wide": "1024-4096-4096-10, ReLU; SGD with momentum",
    "surrogate": "3-64-64-64-1, tanh; Adam, mean squared error",
    "transformer": "64 x 256: attention of 4 heads of 64 and a perceptron of 1024, each behind a normalization and "
                   "beside a shortcut; 10; Adam",
    "lstm": "64 x 32: 128 units, 10; Adam",
    "resnet18": "32x32x3: ResNet-18 in its form for small images, 64 to 512 filters; SGD with momentum",
    "vgg": "32x32x3: the eight convolutions and five poolings of VGG-11, 512, 512, 10; SGD with momentum",
    "unet": "64x64x1: a U-Net of 32, 64 and 128 filters, a logit a pixel; Adam, binary cross-entropy",
    "conv1d": "128 x 32: 64 and 128 filters of 5 steps, each before a pooling of 2, 128 of 3, mean, 10; Adam",
    "ddp_mlp": "`mlp` on two processes of one thread each, over MPI; PyTorch's DistributedDataParallel over gloo",
    "ddp_cnn": "`cnn`, likewise",
    "ddp_wide": "`wide`, likewise",
    "pjrt_…": "each of these on one process, as a program on a PJRT plugin for CPUs; JAX on the same",
}

PAGE_TEXT = """# Performance

Times of a training step and their ratios to PyTorch, JAX and Keras, of programs that took turns on one machine.
The page is written by `scripts/bench/page.py` from the results of `scripts/bench.sh`.

{sections}

A ratio is the peer's time divided by trireme's: above 1 trireme is faster. Both times are the least of all epochs; the
ratio of medians is in parentheses. The fastest peer is the one of the least time, whatever its form.

## Repeat it

```sh
scripts/bench.sh --peers "{peers}" --json results.json
scripts/bench/page.py results.json
scripts/bench.sh --cases "mlp_b32 cnn_b64" --peers jax --pairs 1   # a part of it
scripts/bench.sh --busy 2 --cases mlp_b32                          # beside two processes that compute all the time
scripts/bench.sh --sweep                                           # perceptrons of many sizes
scripts/bench.sh --kernels                                         # layers and products, beside those of vendors
scripts/bench.sh --compile-time                                    # two examples, beside the packages' headers alone
```

The first run makes a Python environment of the peers (3 GB of downloads, in `~/.cache/trireme/bench-venv`). Let nothing
else run. A ratio is worth something only from programs that took turns, since host and neighbours change a processor's
speed by more than most differences here. [Threads of a process](strategies.md#threads-of-a-process) and
[flags](installing.md#flags) say what a user chooses.

## What is measured

{cases}

The number behind `_b` is the global batch, in float. Classifiers have the cross-entropy of logits and ten classes.

- **Time** is an epoch's wall time divided by its steps, with metrics, History and whatever else happens at an epoch's
  end, after one epoch to warm up.
- **trireme** trains through `fit`, on all cores. Nothing is special about the programs in `benchmarks/training`.
- **Data** lie in memory, are the same numbers in every program (a counter's hash, one label in four at random), and are
  gone through batch after batch: 16 of them, or as many as take 64 MB.
- **Peers** have the same architecture, loss, optimizer and threads. PyTorch and JAX compute no accuracy, trireme and
  Keras do. Every program prints its first and last loss and the number of its parameters.

{peer_list}
"""


SECTION_TEXT = """## {processor}, {cores} cores, {vectors}

{runs}

{table}"""


def microseconds(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def line_of(about, cases, busy):
    """What one run was, and of which cases."""
    steps = f" of {about['steps']} steps" if about["steps"] else ""
    times = "once" if about["pairs"] == 1 else f"{about['pairs']} times in turn"
    if busy:
        times += f", beside {busy} busy process{'es' if busy > 1 else ''}"
    return (f"**{about['date']}**, commit {about['commit']}, {about['compiler']}, `{about['flags']}`, load {about['load']} "
            f"before it; each program {times}, {about['repetitions']} epochs{steps}: {', '.join(cases)}.")


def table_of(results, peers):
    names = " | ".join(PEERS[peer] for peer in peers)
    rows = [f"| case | trireme, us | fastest peer | its time, us | ratio | {names} |",
            "|" + "---|" * (5 + len(peers))]
    for case in dict.fromkeys(case for case, _ in results):
        of_case = {peer: result for (name, peer), result in results.items() if name == case}
        own = min(result["trireme_us"] for result in of_case.values())
        others = [result for peer, result in of_case.items() if peer != "kernels"]
        fastest = min(others, key=lambda result: result["peer_us"])
        least_median = min(result["speedup_median"] for result in others)
        ratios = [f"{of_case[peer]['speedup']:.2f} ({of_case[peer]['speedup_median']:.2f})" if peer in of_case else ""
                  for peer in peers]
        rows.append(f"| `{case}` | {microseconds(own)} | {PEERS[fastest['peer']]} | "
                    f"{microseconds(fastest['peer_us'])} | **{fastest['speedup']:.2f}** ({least_median:.2f}) | " + " | ".join(ratios) + " |")
    return "\n".join(rows)


def is_sweep(case):
    return case.startswith("sweep_")


def named_cases(results):
    """The cases of a run, of a sweep their number alone."""
    cases = list(dict.fromkeys(result["case"] for result in results))
    named = [f"`{case}`" for case in cases if not is_sweep(case)]
    return named + ([f"{len(cases) - len(named)} perceptrons of a sweep"] if len(cases) > len(named) else [])


def sweep_of(results, peers):
    """Of perceptrons of each width the least ratio to each peer, and the geometric mean."""
    widths = sorted({int(re.match(r"sweep_w(\d+)_", case)[1]) for case, _ in results})
    peers = [peer for peer in peers if any(key[1] == peer for key in results)]
    rows = [f"| perceptrons of width | number | {' | '.join(PEERS[peer] for peer in peers)} |", "|" + "---|" * (2 + len(peers))]
    for width in widths:
        of_width = {key: result for key, result in results.items() if key[0].startswith(f"sweep_w{width}_")}
        ratios = []
        for peer in peers:
            minima, medians = ([result[name] for key, result in of_width.items() if key[1] == peer]
                               for name in ("speedup", "speedup_median"))
            if not minima:
                ratios.append("")
                continue
            ratios.append(f"{min(minima):.2f} ({min(medians):.2f}), mean {statistics.geometric_mean(minima):.1f}")
        rows.append(f"| {width} | {len({case for case, _ in of_width})} | {' | '.join(ratios)} |")
    return ("Least ratios of a sweep over perceptrons of 1 to 8 hidden layers and batches of 1 to 4,096; SGD with momentum:\n\n"
            + "\n".join(rows))


def busy_of(results, quiet):
    """Medians beside busy processes, over the quiet ones, and the peer with the least median there."""
    rows = ["| case | busy processes | trireme, us | over quiet | fastest peer | its time, us | over quiet | ratio |",
            "|" + "---|" * 8]

    def over_quiet(value, case, peer, name):
        alone = [result[name] for key, result in quiet.items() if key[0] == case and peer in (None, key[1])]
        return f"{value / min(alone):.2f}" if alone else ""

    for case, busy in dict.fromkeys((case, busy) for case, _, busy in results):
        of_case = [result for key, result in results.items() if key[0] == case and key[2] == busy]
        own = min(result["trireme_median_us"] for result in of_case)
        fastest = min(of_case, key=lambda result: result["peer_median_us"])
        rows.append(f"| `{case}` | {busy} | {microseconds(own)} | {over_quiet(own, case, None, 'trireme_median_us')} | "
                    f"{PEERS[fastest['peer']]} | {microseconds(fastest['peer_median_us'])} | "
                    f"{over_quiet(fastest['peer_median_us'], case, fastest['peer'], 'peer_median_us')} | "
                    f"**{fastest['peer_median_us'] / own:.2f}** |")
    return "Beside processes that compute all the time: medians, and what they are of the quiet ones above.\n\n" + "\n".join(rows)


def wrapped(items):
    """List items in lines of at most 120 characters."""
    lines = []
    for item in items:
        line = "-"
        for word in item.split():
            if len(line) + 1 + len(word) > 120:
                lines.append(line)
                line = " "
            line += " " + word
        lines.append(line)
    return "\n".join(lines)


def sections_with(section):
    """The sections of machines that the page has, with this one in the place of its machine's last one, or behind them."""
    page = PAGE.read_text() if PAGE.exists() else ""
    found = re.findall(r"^## [^\n]+ cores, .*?(?=\n\n(?:## |A ratio is))", page, re.MULTILINE | re.DOTALL)
    by_heading = {text.split("\n", 1)[0]: text for text in found}
    by_heading[section.split("\n", 1)[0]] = section
    return "\n\n".join(by_heading.values())


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__.strip())
    files = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    if any("about" not in file for file in files):
        raise SystemExit("page.py: a file has no \"about\"; measure it again with this version of scripts/bench.sh")
    if len({(file["about"]["processor"], file["about"]["cores"]) for file in files}) > 1:
        raise SystemExit("page.py: the files are of different machines; give those of one at a time")
    about, results, beside, versions = files[-1]["about"], {}, {}, {}
    for file in files:
        for result in file["results"]:
            if "busy" in result:
                beside[result["case"], result["peer"], result["busy"]] = result
            else:
                results[result["case"], result["peer"]] = result
        versions |= file["about"]["versions"]
    if not results and not beside:
        raise SystemExit("page.py: no file has a result")
    peers = [peer for peer in PEERS if any(key[1] == peer for key in results)]
    sweep = {key: result for key, result in results.items() if is_sweep(key[0])}
    table = {key: result for key, result in results.items() if not is_sweep(key[0])}
    tables = ([table_of(table, peers)] if table else []) + ([sweep_of(sweep, peers)] if sweep else []) + (
        [busy_of(beside, table)] if beside else [])
    section = SECTION_TEXT.format(**about, table="\n\n".join(tables),
                                  runs=wrapped(line_of(file["about"], named_cases(file["results"]),
                                                  file["results"][0].get("busy", 0)) for file in files if file["results"]))
    sections = sections_with(section)
    named = [peer for peer, name in PEERS.items() if f"| {name} |" in sections]
    PAGE.write_text(PAGE_TEXT.format(
        sections=sections, peers=" ".join(peer for peer in named if peer != "kernels"),
        cases=wrapped(f"`{model}`: {text}" for model, text in CASES.items() if f"`{model.replace('…', '')}" in sections),
        peer_list=wrapped(f"**{PEERS[peer]}**: {ABOUT_PEERS[peer].format(version=versions.get(peer, ''))}."
                          for peer in named)))
    print(f"{PAGE}: {len({key[0] for key in [*results, *beside]})} cases, {len(peers)} peers")


if __name__ == "__main__":
    main()
