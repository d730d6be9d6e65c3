"""A large class: does a run that is killed again and again end as an undisturbed one, and do memory and cost stay flat?

Takes many minutes, so it only runs by name: python -m bench scale, or python -m bench.scale killed 1000 and
python -m bench.scale many 10000 for one of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.disturb import everything
from bench.measure import GRADER, ROOT, copies, cpu_seconds, machine, right_answer, say
from grader.places.processes import descendants

KILLS = 10


def main(names: list[str] | None = None) -> None:
    """Both parts, or the one named, with its number of submissions."""
    what = names or []
    if not what or what[0] == "killed":
        killed(int(what[1]) if len(what) > 1 else 1000)
    if not what or what[0] == "many":
        many(int(what[1]) if len(what) > 1 else 10_000)


def killed(count: int) -> None:
    """Kill the command, or one of its processes, at ten random moments of the run; then compare."""
    print(f"\nA run of {count} submissions killed at {KILLS} random moments ({machine()})")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        a_class(place / "work", count)
        started = time.monotonic()
        finish(place / "work", place / "quiet")
        quiet = time.monotonic() - started
        say("undisturbed: wall seconds", f"{quiet:.0f}")
        dice = random.Random(count)
        starts = kills = 0
        started = time.monotonic()
        while kills < KILLS:
            starts += 1
            with run(place / "work", place / "killed") as command:
                while command.poll() is None and kills < KILLS:
                    before = finished(place / "killed")
                    wanted = before + dice.randint(1, max(1, count // KILLS))
                    while command.poll() is None and finished(place / "killed") < min(wanted, count - 1):
                        time.sleep(0.02)
                    if command.poll() is None:
                        kills += 1
                        there = [command.pid, *descendants(command.pid)]
                        victim = command.pid if dice.random() < 0.4 else dice.choice(there)
                        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                            os.kill(victim, signal.SIGKILL if dice.random() < 0.8 else signal.SIGINT)
                        time.sleep(0.5)
            if finished(place / "killed") >= count:
                break
        finish(place / "work", place / "killed")
        say("killed: kills, starts, wall seconds", f"{kills}, {starts + 1}, {time.monotonic() - started:.0f}")
        same = everything(place / "quiet") == everything(place / "killed")
        say("complete and equal but for times", "yes" if same else "NO", "goal: yes")
        if not same:
            sys.exit(1)


def many(count: int) -> None:
    """Watch memory and CPU of all processes of one long run."""
    print(f"\n{count} submissions in one run ({machine()})")
    print(f"{'finished':>10} {'CPU ms each':>12} {'wall ms each':>13} {'main MB':>9} {'largest other MB':>17}")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        a_class(place / "work", count)
        step = max(1, count // 10)
        rows: list[tuple[float, float]] = []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with run(place / "work", place / "out") as command:
            at, cpu, wall = 0, 0.0, time.monotonic()
            while command.poll() is None:
                time.sleep(0.05)
                done = finished(place / "out")
                if done < at + step or done > count - step // 2:  # near the end the markers are leaving
                    continue
                family = [command.pid, *descendants(command.pid)]
                spent, now = sum(cpu_seconds(pid) for pid in family), time.monotonic()
                others = max((resident_mb(pid) for pid in family[1:]), default=0.0)
                each = (spent - cpu) / (done - at) * 1e3
                rows.append((each, resident_mb(command.pid)))
                lasted = (now - wall) / (done - at) * 1e3
                print(f"{done:>10} {each:>12.1f} {lasted:>13.1f} {rows[-1][1]:>9.0f} {others:>17.0f}", flush=True)
                at, cpu, wall = done, spent, now
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        say("the whole run, start and class page included: CPU ms each", f"{whole / count * 1e3:.1f}")
        say("cost of the ninth tenth over the second", f"{rows[-1][0] / rows[1][0]:.2f}", "goal: about 1")
        say("memory of main, ninth tenth over the second", f"{rows[-1][1] / rows[1][1]:.2f}", "goal: about 1")


def a_class(folder: Path, count: int) -> None:
    """Nine right answers for each wrong one, so that diagnosis has work too."""
    right = right_answer()
    copies(folder, right, count)
    wrong = right.replace("dim=-1", "dim=-2")
    assert wrong != right
    for number in range(0, count, 10):
        (folder / f"student{number:05d}" / "attention.py").write_text(f"{wrong}\n# {number}\n", encoding="utf-8")


def run(work: Path, out: Path) -> subprocess.Popen[bytes]:
    """The command, started."""
    words = [*GRADER, "grade", "attention", str(work), "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(work: Path, out: Path) -> None:
    """The command, to its end; again when one of its own faults is reported."""
    for _ in range(3):
        with run(work, out) as command:
            if command.wait() == 0:
                return
    sys.exit(f"{' '.join(map(str, command.args))} does not end well.")  # type: ignore[arg-type]


def finished(out: Path) -> int:
    """How many results are there."""
    folder = out / "results"
    return sum(not path.name.startswith(".") for path in folder.iterdir()) if folder.is_dir() else 0


def resident_mb(pid: int) -> float:
    """Memory that the process has, what it shares with others included (about 220 MB of torch)."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


if __name__ == "__main__":
    main(sys.argv[1:])
