"""unittest.main() whose skips are counted, as those of Catch2 programs are (skip.h): they are written to the file that
HEARTH_TEST_REPORT names, and a script of which nothing could run ends with exit code 77, ctest's "Skipped".

    import skipping
    if __name__ == "__main__":
        skipping.main()
"""
import os
import sys
import unittest

SKIPPED_EXIT_CODE = 77


def skip_all(reason):
    """Ends a script that cannot run here at all."""
    _write([("whole", os.path.basename(sys.argv[0]), reason)])
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED_EXIT_CODE)


def skip_part(test, reason):
    """Counts what a script leaves out that runs otherwise; at most once a script."""
    _write([("part", test, reason)])
    print(f"SKIPPED: {test}: {reason}")


def main():
    result = unittest.main(exit=False, verbosity=2).result
    skipped = [("part" if hasattr(test, "test_case") else "whole", str(test), reason)  # a subtest names its test case
               for test, reason in result.skipped]
    _write(skipped)
    for _, test, reason in skipped:
        print(f"SKIPPED: {test}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun == 0 and not skipped:
        sys.exit("no test ran")
    whole = [row for row in skipped if row[0] == "whole"]
    sys.exit(SKIPPED_EXIT_CODE if whole and len(whole) >= result.testsRun else 0)


def _write(skipped):
    path = os.environ.get("HEARTH_TEST_REPORT")
    if not path:
        return
    if os.path.exists(path):
        os.remove(path)
    if skipped:
        with open(path, "w") as file:
            file.writelines("\t".join(row) + "\n" for row in skipped)


if __name__ == "__main__":  # skipping.py NAME REASON: a test that a build does not have
    sys.argv, reason = sys.argv[1:2], sys.argv[2]
    skip_all(reason)
