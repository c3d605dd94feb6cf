"""Progress on real terminals of two widths, and none anywhere else; tables that fit a terminal and are complete in pipes."""
import os
import pty
import re
import select
import struct
import subprocess
import time
import unicodedata
import unittest

import fcntl
import termios

from place import DIGITS, Place


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Screen:
    """What a terminal shows: lines that were ended, the present one, and how wide any of them ever was."""

    def __init__(self):
        self.lines, self.line, self.column, self.widest, self.escapes = [], "", 0, 0, False

    def show(self, text):
        for c in text:
            if c == "\r":
                self.column = 0
            elif c == "\n":
                self.lines.append(self.line.rstrip())
                self.line, self.column = "", 0
            else:
                self.escapes |= ord(c) < 32
                self.line = self.line[: self.column] + c + self.line[self.column + 1:]
                self.column += 1
                self.widest = max(self.widest, width(self.line[: self.column]))


def run_on_terminal(place, words, columns, stdout_too=True, **environment):
    """Runs a command with stderr, and stdout unless told otherwise, on a terminal; the screen, the text and the exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(place.words(*words), env=place.environment | {"TERM": "xterm"} | environment,
                               cwd=place.folder, stdin=subprocess.DEVNULL, stderr=slave,
                               stdout=slave if stdout_too else subprocess.DEVNULL)
    os.close(slave)
    data, deadline = b"", time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            ready, _, _ = select.select([master], [], [], 1)
            if ready:
                data += os.read(master, 65536)
            elif process.poll() is not None:
                break
        except OSError:  # every writer is gone
            break
    os.close(master)
    code = process.wait(timeout=300)
    text = data.decode()
    screen = Screen()
    screen.show(text)
    return screen, text, code


class ProgressTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.__exit__)
        cls.long = cls.place.folder / ("a-long-name-for-a-file-" * 3 + "выход.onnx")
        cls.long.symlink_to(DIGITS)

    def test_tune_shows_one_line_that_fits_and_is_gone_at_the_end(self):
        for columns in (80, 40):
            with self.subTest(columns=columns):
                screen, text, code = run_on_terminal(
                    self.place, ["tune", self.long, "--budget", "2", "--again"], columns, stdout_too=False)
                self.assertEqual(code, 0, text)
                self.assertEqual(screen.lines, [])
                self.assertEqual(screen.line.strip(), "")
                self.assertLess(screen.widest, columns)
                self.assertFalse(screen.escapes)
                self.assertIn("ход.onnx: kernel 1 of ", text)
                self.assertRegex(text, r"\d s of 2 s")

    def test_preparing_shows_progress_and_then_only_the_result(self):
        self.place.run("cache", "clear")
        screen, text, code = run_on_terminal(self.place, ["run", self.long], 80)
        self.assertEqual(code, 0, text)
        self.assertEqual(screen.line.strip(), "")
        self.assertFalse(screen.escapes)
        self.assertIn("random values", screen.lines[0])
        self.assertRegex(screen.lines[1], r"выход\.onnx on cpu, \d+ threads?$")
        self.assertEqual([line for line in screen.lines if "kernel " in line and " of " in line], [])

    def test_no_progress_without_a_terminal_or_when_it_is_not_wanted(self):
        line = ["tune", self.long, "--budget", "1", "--again"]
        piped = self.place.run(*line)
        self.assertEqual((piped.returncode, piped.stderr), (0, ""))
        for words, environment in ((line, {"TERM": "dumb"}), ([*line, "-q"], {}), ([*line, "--json"], {})):
            with self.subTest(words=words[1:], **environment):
                _, text, code = run_on_terminal(self.place, words, 80, stdout_too=False, **environment)
                self.assertEqual((text, code), ("", 0))
        _, text, _ = run_on_terminal(self.place, line, 80, stdout_too=False, NO_COLOR="1")
        self.assertNotIn("\x1b", text)

    def test_tables_fit_a_terminal_and_are_complete_in_a_pipe(self):
        self.place.run_ok("prewarm", DIGITS)
        for words, columns in ((["explain", DIGITS], 80), (["cache", "ls"], 80), (["cache", "ls"], 50), (["stats"], 80),
                               (["stats"], 50), (["daemon", "status"], 80)):
            with self.subTest(words=words, columns=columns):
                self.assertNotIn("…", self.place.run_ok(*words).stdout)
                screen, _, code = run_on_terminal(self.place, words, columns)
                self.assertEqual(code, 0)
                for line in screen.lines:
                    # A key or path of the first line, which is copied, is not cut.
                    if not re.search(r"\b[0-9a-f]{64}\b", line):
                        self.assertLessEqual(width(line), columns, line)
        self.assertGreater(max(len(line) for line in self.place.run_ok("explain", DIGITS).stdout.splitlines()), 100)


if __name__ == "__main__":
    unittest.main()
