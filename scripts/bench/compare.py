"""Runs trireme's training benchmarks and the peers' alternately, and prints how many times faster trireme is.

Called by scripts/bench.sh, which builds the programs and installs the peers.
"""

import argparse
import contextlib
import datetime
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"

# Steps of an epoch: enough that its end does not count, few enough that the slowest peer takes seconds.
STEPS = {"mlp_b32": 512, "mlp_b64": 512, "mlp_b512": 128, "cnn_b64": 32, "cnn_b256": 16, "wide_b256": 8,
         "surrogate_b256": 512, "surrogate_b4096": 128, "transformer_b16": 8, "lstm_b32": 16, "resnet18_b32": 2,
         "vgg_b16": 4, "unet_b8": 4, "conv1d_b64": 32, "ddp_mlp_b32": 512, "ddp_cnn_b64": 32, "ddp_wide_b256": 8}

# Programs of benchmarks/training that hold several models; the others are named after theirs.
PROGRAMS = {"transformer": "sequences", "lstm": "sequences", "resnet18": "deep", "vgg": "deep", "unet": "deep",
            "conv1d": "deep"}

# Peers that are another one's program, started otherwise.
VARIANTS = {"jax-scan": ("jax", ["--scan"]), "jax-old": ("jax", []), "torch-compile": ("torch", ["--compile"]),
            "torch-flush": ("torch", ["--flush-denormal"])}

WIDTHS, DEPTHS, BATCHES = [16, 64, 256, 1024, 4096], [1, 2, 4, 8], [1, 8, 64, 512, 4096]
SWEEP_FLOPS = 1e12  # of a step: more would only measure the BLAS, for minutes


def sweep_points():
    points = [(w, d, b) for w in WIDTHS for d in DEPTHS for b in BATCHES]
    kept = [p for p in points if 6 * p[0] ** 2 * p[1] * p[2] <= SWEEP_FLOPS]
    print(f"{len(points) - len(kept)} of {len(points)} points are left out: a step of theirs is more than "
          f"{SWEEP_FLOPS:.0e} operations", flush=True)
    return [f"sweep_w{w}_d{d}_b{b}" for w, d, b in kept]


