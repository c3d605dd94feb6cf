"""The manual pages: one a command and hearthd's, without a complaint of mandoc, with what --help says."""
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import BIN, commands, entries, run, skip

MANDOC = shutil.which("mandoc") or skip("mandoc is not installed")


def plain(path):
    text = subprocess.run([MANDOC, "-T", "utf8", "-O", "width=300", str(path)], capture_output=True, check=True).stdout
    return re.sub(r"\s+", " ", re.sub(".\x08", "", text.decode()))


class ManualTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = Path(cls.folder.name)
        ran = run("manual", str(cls.pages))
        assert ran.returncode == 0, ran.stderr
        (cls.pages / "hearthd.8").write_text(run("--manual", program="hearthd").stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_command_has_a_page(self):
        expected = {"-".join(("hearth", *path)) + ".1" for path in commands()} | {"hearthd.8"}
        self.assertEqual({page.name for page in self.pages.iterdir()}, expected)

    def test_mandoc_has_no_complaint(self):
        for page in sorted(self.pages.iterdir()):
            ran = subprocess.run([MANDOC, "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True)
            # A date would differ from build to build.
            complaints = [line for line in (ran.stdout + ran.stderr).splitlines() if "missing date" not in line]
            with self.subTest(page=page.name):
                self.assertEqual(complaints, [])

    def test_pages_say_what_help_says(self):
        for path in commands():
            page = plain(self.pages / ("-".join(("hearth", *path)) + ".1"))
            help_text = run(*path, "--help").stdout
            for title in ("Commands", "Arguments", "Options", "Global options"):
                for name in entries(help_text, title):
                    with self.subTest(command=path, entry=name):
                        self.assertIn(name, page)
            # Behind the usage line only entries' names stand apart from sentences.
            for paragraph in help_text.split("\n\n")[1:]:
                lines = [line for line in paragraph.splitlines() if not line.startswith("  ") and not line.endswith(":")]
                with self.subTest(command=path, paragraph=lines):
                    self.assertIn(" ".join(lines), page)
            for example in re.findall(r"^  (hearth .*)$", help_text, re.MULTILINE):
                with self.subTest(command=path, example=example):
                    self.assertIn(re.sub(r"\s+", " ", example), page)

    def test_pages_refer_to_pages_that_exist(self):
        names = {page.name for page in self.pages.iterdir()}
        for page in self.pages.iterdir():
            section = page.read_text().partition('.SH "SEE ALSO"')[2].replace("\\-", "-")
            referred = re.findall(r"^\.BR (\S+) \((\d)\)", section, re.MULTILINE)
            with self.subTest(page=page.name):
                self.assertTrue(referred)
                for name, number in referred:
                    self.assertIn(f"{name}.{number}", names)


if __name__ == "__main__":
    unittest.main()
