#!/usr/bin/env python3
"""Trains under each strategy while processes are killed, system calls fail and disks are full.

    cmake --build build/dev --target campaign
    tests/campaign/campaign.py --programs build/dev/tests/campaign                      # all strategies
    tests/campaign/campaign.py --programs build/dev/tests/campaign --each 40 --seed 7 sharded_3 pipeline
    tests/campaign/campaign.py --programs … --mpiexec /opt/openmpi/bin/mpiexec          # another MPI's build

First an undisturbed run lists the calls by which it writes its files. Then, for points drawn from all of these, a run is
disturbed there and started again undisturbed. A point passes if

- a run whose call failed ended well, or with an error of one line on all ranks;
- the run that was started again found no damaged file, and could load what ModelCheckpoint had left;
- its weights, optimizer, best weights, history and log are those of the undisturbed run, byte by byte.

The draw depends on the seed alone, and the points are numbered calls and steps, so that no clock decides.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ERRORS = ("EIO", "ENOSPC", "EDQUOT", "EACCES", "EROFS")
STEPS = 18  # three epochs of six batches
RESULTS = ("result.npz", "best.npz", "history.txt", "work/log.csv")
KILLED = (-signal.SIGKILL, signal.SIGKILL, 128 + signal.SIGKILL)  # without launcher, by MPICH, by Open MPI
HANGS_AFTER = 240  # seconds


class Failure(Exception):
    pass


class Job:
    """Runs of one strategy in one folder, which may lie on a disk of its own."""

    def __init__(self, arguments, strategy, file_format, folder):
        program = pathlib.Path(arguments.programs, "campaign_" + strategy).resolve()
        ranks = dict(line.split() for line in open(pathlib.Path(arguments.programs, "ranks.txt")))[strategy]
        launcher = [] if ranks == "1" else [*arguments.mpiexec.split(), "-n", ranks]
        emulator = os.environ.get("TRIREME_TEST_EMULATOR", "").split()  # as CTest names it
        self.command = [*launcher, *emulator, str(program), str(folder), file_format]
        self.ranks = int(ranks)
        self.folder = folder

    def clear(self):
        for name in ("work", "ranks"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(parents=True)
        for name in RESULTS:
            (self.folder / name).unlink(missing_ok=True)

    def run(self, **faults):
        """Exit code and output."""
        shutil.rmtree(self.folder / "ranks", ignore_errors=True)
        (self.folder / "ranks").mkdir()
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMP_PROC_BIND="false", OPENBLAS_NUM_THREADS="1",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1",
                           PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                           TMPDIR=str(self.folder),  # status records of killed runs go with it
                           TRIREME_FAULT_FOLDER=str(self.folder / "work"), **faults)
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(self.command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(HANGS_AFTER)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
            self.end_ranks()
            output.seek(0)
            text = output.read()
        if code is None:
            raise Failure(f"hangs\n{text}")
        return code, text

    def end_ranks(self):
        """A launcher may end before the ranks that it killed do."""
        for entry in (self.folder / "ranks").iterdir():
            while is_alive(entry.name):
                try:
                    os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    break
                time.sleep(0.001)

    def results(self):
        return {name: (self.folder / name).read_bytes() for name in RESULTS}


def is_alive(process):
    try:
        return pathlib.Path("/proc", process, "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def trireme_lines(text):
    return [line for line in text.splitlines() if "trireme:" in line]


class Tmpfs:
    """A small disk of its own, for root."""

    def __init__(self, folder):
        self.folder = folder
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)],
                                      capture_output=True).returncode == 0

    def resize(self, kibibytes):
        subprocess.run(["mount", "-o", f"remount,size={kibibytes}k", str(self.folder)], check=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)


class Campaign:
    def __init__(self, job, seed, each):
        self.job, self.each = job, each
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.failures = []
        calls = job.folder / "calls"
        calls.unlink(missing_ok=True)
        job.clear()
        code, text = job.run(TRIREME_FAULT_LOG=str(calls))
        if code != 0:
            raise Failure(f"the undisturbed run ends with {code}\n{text}")
        self.expected = job.results()
        self.calls = calls.read_text().split()

    def draw(self, points):
        points = list(points)
        return sorted(self.random.sample(points, min(self.each, len(points))))

    def draw_calls(self):
        """The names of the calls in turn, since most calls write."""
        by_name = collections.defaultdict(list)
        for call, name in enumerate(self.calls, 1):
            by_name[name].append(call)
        for points in by_name.values():
            self.random.shuffle(points)
        turns = [points.pop() for _ in range(self.each) for points in by_name.values() if points]
        return sorted(turns[:self.each])

    def after_the_save(self, call):
        """The call behind the next three renames, by which a checkpoint gets its name."""
        renames = [later for later in range(call + 1, len(self.calls) + 1) if self.calls[later - 1] == "rename"]
        return renames[2] + 1 if len(renames) > 2 else len(self.calls) + 1

    def go_on(self):
        code, text = self.job.run()
        if code != 0:
            raise Failure(f"the run does not go on: it ends with {code}\n{text}")
        if "damaged" in text:
            raise Failure(f"a file was damaged\n{text}")
        found = self.job.results()
        different = [name for name in RESULTS if found[name] != self.expected[name]]
        if different:
            raise Failure(f"{', '.join(different)} differ from the undisturbed run's\n{text}")
        if "Going on with epoch" in text:
            self.counts["went on from a checkpoint"] += 1

    def disturb(self, kind, name, check, **faults):
        """One run that is disturbed, and one that goes on."""
        try:
            self.job.clear()
            code, text = self.job.run(**faults)
            check(code, text)
            self.go_on()
            self.counts[kind] += 1
        except (Failure, OSError) as failure:
            self.failures.append(f"{kind} {name}: {failure}")
            print(f"FAILED {kind} {name}: {failure}", flush=True)

    def was_killed(self, code, text):
        if code == 0:
            raise Failure(f"nothing was killed\n{text}")

    def may_be_killed(self, code, text):
        if code == 0:
            self.counts["killed nothing"] += 1  # this rank takes no step of its own

    def one_sentence(self, code, text):
        """An error, or none and then the end, or the kill behind the checkpoint that was being written."""
        if code in (0, *KILLED):
            self.counts["borne without an error"] += 1
        elif len(trireme_lines(text)) != 1 or " 0x" in text:
            raise Failure(f"ends with {code} and not with one line\n{text}")

    def kill_calls(self):
        for call in self.draw_calls():
            self.disturb("killed at a call", f"{call} ({self.calls[call - 1]})", self.was_killed,
                         TRIREME_FAULT=f"{call}:kill")

    def kill_steps(self):
        points = [(rank, step) for rank in range(self.job.ranks) for step in range(1, STEPS + 1)]
        for rank, step in self.draw(points):
            self.disturb("killed after a step", f"{step} of rank {rank}", self.may_be_killed,
                         TRIREME_CAMPAIGN_KILL=f"{rank}:{step}")

    def fail_calls(self):
        for call in self.draw_calls():
            error = self.random.choice((*ERRORS, "part"))
            self.disturb("failed call", f"{call} ({self.calls[call - 1]}) by {error}", self.one_sentence,
                         TRIREME_FAULT=f"{call}:{error},{self.after_the_save(call)}:kill")

    def fill_disk(self):
        for call in self.draw_calls():
            self.disturb("full disk", f"from call {call} on", self.one_sentence, TRIREME_FAULT=f"{call}:full")

    def fill_tmpfs(self):
        (self.job.folder / "work").mkdir(exist_ok=True)
        tmpfs = Tmpfs(self.job.folder)
        if not tmpfs.mounted:
            print("no tmpfs can be mounted here")
            return
        try:
            for size in self.draw(range(8, 100, 4)):

                def enlarge(code, text):
                    tmpfs.resize(65536)
                    self.one_sentence(code, text)

                self.job.clear()
                tmpfs.resize(size)
                self.disturb("full tmpfs", f"of {size} KiB", enlarge)
        finally:
            tmpfs.close()

    def run(self, with_tmpfs):
        self.kill_calls()
        self.kill_steps()
        self.fail_calls()
        self.fill_disk()
        if with_tmpfs:
            self.fill_tmpfs()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategies", nargs="*", help="all that are built, if none is named")
    parser.add_argument("--programs", default="build/dev/tests/campaign", help="folder of the training programs")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher of the MPI that they were built with")
    parser.add_argument("--each", type=int, default=10, help="points of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", default="h5,npz", help="of the files; taken in turn")
    parser.add_argument("--tmpfs", action="store_true", help="fill real disks too, as root")
    arguments = parser.parse_args()
    programs = pathlib.Path(arguments.programs)
    strategies = arguments.strategies or [
        name for name in (line.split()[0] for line in open(programs / "ranks.txt"))
        if (programs / ("campaign_" + name)).exists()]
    if not strategies:
        sys.exit("no training program is built: cmake --build … --target campaign")

    failures = []
    for strategy in strategies:
        for file_format in arguments.formats.split(","):
            with tempfile.TemporaryDirectory(prefix="trireme_campaign_") as folder:
                try:
                    campaign = Campaign(Job(arguments, strategy, file_format, pathlib.Path(folder)), arguments.seed,
                                        arguments.each)
                    campaign.run(arguments.tmpfs)
                except Failure as failure:
                    print(f"FAILED {strategy} {file_format}: {failure}", flush=True)
                    failures.append(strategy)
                    continue
            failures += campaign.failures
            counts = ", ".join(f"{count} {kind}" for kind, count in campaign.counts.items())
            print(f"{strategy} {file_format}: {len(campaign.calls)} calls; {counts}; {len(campaign.failures)} failures",
                  flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
