#!/usr/bin/env python3
"""What `cmake --install` gives: a prefix that CMake and make projects build against, in C++ and in C, whose programs find
its daemon; nothing but Hearth's names is exported, and no header needs Protobuf.
/usr/bin/python3 install_test.py SOURCE_DIR BUILD_DIR"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = (Path(path) for path in sys.argv[1:3])
EXAMPLE = SOURCE / "examples/standalone"
DIGITS = SOURCE / "examples/digits"


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.top = Path(cls.folder.name)
        cls.prefix = cls.top / "prefix"
        for component in ("runtime", "dev", "daemon", "blobs"):
            run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component)
        cls.lib = next(cls.prefix.glob("lib*/**/libhearth.so")).parent
        cls.environment = {
            "PATH": f"{cls.prefix}/bin:{os.environ['PATH']}", "HOME": str(cls.top),
            "HEARTH_SOCKET": str(cls.top / "s"), "HEARTH_CACHE_DIR": str(cls.top / "cache"),
            "LD_LIBRARY_PATH": str(cls.lib), "PKG_CONFIG_PATH": str(cls.lib / "pkgconfig"),
            "HEARTH_IDLE_EXIT_S": "60"}

    @classmethod
    def tearDownClass(cls):
        subprocess.run([cls.prefix / "bin/hearth", "daemon", "stop"], env=cls.environment, capture_output=True)
        cls.folder.cleanup()

    def check_programs(self, folder):
        digits = run(folder / "digits", DIGITS / "digits.onnx", DIGITS / "digits_images.npy",
                     DIGITS / "digits_labels.npy", env=self.environment)
        self.assertIn("395 of 400 right", digits)
        self.assertIn("matmul: 22.5", digits)
        ran = run(folder / "run", DIGITS / "digits.onnx", env=self.environment)
        self.assertRegex(ran, r"13 kernels, 0 compiled now\nprobability: f32, 16000 bytes, begins with 0\.\d")

    def test_a_cmake_project_builds_and_runs_a_model_in_cpp_and_in_c(self):
        build = self.top / "cmake"
        run("cmake", "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.check_programs(build)

    def test_a_makefile_with_pkg_config_builds_and_runs_a_model_in_cpp_and_in_c(self):
        build = self.top / "make"
        run("cp", "-r", EXAMPLE, build)
        run("make", "-C", build, env=self.environment)
        self.check_programs(build)

    def test_the_library_exports_hearths_names_alone(self):
        names = run("nm", "-D", "--defined-only", self.lib / "libhearth.so").splitlines()
        self.assertGreater(len(names), 300)
        for line in names:
            self.assertRegex(line.split()[-1], r"^(HEARTH_\d|hearth_\w+@|_Z(T[ISV]|GV)?NK?6hearth)")

    def test_a_program_computes_with_lengths(self):
        # Operators that are friends of their class, which a library does not export by itself.
        program = self.top / "lengths.cpp"
        program.write_text("""#include <hearth/dim.h>
            int main() {
              using hearth::client::Dim;
              const Dim n = Dim::variable("n", 1, 8), rows = (n * 2 + 7 - n % 3) / 4;
              return min(n, rows) == max(n, rows) || is_at_least(n, rows) ? 1 : 0;
            }""")
        run("c++", "-std=c++20", f"-I{self.prefix}/include", program, "-o", self.top / "lengths", f"-L{self.lib}", "-lhearth",
            f"-Wl,-rpath,{self.lib}", "-labsl_status", "-labsl_strings")
        run(self.top / "lengths")

    def test_the_c_abi_is_what_was_promised(self):
        names = {line.split()[-1].split("@")[0]
                 for line in run("nm", "-D", "--defined-only", self.lib / "libhearth.so").splitlines()}
        functions = sorted(name for name in names if name.startswith("hearth_"))
        promised = (SOURCE / "tests/integration/c_abi_symbols.txt").read_text().split()
        self.assertEqual(functions, promised, "a symbol that is gone or renamed breaks programs; a new one is added to "
                                              "tests/integration/c_abi_symbols.txt")
        header = "".join((SOURCE / "include/hearth" / name).read_text() for name in ("c_types.h", "hearth.h"))
        self.assertEqual(functions, sorted(set(re.findall(r"^HEARTH_API [^(;]*?\b(hearth_\w+)\(", header, re.M))))

    def test_the_first_programs_of_readme_and_sdk_md_compile_and_look_before_they_take(self):
        for page, first in (("README.md", "hearth/onnx.h"), ("docs/sdk.md", "hearth/prepare.h")):
            text = (SOURCE / page).read_text()
            block = next(block for block in re.findall(r"```cpp\n(.*?)```", text, re.S) if first in block)
            taken = re.findall(r"\*?\b(model|plan|run|y)->", block)
            self.assertEqual({name for name in taken if f"if (!{name}.ok())" not in block}, set(), page)
            program = self.top / "page.cpp"
            program.write_text("#include <span>\n#include <vector>\n" + block)
            run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", f"-I{self.prefix}/include", program)

    def test_a_build_that_is_not_whole_is_refused_before_anything_is_written(self):
        script = (BUILD / "cmake_install.cmake").read_text()
        library = next(path for path in (BUILD / "lib").glob("libhearth.so.*.*") if not path.is_symlink())
        changed = self.top / "cmake_install.cmake"
        changed.write_text(script.replace(f'"{library};', f'"{library}.gone;'))
        self.assertNotEqual(changed.read_text(), script)
        empty = self.top / "empty"
        refused = subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={empty}", "-P", changed], capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--target package_contents", refused.stderr.replace("\n", " "))
        self.assertFalse(empty.exists())

    def test_no_header_reads_protobuf_or_what_is_not_installed(self):
        headers = sorted((self.prefix / "include").rglob("*.h"))
        self.assertGreater(len(headers), 50)
        everything = self.top / "all.cpp"
        everything.write_text("".join(f'#include <{header.relative_to(self.prefix / "include")}>\n' for header in headers))
        read = run("c++", "-std=c++20", f"-I{self.prefix}/include", "-M", everything)
        self.assertNotRegex(read, r"google/protobuf|\.pb\.h")
        self.assertNotIn(str(SOURCE), read)
        for header in headers:
            self.assertNotRegex(header.read_text(), r'#include "(?!hearth/|absl/)')

    def test_each_header_stands_alone_without_a_warning(self):
        for header in sorted((self.prefix / "include").rglob("*.h")):
            one = self.top / "one.cpp"
            one.write_text(f'#include <{header.relative_to(self.prefix / "include")}>\n')
            with self.subTest(header=header.name):
                run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include", one)

    def test_an_older_language_is_told_what_is_needed(self):
        one = self.top / "old.cpp"
        one.write_text("#include <hearth/prepare.h>\n")
        result = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", f"-I{self.prefix}/include", one],
                                capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Hearth's C++ headers need C++20", result.stderr.splitlines()[1] + result.stderr)
        c = self.top / "old.c"
        c.write_text("#include <hearth/hearth.h>\n")
        run("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include", c)

    def test_pages_and_completion_come_along(self):
        self.assertTrue((self.prefix / "share/man/man1/hearth-run.1.gz").is_file())
        self.assertTrue((self.prefix / "share/man/man8/hearthd.8.gz").is_file())
        self.assertTrue((self.prefix / "share/bash-completion/completions/hearth").is_file())


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=1)
