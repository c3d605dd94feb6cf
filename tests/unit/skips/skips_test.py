"""What the tests' own main and skipping.py make of skips: the exit code, and the file that scripts/test.sh adds up."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SUPPORT = Path(__file__).resolve().parents[2] / "support"
PROGRAM = Path(os.environ["HEARTH_BIN_DIR"]) / "hearth-skipping-cases"

SCRIPT = f"""
import sys, unittest
sys.path.insert(0, {str(SUPPORT)!r})
import skipping
class Cases(unittest.TestCase):
    def test_checks(self): self.assertEqual(1 + 1, 2)
    def test_fails(self): self.assertEqual(1 + 1, 3)
    def test_skips(self): self.skipTest("there is no such thing")
    def test_skips_a_part(self):
        with self.subTest("part"): self.skipTest("there is no such part")
        self.assertEqual(1 + 1, 2)
skipping.main()
"""


def run(command):
    """Exit code and rows of the file of skips."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "skipped"
        file.write_text("whole\tof an earlier run\tstale\n")
        done = subprocess.run(command, env={**os.environ, "HEARTH_TEST_REPORT": str(file)}, capture_output=True,
                              text=True)
        rows = [tuple(line.split("\t")) for line in file.read_text().splitlines()] if file.exists() else []
        return done.returncode, rows


class SkipsTest(unittest.TestCase):
    def cases(self, *names):
        return run([PROGRAM, ",".join(f'"{name}"' for name in names)])

    def script(self, *names):
        return run([sys.executable, "-c", SCRIPT, *(f"Cases.{name}" for name in names)])

    def test_a_program_whose_cases_check_skips_nothing(self):
        self.assertEqual(self.cases("checks"), (0, []))
        self.assertEqual(self.script("test_checks"), (0, []))

    def test_a_case_that_checks_nothing_fails(self):
        self.assertNotIn(self.cases("checks nothing")[0], (0, 77))
        code, rows = self.cases("skips a part and checks nothing")
        self.assertNotIn(code, (0, 77))
        self.assertEqual(rows, [("part", "skips a part and checks nothing", "there is no such part")])

    def test_a_program_of_which_nothing_ran_is_skipped(self):
        self.assertEqual(self.cases("skips"), (77, [("whole", "skips", "there is no such thing")]))
        code, rows = self.script("test_skips")
        self.assertEqual((code, rows[0][0], rows[0][2]), (77, "whole", "there is no such thing"))

    def test_a_skipped_case_among_others_is_counted_and_the_program_passes(self):
        self.assertEqual(self.cases("checks", "skips"), (0, [("whole", "skips", "there is no such thing")]))
        code, rows = self.script("test_checks", "test_skips")
        self.assertEqual((code, len(rows)), (0, 1))

    def test_a_case_that_skips_its_rest_or_a_part_is_counted_once_as_a_part(self):
        self.assertEqual(self.cases("skips the rest"), (0, [("part", "skips the rest", "there is no more")]))
        self.assertEqual(self.cases("skips a part"), (0, [("part", "skips a part", "there is no such part")]))
        code, rows = self.script("test_skips_a_part")
        self.assertEqual((code, rows[0][0], rows[0][2]), (0, "part", "there is no such part"))

    def test_a_fresh_seed_is_reported_and_repeats_with_the_variable(self):
        code, rows = self.cases("draws a seed")
        self.assertEqual((code, rows[0][:2]), (0, ("seed", "draws a seed")))
        self.assertNotEqual(rows, self.cases("draws a seed")[1])
        os.environ["HEARTH_FUZZ_SEED"] = "7"
        try:
            self.assertEqual(self.cases("draws a seed"), (0, [("seed", "draws a seed", "HEARTH_FUZZ_SEED=7")]))
        finally:
            del os.environ["HEARTH_FUZZ_SEED"]

    def test_a_failure_stays_a_failure(self):
        for names in (["fails"], ["fails", "skips"], ["skips and fails"]):
            self.assertNotIn(self.cases(*names)[0], (0, 77))
        self.assertEqual(self.script("test_fails", "test_skips")[0], 1)

    def test_the_summary_counts_by_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "b_test").write_text("whole\tone\tnot root\npart\ttwo\tno models\n")
            (Path(folder) / "a_test").write_text("whole\tthree\tnot root\nseed\tfour\tHEARTH_FUZZ_SEED=7\n")
            done = subprocess.run([sys.executable, SUPPORT / "run_report.py", "release", folder],
                                  capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "release: 3 cases skipped, 1 with fresh seeds\n  no models: 1\n    b_test: two (in part)\n"
                                      "  not root: 2\n    a_test: three\n    b_test: one\n"
                                      "  a_test: four: HEARTH_FUZZ_SEED=7\n")


if __name__ == "__main__":
    sys.path.insert(0, str(SUPPORT))
    import skipping
    skipping.main()
