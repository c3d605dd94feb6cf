"""What --quiet and --verbose mean, deadlines, JSON that programs can rely on."""
import json
import unittest

from place import DIGITS, Place

SMALL = str(DIGITS)


class MannersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.__exit__)

    def test_quiet_leaves_what_was_asked_for(self):
        silent = (["run", SMALL], ["run", SMALL, "--output-dir", "out"], ["export", SMALL, "-o", "x.hearth"],
                  ["prewarm", SMALL], ["cache", "clear"], ["daemon", "start"])
        for words in silent:
            with self.subTest(words=words):
                for place in (["-q", *words], [*words, "--quiet"]):
                    ran = self.place.run(*place)
                    self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))
        self.assertTrue((self.place.folder / "out/probability.npy").is_file())
        for words in (["explain", SMALL], ["stats"], ["cache", "ls"], ["daemon", "status"], ["onnx", "check", SMALL],
                      ["run", SMALL, "--json"], ["prewarm", SMALL, "--json"], ["help"]):
            with self.subTest(words=words):
                self.assertEqual(bool(self.place.run_ok(*words, "-q").stdout), True)
        ran = self.place.run("run", "none.onnx", "-q")
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("hearth: none.onnx: ", ran.stderr)

    def test_verbose_says_which_daemon_and_how_long_on_standard_error(self):
        for words in (["run", SMALL], ["explain", SMALL], ["cache", "ls"], ["prewarm", SMALL]):
            with self.subTest(words=words):
                plain, told = self.place.run_ok(*words, "--json"), self.place.run_ok(*words, "--json", "-v")
                self.assertEqual(plain.stderr, "")
                json.loads(told.stdout)
                self.assertRegex(told.stderr, r"hearth: daemon \S+, pid \d+, socket " + str(self.place.folder / "s"))
                self.assertIn(f"cache {self.place.folder / 'cache'}", told.stderr)
                self.assertRegex(told.stderr, r"hearth: the command took [\d.]+ m?s\n")
        ran = self.place.run("-q", "stats", "-v")
        self.assertEqual((ran.returncode, ran.stderr), (2, "hearth: --quiet and --verbose exclude each other\n"))

    def test_verbose_tells_the_time_of_reading_a_model(self):
        self.assertRegex(self.place.run_ok("run", SMALL, "-v").stderr, SMALL + r" was read and traced in [\d.]+ [mu]s\n")

    def test_after_a_command_that_gave_up_on_the_start_of_a_daemon_the_next_one_uses_that_daemon(self):
        for seconds in ("0.002", "0.01", "0.02", "0.04"):
            with self.subTest(seconds=seconds), Place() as place:
                place.run("run", SMALL, "--timeout", seconds)
                ran = place.run("run", SMALL, "-q")
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_a_deadline_says_that_kernels_are_kept_and_how_to_have_more_time(self):
        words = ["run", SMALL, "--threads", "3", "--json"]  # a plan of its own: it is compiled here
        self.place.run_ok("daemon", "start")
        late = 0
        for attempt in range(14):  # each has twice the time of the one before: the last more than any machine needs
            ran = self.place.run(*words, "--timeout", str(0.02 * 2**attempt))
            if ran.returncode == 0:
                break
            late += 1
            self.assertEqual(ran.returncode, 1)
            self.assertEqual(json.loads(ran.stdout)["error"]["code"], "DEADLINE_EXCEEDED")
            self.assertIn("kernels that were compiled are kept", ran.stderr)
            self.assertIn("(--timeout SECONDS)", ran.stderr)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(late, 0)
        stats = json.loads(ran.stdout)
        self.assertLess(stats["compiled_kernels"], stats["kernels"])  # the others were kept


if __name__ == "__main__":
    unittest.main()
