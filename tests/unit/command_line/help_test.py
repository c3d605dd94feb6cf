"""--help of every command and program: complete sentences, 80 columns, an example, exit codes; the same by `hearth help`."""
import re
import unittest

from programs import commands, entries, run


class HelpTest(unittest.TestCase):
    def test_every_command_has_help_of_80_columns_with_sentences(self):
        seen = 0
        for path in commands():
            with self.subTest(command=path):
                seen += 1
                ran = run(*path, "--help")
                self.assertEqual(ran.returncode, 0)
                self.assertEqual(ran.stderr, "")
                self.assertTrue(ran.stdout.startswith(f"Usage: hearth{''.join(' ' + word for word in path)} "))
                for line in ran.stdout.splitlines():
                    self.assertLessEqual(len(line), 80, line)
                    self.assertEqual(line, line.rstrip())
                for name in ("Commands", "Arguments", "Options", "Global options", "Exit status", "Environment"):
                    self.check_sentences(ran.stdout, name)
                if not entries(ran.stdout, "Commands"):
                    self.assertIn("\nExamples:\n  ", ran.stdout)
                    self.assertIn("\nExit status:\n  0 ", ran.stdout)
        self.assertGreaterEqual(seen, 29)

    def check_sentences(self, text, title):
        section = re.search(rf"^{title}:\n((?:  .*\n)*)", text, re.MULTILINE)
        if not section:
            return
        for entry in re.split(r"\n(?=  \S)", section.group(1).rstrip("\n")):
            words = re.sub(r"\s+", " ", entry)
            with self.subTest(entry=words):
                self.assertRegex(words, r"[.!?]$")

    def test_help_and_the_flag_say_the_same(self):
        for path in commands():
            with self.subTest(command=path):
                self.assertEqual(run("help", *path).stdout, run(*path, "--help").stdout)
                self.assertEqual(run(*path, "-h").stdout, run(*path, "--help").stdout)

    def test_examples_are_command_lines_that_are_understood(self):
        seen = 0
        for path in commands():
            text = run(*path, "--help").stdout
            section = re.search(r"^Examples:\n((?:  .*\n)*)", text, re.MULTILINE)
            for line in re.findall(r"^  (\S.*)$", section.group(1), re.MULTILINE) if section else []:
                command = re.search(r"hearth ([^|&\"$>)]*)", line).group(1).split()
                seen += 1
                with self.subTest(example=line):
                    ran = run(*command, "--help")
                    self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreaterEqual(seen, 20)

    def test_hearthd_names_variable_and_default_of_every_setting(self):
        ran = run("--help", program="hearthd")
        self.assertEqual(ran.returncode, 0)
        self.check_sentences(ran.stdout, "Options")
        section = re.search(r"^Options:\n((?:  .*\n)*)", ran.stdout, re.MULTILINE).group(1)
        settings = [re.sub(r"\s+", " ", one) for one in re.split(r"\n(?=  --)", section)]
        self.assertGreater(len(settings), 30)
        for setting in settings:
            name = setting.split()[0]
            if name in ("--ready-fd", "--foreground"):
                continue
            with self.subTest(setting=name):
                self.assertIn(f"HEARTH_{name[2:].upper().replace('-', '_')}", setting)
        self.assertIn("Default: 10GiB.", ran.stdout)
        for line in ran.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)


if __name__ == "__main__":
    unittest.main()
