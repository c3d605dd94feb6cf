"""Output that could not be written is failure, for every command and program that prints."""
import json
import os
import signal
import subprocess
import unittest

from place import DIGITS, SOURCE, Place, closed_pipe, ignore_sigpipe, leaf_commands

MODEL = str(DIGITS)
FOLDER = SOURCE / "examples/digits"
# A command line for every command: what it prints is what counts.
LINES = {
    ("run",): ["run", MODEL],
    ("export",): ["export", MODEL, "-o", "digits.hearth"],
    ("prewarm",): ["prewarm", MODEL, "--report", "receipt.json"],
    ("tune",): ["tune", MODEL, "--budget", "0.01"],
    ("onnx", "check"): ["onnx", "check", MODEL],
    ("explain",): ["explain", MODEL],
    ("inspect",): ["inspect", MODEL],
    ("stats",): ["stats"],
    ("devices",): ["devices"],
    ("cache", "ls"): ["cache", "ls"],
    ("cache", "export"): ["cache", "export", "--receipt", "receipt.json", "digits.hearthpack"],
    ("cache", "import"): ["cache", "import", "first.hearthpack"],
    ("cache", "verify"): ["cache", "verify"],
    ("cache", "clear"): ["cache", "clear"],
    ("daemon", "start"): ["daemon", "start"],
    ("daemon", "status"): ["daemon", "status"],
    ("remote", "keygen"): ["remote", "keygen", "--show", "writer.key"],
    ("remote", "status"): ["remote", "status"],
    ("remote", "check"): ["remote", "check"],
    ("blobs", "doctor"): ["blobs", "doctor", "--arch", "gfx000"],
    ("blobs", "prewarm", "clean"): ["blobs", "prewarm", "clean", "--all", "--cache-dir", "blobs"],
    ("help",): ["help", "run"],
    ("completion",): ["completion", "bash"],
}
# These print the same way (client/cli/print.h), but need more than this test has.
LEFT_OUT = {
    ("emit",): "writes into a new folder each time",
    ("cache", "rm"): "has nothing to remove the second time",
    ("daemon", "stop"): "stops the daemon that the others use",
    ("daemon", "restart"): "likewise",
    ("onnx", "conformance"): "takes a folder of test cases",
    ("blobs", "build", "full"): "builds for hours",
    ("blobs", "build", "quick"): "likewise",
    ("blobs", "intercept"): "becomes another program",
    ("blobs", "prewarm", "list"): "takes a library",
    ("blobs", "prewarm", "build"): "takes a library",
}
JSON = {"run", "devices", "export", "prewarm", "tune", "onnx", "explain", "inspect", "stats", "cache", "daemon", "remote", "blobs"}
PROGRAMS = [("hearth", "--help"), ("hearth", "--version"), ("hearthd", "--help"), ("hearthd", "--version"),
            ("hearthd", "--manual"), ("hearth-blobc", "--help"), ("digits", "--help"), ("silero_vad", "--help"),
            ("decoder", "--help"), ("conformer", "--help"),
            ("digits", "--model", MODEL, "--images", str(FOLDER / "digits_images.npy"), "--labels",
             str(FOLDER / "digits_labels.npy"))]


class UnwritableOutputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(HEARTH_REMOTE="unix:/nobody/listens/here")
        cls.addClassCleanup(cls.place.__exit__)
        key = json.loads(cls.place.run_ok("remote", "keygen", "writer.key", "--json").stdout)
        cls.place.environment |= {"HEARTH_REMOTE_WRITER_KEY": str(cls.place.folder / "writer.key"),
                                  "HEARTH_REMOTE_TRUSTED_KEYS": key["public_key"]}
        cls.place.run_ok("run", MODEL, "-q")
        cls.place.run_ok("prewarm", MODEL, "-q", "--report", "receipt.json")
        cls.place.run_ok("cache", "export", "--receipt", "receipt.json", "first.hearthpack")
        cls.commands = leaf_commands(cls.place)

    def lines(self):
        for path, line in LINES.items():
            if path not in self.commands:
                continue
            yield "hearth", line
            if path[0] in JSON:
                yield "hearth", [*line, "--json"]
        for program, *line in PROGRAMS:
            yield program, line

    def each(self):
        for program, line in self.lines():
            good = self.place.run(*line, program=program)
            with self.subTest(program=program, line=line):
                self.assertIn(good.returncode, (0, 1), good.stderr)  # 1: a check that found something
                self.assertNotEqual(good.stdout, "")
                yield good, lambda **more: self.place.run(*line, program=program, **more)

    def test_every_command_is_here(self):
        self.assertEqual(self.commands - set(LINES), set(LEFT_OUT))

    def test_a_full_device(self):
        for _, run in self.each():
            with open("/dev/full", "wb") as full:
                ran = run(stdout=full)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("cannot write to standard output: No space left on device\n", ran.stderr)

    def test_a_closed_standard_output(self):
        for _, run in self.each():
            ran = run(stdout=None, preexec_fn=lambda: os.close(1))
            self.assertEqual(ran.returncode, 1)
            self.assertIn("cannot write to standard output: Bad file descriptor\n", ran.stderr)

    def test_a_reader_that_is_gone_ends_the_program_silently(self):
        for good, run in self.each():
            writer = closed_pipe()
            ran = run(stdout=writer)
            os.close(writer)
            self.assertEqual(ran.returncode, -signal.SIGPIPE)
            self.assertIn(ran.stderr, good.stderr)  # notes, no complaint

    def test_a_reader_that_is_gone_is_an_error_where_the_signal_is_ignored(self):
        for _, run in self.each():
            writer = closed_pipe()
            ran = run(stdout=writer, preexec_fn=ignore_sigpipe, restore_signals=False)
            os.close(writer)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("cannot write to standard output: Broken pipe\n", ran.stderr)

    def test_what_prints_nothing_needs_no_output(self):
        ran = self.place.run("run", MODEL, "-q", stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_no_file_takes_the_place_of_a_closed_output(self):
        # The first file that is opened would become descriptor 1 and get what is printed.
        output = self.place.folder / "kept.hearth"
        self.place.run_ok("export", MODEL, "-o", output)
        size = output.stat().st_size
        ran = self.place.run("export", MODEL, "-o", output, stdout=None, preexec_fn=lambda: os.close(1))
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(output.stat().st_size, size)
        ran = self.place.run("stats", "--json", stdin=None, preexec_fn=lambda: os.closerange(0, 1))
        self.assertEqual(ran.returncode, 0)
        json.loads(ran.stdout)


if __name__ == "__main__":
    unittest.main()
