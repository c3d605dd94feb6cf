"""The bash completion script in a real, interactive bash: what a press of Tab makes of a line."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import BIN, Shell, commands, entries, run, skip

BASH = shutil.which("bash") or skip("bash is not installed")
PROBE = r"""
bind 'set completion-query-items 0' 2>/dev/null
eval "$("$HEARTH" completion bash)"
"""


def complete(line, folder, wordbreaks=None):
    """What the completion function offers for the last word of `line`, as bash itself splits it."""
    script = PROBE + (f"COMP_WORDBREAKS={wordbreaks!r}\n" if wordbreaks else "") + r"""
    # bash splits a line at COMP_WORDBREAKS: here at blanks and "=".
    split() {
      COMP_WORDS=() COMP_LINE=$1 COMP_POINT=${#1}
      local word=
      local i c
      for ((i = 0; i < ${#1}; ++i)); do
        c=${1:i:1}
        if [[ $c == ' ' ]]; then [[ $word ]] && COMP_WORDS+=("$word"); word=; continue; fi
        if [[ $c == = && $COMP_WORDBREAKS == *=* ]]; then [[ $word ]] && COMP_WORDS+=("$word"); COMP_WORDS+=("="); word=; continue; fi
        word+=$c
      done
      if [[ $word || ${1: -1} != = || $COMP_WORDBREAKS != *=* ]]; then COMP_WORDS+=("$word"); fi
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    }
    split "$LINE"
    _hearth
    ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
    exit 0
    """
    environment = {"PATH": os.environ["PATH"], "HEARTH": str(BIN / "hearth"), "LINE": line, "LC_ALL": "C.UTF-8"}
    ran = subprocess.run([BASH, "--norc", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                         timeout=300)
    assert ran.returncode == 0 and ran.stderr == "", ran.stderr
    return set(ran.stdout.split("\n")) - {""}


class BashCompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        (cls.folder / "sub").mkdir()
        for name in ("model.onnx", "with space.npy", "x.npy"):
            (cls.folder / name).write_text("")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def offered(self, line, **more):
        return complete(line, self.folder, **more)

    def test_commands_and_options_of_every_command(self):
        for path in commands():
            words = "hearth " + "".join(word + " " for word in path)
            help_text = run(*path, "--help").stdout
            with self.subTest(command=path):
                names = entries(help_text, "Commands")
                if names:
                    self.assertEqual(self.offered(words), set(names))
                options = entries(help_text, "Options") + entries(help_text, "Global options")
                long = {name for name in options if name.startswith("--")}
                self.assertLessEqual(long, self.offered(words + "-"))
        self.assertEqual(self.offered("hearth ex"), {"export", "explain"})
        self.assertEqual(self.offered("hearth -q cache v"), {"verify"})
        self.assertEqual(self.offered("hearth run m.onnx --pro"), {"--profile"})

    def test_files_folders_and_choices(self):
        self.assertEqual(self.offered("hearth run mo"), {"model.onnx"})
        self.assertEqual(self.offered("hearth run model.onnx --output-dir "), {"sub"})
        self.assertEqual(self.offered("hearth run --device "), {"cpu", "null", "vulkan", "cuda", "hip"})
        self.assertEqual(self.offered("hearth run --device=n"), {"null"})
        self.assertEqual(self.offered("hearth completion "), {"bash", "zsh"})
        self.assertEqual(self.offered("hearth blobs build full --toolchain c"), {"c++"})
        self.assertEqual(self.offered("hearth run --input x="), {"model.onnx", "sub", "with space.npy", "x.npy"})
        self.assertEqual(self.offered("hearth run --input x=w"), {"with space.npy"})
        self.assertEqual(self.offered("hearth run --repeat "), set())
        self.assertEqual(self.offered("hearth cache ls "), set())
        # An option's value is no command and no option.
        self.assertEqual(self.offered("hearth blobs prewarm build --root cache mo"), {"model.onnx"})
        self.assertEqual(self.offered("hearth blobs intercept -- make -"), set())

    def test_tab_in_an_interactive_shell(self):
        with Shell([BASH, "--norc", "--noprofile", "-i"], self.folder, HEARTH=str(BIN / "hearth")) as shell:
            shell.read_until("READY> ")
            shell.type("eval \"$(\"$HEARTH\" completion bash)\"; hearth() { printf 'GOT<hearth'; printf ' %q' \"$@\"; "
                       "printf '>\\n'; }; echo SET''UP")
            shell.read_until("SETUP")
            shell.read_until("READY> ")
            for typed, expected in [("hearth cac\t ls --li\t", "hearth cache ls --limit"),
                                    ("hearth run --input x=wi\t", "hearth run --input x=with\\ space.npy"),
                                    ("hearth run model.onnx --output-dir su\t", "hearth run model.onnx --output-dir sub/"),
                                    ("hearth run --device n\t", "hearth run --device null")]:
                with self.subTest(typed=typed):
                    self.assertEqual(shell.completed(typed), expected)


if __name__ == "__main__":
    unittest.main()
