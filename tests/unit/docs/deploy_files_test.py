#!/usr/bin/env python3
"""Files of deploy/ for Kubernetes and Docker: they parse, set settings that hearthd has, and start casd as its units do."""
import os
import pathlib
import re
import shlex
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("HEARTH_SOURCE_DIR", "."))
sys.path.insert(0, str(ROOT / "tests/support"))
import skipping  # noqa: E402

try:
    import yaml
except ImportError as error:
    skipping.skip_all(str(error))

FILES = sorted([*(ROOT / "deploy").rglob("*.yaml"), *(ROOT / "deploy").rglob("*.yml")])
OF_CLIENTS = {"HEARTH_NO_AUTOSTART", "HEARTH_SOCKET", "HEARTH_SEALED", "HEARTH_THREADS"}


def documents():
    for path in FILES:
        for document in yaml.safe_load_all(path.read_text()):
            yield path, document


def containers(value):
    """Whatever has an image."""
    if isinstance(value, dict):
        if "image" in value:
            yield value
        for below in value.values():
            yield from containers(below)
    elif isinstance(value, list):
        for below in value:
            yield from containers(below)


def variables(container):
    environment = container.get("environment", {})
    return {*environment, *(entry["name"] for entry in container.get("env", []))}


def options(words):
    return {word.partition("=")[0] for word in words if word.startswith("--")}


class DeployFilesTest(unittest.TestCase):
    def test_every_file_parses_and_starts_something(self):
        self.assertGreaterEqual(len(FILES), 5)
        for path in FILES:
            with self.subTest(path=path.name):
                found = [container for of, document in documents() if of == path for container in containers(document)]
                self.assertTrue(found)

    def test_variables_are_settings_of_hearthd_or_its_clients(self):
        table = (ROOT / "daemon/settings_table.cpp").read_text()
        settings = {"HEARTH_" + name.upper() for name in re.findall(r'^ *\{"([a-z_]+)",', table, re.MULTILINE)}
        self.assertIn("HEARTH_REMOTE_TRUSTED_KEYS", settings)
        for path, document in documents():
            for container in containers(document):
                names = {name for name in variables(container) if name.startswith("HEARTH_")}
                self.assertEqual(names - settings - OF_CLIENTS, set(), path.name)

    def test_casd_is_started_as_in_its_units(self):
        known = set()
        for unit in (ROOT / "deploy/fleet").glob("hearth-casd*.service"):
            command = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)[1]
            known |= options(shlex.split(command))
        seen = 0
        for path, document in documents():
            for container in containers(document):
                words = container.get("command", [])
                if words[:1] == ["buildbox-casd"]:
                    seen += 1
                    self.assertEqual(options(words) - known, set(), path.name)
        self.assertGreaterEqual(seen, 2)


if __name__ == "__main__":
    skipping.main()
