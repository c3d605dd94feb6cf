"""Which tests a slower build has time for: fitting_tests.py SECONDS JOBS LOG SLOWER reads names of tests from standard
input and prints those that are expected to end within so many seconds of so many jobs, the shortest first.

LOG is what ctest printed of the same tests in the build that has run, SLOWER of some of them in the slower one, which says
how much slower that is (where there is no such file: three times)."""
import re
import sys
from pathlib import Path

GUESS = 3.0  # a sanitizer's build against a release's
UNKNOWN = 20.0  # s, of a test that the log does not name
DONE = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) \.*.*? +([\d.]+) sec", re.M)


def times(text):
    return {name: float(seconds) for name, seconds in DONE.findall(text)}


def slowness(fast, slow):
    common = [name for name in slow if name in fast]
    spent = sum(fast[name] for name in common)
    return sum(slow[name] for name in common) / spent if spent > 1 else GUESS


def fitting(names, seconds, jobs, fast, slow):
    left, chosen = seconds * jobs, []
    factor = slowness(fast, slow)
    for cost, name in sorted((fast.get(name, UNKNOWN) * factor, name) for name in names):
        left -= cost
        if left < 0:
            break
        chosen.append(name)
    return chosen


def main(seconds, jobs, *logs):
    fast, slow = (times(Path(log).read_text()) if Path(log).exists() else {} for log in logs)
    for name in fitting(sys.stdin.read().split(), float(seconds), int(jobs), fast, slow):
        print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
