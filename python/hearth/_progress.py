"""What people at a terminal see while something is compiled."""

import sys
import time


class Bar:
    """One line on stderr, after half a second; gone at the end. Nothing where stderr is no terminal."""

    delay = 0.5

    def __init__(self, name):
        self.name, self.start, self.shown = name, time.monotonic(), 0

    @classmethod
    def wanted(cls):
        try:
            return sys.stderr.isatty()
        except (AttributeError, ValueError):  # none, or closed
            return False

    def __call__(self, state, done, total):
        if time.monotonic() - self.start < self.delay:
            return
        text = f"hearth: {state} {self.name}"
        if total:
            filled = 20 * done // total
            amount = f"{done >> 20}/{total >> 20} MiB" if state == "packing" else f"{done}/{total} kernels"
            text += f" [{'#' * filled}{'.' * (20 - filled)}] {amount}"
        text = "".join(one if one.isprintable() else "?" for one in text)[:79]
        sys.stderr.write("\r" + text.ljust(self.shown))
        sys.stderr.flush()
        self.shown = max(self.shown, len(text))

    def end(self):
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


class Slow:
    """Where no terminal shows a line: says once, in Python's logging, what takes longer than two seconds, and how to have it
    done before."""

    def __init__(self, name):
        self.name, self.start, self.is_said = name, time.monotonic(), False

    def __call__(self, state, done, total):
        if self.is_said or state != "compiling" or time.monotonic() - self.start < 2:
            return
        self.is_said = True
        import logging

        printable = "".join(one if one.isprintable() else "?" for one in self.name)
        logging.getLogger("hearth").warning(
            "%s is compiled for this machine: %d of %d kernels so far. They are kept in the cache; `hearth prewarm`, or"
            " hearth.prewarm, does it before a rollout", printable, done, total
        )  # fmt: skip

    def end(self):
        pass
