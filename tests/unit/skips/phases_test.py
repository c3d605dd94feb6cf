"""Every test of this build says in which builds scripts/test.sh runs it."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import skipping  # noqa: E402


class PhasesTest(unittest.TestCase):
    def test_every_test_runs_in_a_phase(self):
        build = Path(os.environ["HEARTH_BIN_DIR"]).parent
        shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
        tests = json.loads(shown.stdout)["tests"]
        self.assertGreater(len(tests), 50)
        without = [test["name"] for test in tests
                   if not {"release", "asan", "long"} & {label for entry in test["properties"] if entry["name"] == "LABELS"
                                                 for label in entry["value"]}]
        self.assertEqual(without, [], "no hearth_test_properties")


skipping.main()
