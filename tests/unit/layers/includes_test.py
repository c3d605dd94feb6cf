#!/usr/bin/env python3
"""A wrong include does not compile: with the flags of a file of each station, headers of stations that it does not depend
on are not found, and those of stations that it does depend on are.
/usr/bin/python3 includes_test.py SOURCE_DIR BUILD_DIR"""
import json
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = (Path(path) for path in sys.argv[1:3])

HEADERS = {"base": "base/text.h", "proto": "proto/packet.h", "runtime": "runtime/memory/buffer.h",
           "blobs": "blobs/library/manifest.h", "client": "client/connection/daemon_socket.h",
           "kernels_cache": "kernels_cache/entry.h", "compiler": "compiler/ir/dtype.h", "daemon": "daemon/client_id.h",
           "command_line": "command_line/nearest.h"}
# Of a target of each station, what it does not see.
FORBIDDEN = {"runtime": {"blobs", "client", "kernels_cache", "compiler", "daemon", "command_line"},
             "kernels_cache": {"runtime", "blobs", "client", "compiler", "daemon", "command_line"},
             "compiler": {"client", "kernels_cache", "daemon", "command_line"},
             "client/connection": {"kernels_cache", "compiler", "daemon", "blobs", "command_line"},
             "daemon/serve": {"client", "compiler"},
             "base": {"runtime", "blobs", "client", "kernels_cache", "compiler", "daemon", "command_line"}}


def flags_of(folder):
    """Of some file below the folder, as the build compiles it, but for precompiled headers."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        file = Path(entry["file"])
        named = file.read_text() if file.name.startswith("unity_") and file.exists() else str(file)
        if f"{SOURCE}/{folder}/" in named and "/tests/" not in named:
            keep = [words[i - 1] + " " + word if words[i - 1] == "-isystem" else word for i, word in enumerate(words)
                    if word.startswith(("-I", "-std=")) or (i and words[i - 1] == "-isystem")]
            compiler = next(word for word in words if "++" in Path(word).name and not word.startswith("-"))
            return [compiler, *" ".join(keep).split()], entry["directory"]
    raise AssertionError(f"no file of {folder} is compiled")


class IncludesTest(unittest.TestCase):
    def compiles(self, folder, header):
        command, directory = flags_of(folder)
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
            file.write(f'#if !__has_include("{header}")\n#error "not there"\n#endif\n')
            file.flush()
            done = subprocess.run([*command, "-fsyntax-only", file.name], cwd=directory, capture_output=True, text=True)
        if done.returncode != 0:
            self.assertIn("not there", done.stderr)
        return done.returncode == 0

    def test_each_station_finds_what_it_depends_on_and_nothing_else(self):
        for header in HEADERS.values():
            self.assertTrue((SOURCE / header).is_file(), header)
        for folder, forbidden in FORBIDDEN.items():
            for station, header in HEADERS.items():
                with self.subTest(folder=folder, header=header):
                    if station in forbidden:
                        self.assertFalse(self.compiles(folder, header))
                    elif station in ("base", "proto", folder.split("/")[0]):
                        self.assertTrue(self.compiles(folder, header))


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
