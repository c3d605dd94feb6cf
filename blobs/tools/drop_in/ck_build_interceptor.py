#!/usr/bin/env python3
"""Stands in for hipcc while a library is built: `hearth-hipcc`, which records blobs instead of compiling them.

What is recorded where is said by .hearth/intercept.json of the folder above the one that this program is called from (a
ROCm home made of links), else by HEARTH_INTERCEPT; `hearth blobs build` and `hearth blobs intercept` write it.
"""
import os
import sys
from pathlib import Path

from ck_hearth import become


def main():
    called = Path(os.path.abspath(sys.argv[0]))  # as a link is called, not what it leads to
    config = called.parent.parent / ".hearth" / "intercept.json"
    if config.is_file():
        os.environ["HEARTH_INTERCEPT"] = str(config)
    name = "hipcc" if called.name == "ck_build_interceptor.py" else called.name
    become("hearth-hipcc", *sys.argv[1:], called=name)


if __name__ == "__main__":
    main()
