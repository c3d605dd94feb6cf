#!/usr/bin/python3
"""Writes the nets of the suite as ONNX models: make_nets.py FOLDER [NAME...]; with --large also those of 650 MB.
Nets that differ in their length alone are written when they are named.

Seeded: the same models on every machine. Needs numpy and onnx (python3-numpy, python3-onnx).
"""
import argparse
from pathlib import Path

import selection
import sequence
import sequence_more
import vision
import vision_more

USUAL = (*vision.NETS, *vision_more.NETS, *sequence.NETS, *sequence_more.NETS, *selection.NETS)
ALL = {make.__name__: make for make in (*USUAL, *sequence.LARGE, *sequence.LENGTHS)}
NAMES = [make.__name__ for make in USUAL]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", choices=[[], *ALL], metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    Path(given.folder).mkdir(parents=True, exist_ok=True)
    for name in given.names or (NAMES + [make.__name__ for make in sequence.LARGE] if given.large else NAMES):
        print(ALL[name]().save(given.folder), flush=True)


if __name__ == "__main__":
    main()
