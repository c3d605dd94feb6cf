"""Which tests of a slower build are expected to fit into the time that is left."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import fitting_tests  # noqa: E402
import skipping  # noqa: E402

LOG = """
Test project build/release
      Start  1: quick_test
 1/4 Test  #1: quick_test .......................   Passed    1.00 sec
      Start  2: long_test
 2/4 Test  #2: long_test ........................   Passed  100.00 sec
 3/4 Test #13: broken_test ......................***Failed   10.00 sec
 4/4 Test  #4: absent_test ......................***Skipped   0.10 sec
"""


class FittingTests(unittest.TestCase):
    fast = fitting_tests.times(LOG)

    def fitting(self, seconds, jobs=1, slow={}):
        return fitting_tests.fitting(["long_test", "broken_test", "quick_test"], seconds, jobs, self.fast, slow)

    def test_the_times_of_all_tests_are_read(self):
        self.assertEqual(self.fast, {"quick_test": 1, "long_test": 100, "broken_test": 10, "absent_test": 0.1})

    def test_the_shortest_come_first_until_the_time_is_used(self):
        self.assertEqual(self.fitting(400), ["quick_test", "broken_test", "long_test"])
        self.assertEqual(self.fitting(100), ["quick_test", "broken_test"])
        self.assertEqual(self.fitting(5), ["quick_test"])
        self.assertEqual(self.fitting(-5), [])

    def test_jobs_share_the_work(self):
        self.assertEqual(len(self.fitting(200)), 2)
        self.assertEqual(len(self.fitting(200, jobs=2)), 3)

    def test_what_has_run_says_how_much_slower_it_is(self):
        self.assertEqual(self.fitting(100, slow={"quick_test": 0.5, "broken_test": 5.0}), ["quick_test", "broken_test", "long_test"])
        self.assertEqual(self.fitting(100, slow={"broken_test": 95.0}), ["quick_test"])

    def test_a_test_without_a_time_is_taken_for_a_long_one(self):
        self.assertEqual(fitting_tests.fitting(["new_test", "quick_test"], 10, 1, self.fast, {}), ["quick_test"])


skipping.main()