def describe_machine():
    """The processor, its widest vectors and how busy it is: printed, and as fields."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    fields = dict(tuple(map(str.strip, line.split(":", 1))) for line in text.splitlines() if ":" in line)
    flags = fields.get("flags", fields.get("Features", "")).split()
    vectors = next((name for name in ("avx512f", "avx2", "sve", "asimd") if name in flags), "no vectors known")
    processor = (f"{fields.get('model name', 'unknown processor')} (family {fields.get('cpu family', '?')}, model "
                 f"{fields.get('model', '?')})")
    load = os.getloadavg()[0]
    print(f"{processor}, {vectors}, {os.cpu_count()} processors", flush=True)
    if load > 0.5:
        print(f"the machine is busy (load {load:.1f}): these times say little", flush=True)
    return {"processor": processor, "vectors": vectors, "cores": os.cpu_count(), "load": round(load, 2)}


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=PEERS)
    return done.stdout.strip() if done.returncode == 0 else ""


def describe_programs(options):
    """The commit, the compiler, the versions of the peers, the date and the options of this run."""
    program = "from importlib.metadata import version; import sys; print(version(sys.argv[1]))"
    packages = {"torch": "torch", "jax": "jax", "jax-old": "jax", "keras": "tensorflow-cpu"}
    versions = {}
    for peer in dict.fromkeys(peer if peer in packages else VARIANTS.get(peer, (peer,))[0] for peer in options.peers):
        if peer in packages:
            python = options.python_jax_old if peer == "jax-old" else options.python
            versions[peer] = output_of(python, "-c", program, packages[peer])
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"commit": output_of("git", "describe", "--always", "--dirty"), "compiler": options.compiler,
            "flags": options.flags, "date": now.strftime("%Y-%m-%d %H:%M UTC"),
            "versions": versions, "pairs": options.pairs, "repetitions": options.repetitions, "steps": options.steps}


class Runner:
    def __init__(self, options):
        self.options = options
        self.overlap = {}  # of a case over several processes: what trireme said of it last

    def command(self, who, cases):
        o = self.options
        distributed = cases[0].startswith("ddp_")
        arguments = [part for case in cases for part in ("--case", case)]
        steps = o.steps or (0 if o.sweep else STEPS.get(cases[0].removeprefix("pjrt_"), 0))
        arguments += ["--steps", str(steps), "--repetitions", str(o.repetitions)]
        if who == "kernels":  # ours, beside the same models as programs
            arguments = [part.removeprefix("pjrt_") for part in arguments]
        if who in ("trireme", "kernels"):
            model = arguments[1].split("_")[0]
            program = [f"{o.programs}/training_{PROGRAMS.get(model, model)}"]
            return ([o.mpiexec, "-n", "2"] if distributed else []) + program + arguments
        peer, switches = VARIANTS.get(who, (who, []))
        python = o.python_jax_old if who == "jax-old" else o.python
        return [python, str(PEERS / f"{peer}_peer.py")] + arguments + ["--threads", str(o.threads)] + switches

    def run(self, who, cases):
        """{case: its line}; nothing for a program that failed, which is said."""
        environment = dict(os.environ)
        if who in ("trireme", "kernels"):
            threads = "1" if cases[0].startswith("ddp_") else str(self.options.threads)
            environment |= {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        else:  # as a user of theirs would start them
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_PROC_BIND"):
                environment.pop(name, None)
        done = subprocess.run(self.command(who, cases), env=environment, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
        for line in done.stdout.splitlines():
            if line.startswith('{"overlap"'):
                self.overlap[json.loads(line)["overlap"]] = json.loads(line)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            print(f"{who} failed on {' '.join(cases)}: {last}", file=sys.stderr, flush=True)
        prefix = "pjrt_" if who == "kernels" else ""
        return {prefix + line["case"]: line for line in lines}


@contextlib.contextmanager
def busy_processes(count):
    """So many processes beside the programs, each of which never stops computing."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def takes_part(peer, case):
    if case.startswith("ddp_"):
        return peer in ("torch", "torch-flush")
    if case.startswith("pjrt_") or peer == "kernels":
        return case.startswith("pjrt_") and peer in ("jax", "jax-scan", "kernels")
    return peer != "keras" or not case.startswith(("sweep_", "transformer_", "lstm_"))


def measure(runner, groups, peers, pairs):
    """{(who, case): lines}, each group of cases in one process of each program, in turn."""
    seen = {}
    for group in groups:
        for pair in range(pairs):
            order = ["trireme", *(peer for peer in peers if takes_part(peer, group[0]))]
            for who in order if pair % 2 == 0 else reversed(order):
                for case, line in runner.run(who, group).items():
                    seen.setdefault((who, case), []).append(line)
        print(f"measured {', '.join(group) if len(group) < 4 else f'{len(group)} cases'}", file=sys.stderr, flush=True)
    return seen


def summarise(lines):
    return min(line["us_min"] for line in lines), statistics.median(line["us_median"] for line in lines)


def compare(seen, cases, peers, busy):
    results, rows = [], []
    for case in cases:
        for peer in peers:
            if ("trireme", case) not in seen or (peer, case) not in seen:
                continue
            own, own_median = summarise(seen["trireme", case])
            other, other_median = summarise(seen[peer, case])
            result = {"case": case, "peer": peer, "trireme_us": own, "trireme_median_us": own_median, "peer_us": other,
                      "peer_median_us": other_median, "speedup": round(other / own, 3),
                      "speedup_median": round(other_median / own_median, 3)}
            results.append(result | ({"busy": busy} if busy else {}))
            rows.append((case, peer, own, own_median, other, other_median, other / own, other_median / own_median))
    return results, rows


