"""The zsh completion script: real zsh reads it and offers what it should."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import Shell, run, skip

ZSH = shutil.which("zsh") or skip("zsh is not installed")


class ZshCompletionTest(unittest.TestCase):
    def test_zsh_finds_no_error_in_the_script(self):
        ran = subprocess.run([ZSH, "-n", "/dev/stdin"], input=run("completion", "zsh").stdout, text=True,
                             capture_output=True, timeout=300)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_tab_in_an_interactive_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sub").mkdir()
            Path(folder, "model.onnx").write_text("")
            Path(folder, "functions").mkdir()
            Path(folder, "functions", "_hearth").write_text(run("completion", "zsh").stdout)
            self.check(folder)

    def check(self, folder):
        with Shell([ZSH, "-f", "-i"], folder) as shell:
            shell.read_until("READY> ")
            shell.type("fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; "
                       "hearth() { print -r \"GOT<hearth $*>\" }; print SET''UP")
            shell.read_until("SETUP")
            shell.read_until("READY> ")
            for typed, expected in [("hearth cac\tls --li\t", "hearth cache ls --limit"),
                                    ("hearth run mod\t", "hearth run model.onnx"),
                                    ("hearth run model.onnx --output-dir s\t", "hearth run model.onnx --output-dir sub"),
                                    ("hearth run --input x=mod\t", "hearth run --input x=model.onnx"),
                                    ("hearth run --device n\t", "hearth run --device null"),
                                    ("hearth run --device=n\t", "hearth run --device=null")]:
                with self.subTest(typed=typed):
                    self.assertEqual(shell.completed(typed), expected)


if __name__ == "__main__":
    unittest.main()
