"""The commands of the hearth-compiler-daemon wheel."""

import os
import sys


def _run(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if not os.path.exists(program):
        sys.exit(f"{name} is not installed here: pip install hearth-compiler-daemon")
    os.execv(program, [name, *sys.argv[1:]])


def main():
    _run("hearth")


def daemon():
    _run("hearthd")
