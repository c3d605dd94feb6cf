#!/usr/bin/env python3
"""No program is taken from the current folder, nor from a folder that argv[0] names: an attacker's hearthd lies there.
/usr/bin/python3 program_place_test.py LIBRARY, with HEARTH_BIN_DIR."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import skipping  # noqa: E402

BIN = pathlib.Path(os.environ["HEARTH_BIN_DIR"])
LIBRARY = pathlib.Path(sys.argv[1])
OTHER = 61001  # another user
SYSTEM = "/usr/bin:/bin"


def plant(path, owner=None):
    """A program that leaves a mark where it was started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{path}.ran'\nexit 1\n")
    path.chmod(0o755)
    if owner is not None and os.geteuid() == 0:
        os.chown(path, owner, owner)
    return path


class Looks(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hearth-place-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.own = self.folder / "own" / "bin"  # of the release
        self.own.mkdir(parents=True)
        self.tool = pathlib.Path(shutil.copy(BIN / "hearth-find-program", self.own))
        self.theirs = self.folder / "theirs" / "a" / "b"  # of the attacker; victims work in it
        for place in (".", "../bin", "../../bin", "../libexec/hearth", "../../libexec/hearth"):
            plant((self.theirs / place / "hearthd").resolve(), OTHER)

    def start(self, *words, path=SYSTEM, **more):
        process = subprocess.Popen(words, cwd=self.theirs, env={"PATH": path}, stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, **more)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def finds(self, *words, path=SYSTEM, **more):
        process = self.start(*words, path=path, **more)
        return process.communicate("\n")[0].strip()


class ProgramTest(Looks):
    def test_a_program_from_path_takes_none_of_the_current_folder(self):
        self.assertEqual(self.finds("hearth-find-program", "hearthd", path=f"{self.own}:{SYSTEM}",
                                    executable=str(self.tool)), "")

    def test_a_program_whose_first_argument_is_in_another_folder(self):
        for name in (self.theirs / "hearth", "./hearth", "../b/hearth", "", "hearth"):
            with self.subTest(name):
                self.assertEqual(self.finds(str(name), "hearthd", executable=str(self.tool)), "")

    def test_relative_and_empty_folders_of_path(self):
        for path in (".", ":", f"{SYSTEM}:", "../b", ""):
            with self.subTest(path):
                self.assertEqual(self.finds(str(self.tool), "hearthd", path=path), "")

    def test_what_lies_beside_it_is_found_by_path_by_a_link_and_as_another_name(self):
        right = plant(self.own / "hearthd")
        link = self.folder / "links" / "hearth"
        link.parent.mkdir()
        link.symlink_to(self.tool)
        for words in ((str(self.tool),), (str(link),), ("hearth",)):
            with self.subTest(words):
                executable = words[0] if words[0].startswith("/") else str(self.tool)
                self.assertEqual(self.finds(*words, "hearthd", executable=executable), str(right))
        right.unlink()
        apart = plant(self.own.parent / "libexec" / "hearth" / "hearthd")
        self.assertEqual(self.finds(str(self.tool), "hearthd"), str(apart))

    def test_a_program_that_is_replaced_while_it_runs_finds_its_neighbours(self):
        right = plant(self.own / "hearthd")
        process = self.start(str(self.tool), "hearthd")
        self.tool.unlink()
        shutil.copy(BIN / "hearth-find-program", self.own)
        self.assertEqual(process.communicate("\n")[0].strip(), str(right))

    @unittest.skipIf(os.geteuid() != 0, "takes root: files of two users")
    def test_a_folder_that_became_another_users_while_the_program_ran(self):
        process = self.start(str(self.tool), "hearthd")
        shutil.rmtree(self.own)
        plant(self.own / "hearthd", OTHER)
        self.assertEqual(process.communicate("\n")[0].strip(), "")

    def test_a_neighbour_that_everybody_may_write(self):
        plant(self.own / "hearthd").chmod(0o777)
        self.assertEqual(self.finds(str(self.tool), "hearthd"), "")

    @unittest.skipIf(os.geteuid() != 0, "takes root: files of two users")
    def test_root_who_runs_another_users_program_finds_that_users_neighbours(self):
        os.chown(self.tool, OTHER, OTHER)
        right = plant(self.own / "hearthd", OTHER)
        self.assertEqual(self.finds(str(self.tool), "hearthd"), str(right))


class LibraryTest(Looks):
    def test_a_library_by_a_relative_name_looks_where_it_lies_not_where_the_process_went(self):
        lib = self.folder / "own" / "lib"
        lib.mkdir()
        shutil.copy(LIBRARY, lib / "find.so")
        right = plant(self.own / "hearthd")
        program = self.folder / "elsewhere" / "program"
        program.parent.mkdir()
        shutil.copy(BIN / "hearth-find-program", program)
        for name in (lib / "find.so", pathlib.Path(os.path.relpath(lib / "find.so", self.theirs))):
            with self.subTest(name):
                self.assertEqual(self.finds(str(program), "hearthd", str(name)), str(right))
        right.unlink()
        self.assertEqual(self.finds(str(program), "hearthd", os.path.relpath(lib / "find.so", self.theirs)), "")


class VariableTest(Looks):
    """hearth itself, away from its daemon."""

    def test_the_command_line_starts_no_daemon_of_the_current_folder(self):
        alone = pathlib.Path(shutil.copy(BIN / "hearth", self.own))
        plant(self.theirs / "hearth-vulkan-trial")
        environment = {"PATH": f"{self.own}:{SYSTEM}", "HEARTH_SOCKET": str(self.folder / "h.sock"), "HOME": str(self.folder)}
        for more in ({}, {"HEARTH_DAEMON": "hearthd"}, {"HEARTH_DAEMON": "./hearthd"}, {"HEARTH_VULKAN_TRIAL": "./hearth-vulkan-trial"}):
            with self.subTest(more):
                done = subprocess.run(["hearth", "devices"], cwd=self.theirs, env=environment | more, executable=alone,
                                      capture_output=True, text=True)
                ran = subprocess.run(["hearth", "daemon", "start"], cwd=self.theirs, env=environment | more,
                                     executable=alone, capture_output=True, text=True)
                self.assertNotEqual(ran.returncode, 0, ran.stdout)
                self.assertEqual(list(self.folder.rglob("*.ran")), [], done.stderr + ran.stderr)
                if "HEARTH_DAEMON" in more:
                    self.assertIn(f"HEARTH_DAEMON names '{more['HEARTH_DAEMON']}', which is no absolute path", ran.stderr)


if __name__ == "__main__":
    sys.argv[1:] = []
    skipping.main()
