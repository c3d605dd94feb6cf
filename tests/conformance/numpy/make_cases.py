#!/usr/bin/env python3
"""Writes FOLDER/<family>/<case>/{in0,in1,…,out0,out1,…}.npy: inputs, and what numpy computes for them.

Run with Debian's python3-numpy: /usr/bin/python3 tests/conformance/numpy/make_cases.py FOLDER
A family is a module beside this file, cases_<family>.py, whose cases() yields (name, inputs, outputs). What a case
records in the Tensor API stands under the same name in <family>_test.cpp.
"""
import importlib
import pathlib
import shutil
import sys

import numpy as np


def main(folder):
    here = pathlib.Path(__file__).parent
    sys.path.insert(0, str(here))
    sys.dont_write_bytecode = True
    for path in sorted(here.glob("cases_*.py")):
        family = path.stem.removeprefix("cases_")
        shutil.rmtree(folder / family, ignore_errors=True)
        seen = set()
        for name, inputs, outputs in importlib.import_module(path.stem).cases():
            assert name not in seen, f"{family}: case {name} is given twice"
            seen.add(name)
            place = folder / family / name
            place.mkdir(parents=True)
            for prefix, arrays in (("in", inputs), ("out", outputs)):
                for i, array in enumerate(arrays):
                    np.save(place / f"{prefix}{i}.npy", np.array(array, order="C"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
