"""Copies sources with bugs that a test can switch on: plant_bugs.py SOURCE_DIR BUGS_FILE OUTPUT_DIR.

BUGS_FILE says FOLDER, FILES and BUGS: (file, name, text, text with the bug), where BUG stands for "this one is switched
on" (planted_bug.h). The text must occur exactly once, so a change that moves it fails the build instead of planting
nothing."""
import runpy
import sys
from pathlib import Path


def main():
    bugs, output = runpy.run_path(sys.argv[2]), Path(sys.argv[3])
    texts = {name: (Path(sys.argv[1]) / bugs["FOLDER"] / name).read_text() for name in bugs["FILES"]}
    for number, (file, name, old, new) in enumerate(bugs["BUGS"], start=1):
        if texts[file].count(old) != 1:
            sys.exit(f"plant_bugs.py: '{name}': {file} has {texts[file].count(old)} times: {old}")
        texts[file] = texts[file].replace(old, new.replace("BUG", f"(hearth::test::planted_bug == {number})"))
    for file, text in texts.items():
        (output / file).write_text('#include "tests/support/planted_bug.h"\n' + text)
    names = "\n".join(f'    "{name}",' for _, name, _, _ in bugs["BUGS"])
    (output / "planted_bug_names.inc").write_text(names + "\n")


main()