def best_peers(results):
    """Of each case its fastest peer, and the ratios to the least minimum and the least median of any peer."""
    best = []
    for case in dict.fromkeys(result["case"] for result in results):
        of_case = [result for result in results if result["case"] == case and result["peer"] != "kernels"]
        if of_case:
            fastest = min(of_case, key=lambda result: result["peer_us"])
            best.append({"case": case, "best_peer": fastest["peer"], "speedup_best": fastest["speedup"],
                         "speedup_best_median": min(result["speedup_median"] for result in of_case)})
    return best


def print_table(rows):
    print("| case | peer | trireme min (median), us | peer min (median), us | ratio of minima | of medians |")
    print("|---|---|---|---|---|---|")
    for case, peer, own, own_median, other, other_median, ratio, ratio_median in rows:
        print(f"| {case} | {peer} | {own:.1f} ({own_median:.1f}) | {other:.1f} ({other_median:.1f}) "
              f"| {ratio:.2f} | {ratio_median:.2f} |")


def print_best(best):
    print("\n| case | fastest peer | ratio of minima | of medians |")
    print("|---|---|---|---|")
    for of_case in best:
        print("| {case} | {best_peer} | {speedup_best:.2f} | {speedup_best_median:.2f} |".format(**of_case))


def print_overlap(overlap):
    for case, line in overlap.items():
        print(f"\n{case} over messages: {100 * line['hidden']:.0f} % of the {line['communication_us']:.0f} us that gradients "
              f"are under way is hidden; {line['buckets']} buckets of {line['bucket_bytes']} bytes or more "
              f"({line['why']})")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--programs", "--python", "--mpiexec"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python-jax-old", help="the interpreter of the peer jax-old")
    parser.add_argument("--cases", type=str.split, default=[])
    parser.add_argument("--peers", type=str.split, default=[])
    for name, default in (("--pairs", 3), ("--threads", 2), ("--steps", 0), ("--repetitions", 15), ("--busy", 0)):
        parser.add_argument(name, type=int, default=default)
    for name in ("--json", "--compiler", "--flags"):
        parser.add_argument(name, default="")
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    if options.sweep:
        cases = options.cases or sweep_points()
        options.repetitions = min(options.repetitions, 5)
        # A process for each width and depth, so that programs still alternate every few seconds.
        groups = {}
        for case in cases:
            groups.setdefault(case.rsplit("_b", 1)[0], []).append(case)
        groups = list(groups.values())
        options.peers = [peer for peer in options.peers if peer != "keras"]
    else:
        cases, groups = options.cases, [[case] for case in options.cases]

    if any(case.startswith("pjrt_") for case in cases):
        options.peers.append("kernels")
    about = describe_machine() | describe_programs(options)
    runner = Runner(options)
    if options.busy:
        print(f"beside {options.busy} busy process{'es' if options.busy > 1 else ''}", flush=True)
    with busy_processes(options.busy):
        seen = measure(runner, groups, options.peers, options.pairs)
    results, rows = compare(seen, cases, options.peers, options.busy)
    print_table(rows)
    best = best_peers(results)
    print_best(best)
    print_overlap(runner.overlap)
    if options.sweep:
        slower = [row for row in rows if row[6] < 1]
        print(f"\n{len(slower)} of {len(rows)} comparisons are lost" + (":" if slower else ""))
        for case, peer, *_, ratio, _ in sorted(slower, key=lambda row: row[6]):
            print(f"  {case} against {peer}: {ratio:.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps(
            {"about": about, "results": results, "best": best, "overlap": list(runner.overlap.values())}, indent=1) + "\n")
    missing = [case for case in cases if ("trireme", case) not in seen]
    if missing:
        raise SystemExit(f"compare.py: trireme gave no result for {' '.join(missing)}")


if __name__ == "__main__":
    main()
