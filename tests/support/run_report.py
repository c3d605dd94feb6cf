"""What a run of tests has to say beside its outcome: run_report.py NAME FOLDER prints what tests left in FOLDER (the
files that HEARTH_TEST_REPORT names; skip.h, fresh_seed.h, skipping.py): skipped cases by reason, and the seeds that were drawn."""
import sys
from collections import defaultdict
from pathlib import Path


def main(name, folder):
    skipped, seeds = defaultdict(list), []
    for file in sorted(Path(folder).glob("*")):
        for line in file.read_text().splitlines():
            kind, case, text = line.split("\t")
            if kind == "seed":
                seeds.append(f"{file.name}: {case}: {text}")
            else:
                skipped[text].append(f"{file.name}: {case}" + (" (in part)" if kind == "part" else ""))
    print(f"{name}: {sum(map(len, skipped.values()))} cases skipped, {len(seeds)} with fresh seeds")
    for reason, cases in sorted(skipped.items()):
        print(f"  {reason}: {len(cases)}")
        for case in cases:
            print(f"    {case}")
    for seed in seeds:
        print(f"  {seed}")


main(*sys.argv[1:])
