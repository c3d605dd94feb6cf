"""What the dispatcher rewriter writes is compiled, linked with libhearth_blob and run.

1. A miniature of bwd 2026, whose helpers are in a header: blobs are compiled by a stub hearth-blobc when first called.
2. The sample library, every API and generation: the original dispatcher's undefined leaves are exactly the blobs'
   exports; the rewritten one's are none.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["HEARTH_SOURCE_DIR"])
BIN = Path(os.environ["HEARTH_BIN_DIR"])
ARCHIVE = BIN.parent / "lib/libhearth_blob.a"
HEADERS = SOURCE / "blobs/loader"

HEADER = r"""
#pragma once
#include <string>
#include <type_traits>
#include <functional>
namespace ck_tile {
struct stream_config { int log_level_ = 0; };
struct gfx942_t {};
struct NoMask {};
}
struct FmhaBwdFp16 {};
struct fmha_bwd_args { int values[100]; };
struct fmha_bwd_traits { bool deterministic; };
template <int D, typename T, bool Pad> struct fmha_bwd_dot_do_o_traits_ {};
template <int D, typename T, typename Mask, bool Det> struct fmha_bwd_dq_dk_dv_traits_ {};
template <int D, typename T, bool Pad> struct fmha_bwd_convert_dq_traits_ {};
template <typename Traits_, typename Arch = void>
void fmha_bwd_dot_do_o_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_, typename Arch = void>
void fmha_bwd_dq_dk_dv_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
template <typename Traits_, typename Arch = void> std::string fmha_bwd_dq_dk_dv_get_name_();
template <typename Traits_, typename Arch = void> bool fmha_bwd_dq_dk_dv_needs_zero_dq_acc_();
template <typename Traits_, typename Arch = void>
void fmha_bwd_convert_dq_oneshot_(const ck_tile::stream_config&, fmha_bwd_args);
inline thread_local std::string log_of_calls;
template <typename T0, typename T1, typename T2, typename Arch>
float fmha_bwd_(const ck_tile::stream_config& s, fmha_bwd_args a) {
  if constexpr (!std::is_same_v<T2, void>) {
    [=](const ck_tile::stream_config& s_) { fmha_bwd_dot_do_o_oneshot_<T0, Arch>(s_, a); }(s);
    [=](const ck_tile::stream_config& s_) { fmha_bwd_dq_dk_dv_oneshot_<T1, Arch>(s_, a); }(s);
    [=](const ck_tile::stream_config& s_) { fmha_bwd_convert_dq_oneshot_<T2, Arch>(s_, a); }(s);
  } else {
    fmha_bwd_dot_do_o_oneshot_<T0, Arch>(s, a);
    fmha_bwd_dq_dk_dv_oneshot_<T1, Arch>(s, a);
  }
  log_of_calls += fmha_bwd_dq_dk_dv_get_name_<T1, Arch>();
  return 1;
}
struct fmha_bwd_launcher {
  std::function<float(fmha_bwd_args, const ck_tile::stream_config&)> run;
  bool needs_zero = false;
  fmha_bwd_launcher(const fmha_bwd_traits&);
  template <typename T0, typename T1, typename T2, typename Arch>
  void init(const fmha_bwd_traits&) {
    run = [](fmha_bwd_args a, const ck_tile::stream_config& s) { return fmha_bwd_<T0, T1, T2, Arch>(s, a); };
    needs_zero = fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<T1, Arch>();
    /*more*/
  }
};
"""

DISPATCHER = r"""#include <iostream>
#include "fmha_bwd.hpp"
fmha_bwd_launcher::fmha_bwd_launcher(const fmha_bwd_traits& t) {
  if (t.deterministic) {
    using dot_do_o_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, (8 > 0)>;
    using dq_dk_dv_trait_ = fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, ck_tile::NoMask, true>;
    using convert_dq_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, (0 > 0)>;
    this->init<dot_do_o_trait_, dq_dk_dv_trait_,
               std::conditional_t<true, convert_dq_trait_, void>, ck_tile::gfx942_t>(t);
  } else {
    using dot_do_o_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, true>;
    using dq_dk_dv_trait_ = fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, ck_tile::NoMask, false>;
    using convert_dq_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, true>;
    run = [](fmha_bwd_args a, const ck_tile::stream_config& s) {
      return fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_,
                       std::conditional_t<false, convert_dq_trait_, void>, ck_tile::gfx942_t>(s, a);
    };
    needs_zero = fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<dq_dk_dv_trait_, ck_tile::gfx942_t>();
  }
}
"""


def oneshot_blob(leaf, trait, extra=""):
    return ('#include <cstdio>\n#include "fmha_bwd.hpp"\nusing mask_0 = ck_tile::NoMask;\n'
            f"using trait_0 = {trait};\ntemplate <>\n"
            f"void {leaf}oneshot_<trait_0, ck_tile::gfx942_t>(const ck_tile::stream_config& s, fmha_bwd_args a)\n"
            f'{{ std::printf("{leaf} %d %d\\n", s.log_level_, a.values[99]); }}\n{extra}')


def dq_blob(deterministic):
    leaf, word = "fmha_bwd_dq_dk_dv_", "true" if deterministic else "false"
    return oneshot_blob(leaf, f"fmha_bwd_dq_dk_dv_traits_<64/2, FmhaBwdFp16, mask_0, {word}>", (
        f'template <>\nstd::string {leaf}get_name_<trait_0, ck_tile::gfx942_t>()\n{{ return "det={word}"; }}\n'
        f"template <>\nbool {leaf}needs_zero_dq_acc_<trait_0, ck_tile::gfx942_t>()\n{{ return {word}; }}\n"))


BLOBS = {
    "fmha_bwd_dot_do_o_d32": oneshot_blob("fmha_bwd_dot_do_o_", "fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, true>"),
    "fmha_bwd_d32_det": dq_blob(True),
    "fmha_bwd_d32": dq_blob(False),
    "fmha_bwd_convert_dq_d32": oneshot_blob(
        "fmha_bwd_convert_dq_", "fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, false>"),
}
# By hand after the Itanium C++ ABI, in the order of the sources.
EXPORTS = {
    "fmha_bwd_dot_do_o_d32": ["_Z26fmha_bwd_dot_do_o_oneshot_I"],
    "fmha_bwd_d32_det": ["_Z26fmha_bwd_dq_dk_dv_oneshot_I", "_Z27fmha_bwd_dq_dk_dv_get_name_I",
                         "_Z36fmha_bwd_dq_dk_dv_needs_zero_dq_acc_I"],
    "fmha_bwd_convert_dq_d32": ["_Z28fmha_bwd_convert_dq_oneshot_I"],
}
EXPORTS["fmha_bwd_d32"] = EXPORTS["fmha_bwd_d32_det"]

MAIN = r"""
#include <cstdio>
#include "fmha_bwd.hpp"
#include "hearth_blob.h"
int main() {
  fmha_bwd_args a{};
  a.values[99] = 77;
  for (int i = 0; i < 2; ++i)
    for (const bool deterministic : {false, true}) {
      fmha_bwd_launcher launcher(fmha_bwd_traits{deterministic});
      launcher.run(a, ck_tile::stream_config{5});
      std::printf("needs_zero %d\n", launcher.needs_zero);
    }
  std::puts(log_of_calls.c_str());
}
"""


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))[:400]}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done.stdout


def leaves(path):
    """Undefined symbols of an object that are instances of a template whose name begins with fmha_."""
    return {m for m in re.findall(r" U (\S+)", run("nm", path)) if re.match(r"_ZN?\d+fmha_\w*_I", m)}


class Compiled(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hearth_rewrite_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def rewrite(self, dispatcher, blobs, name="rewritten.cpp"):
        out = self.folder / name
        return out, run(BIN / "rewrite_tool", dispatcher, out, *blobs)

    def miniature(self):
        (self.folder / "blob").mkdir()
        (self.folder / "fmha_bwd.hpp").write_text(HEADER)
        (self.folder / "fmha_bwd_api.cpp").write_text(DISPATCHER)
        for stem, text in BLOBS.items():
            (self.folder / f"blob/{stem}.cpp").write_text(text)
        return self.rewrite(self.folder / "fmha_bwd_api.cpp", sorted((self.folder / "blob").glob("*.cpp")))

    def compile(self, source, *flags, compiler="g++", standard="c++17"):
        out = self.folder / (Path(source).name + ".o")
        run(compiler, f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", source, "-o", out, "-I",
            self.folder, "-I", HEADERS, *flags)
        return out

    def test_helpers_in_headers_call_lazily(self):
        rewritten, said = self.miniature()
        self.assertIn("6 sites, 4 blobs used of 4", said)
        original = self.compile(self.folder / "fmha_bwd_api.cpp")
        self.assertEqual(len(leaves(original)), sum(map(len, EXPORTS.values())))
        dispatcher = self.compile(rewritten)
        self.assertEqual(leaves(dispatcher), set())
        with self.subTest("clang"):
            if not shutil.which("clang++-19"):
                self.skipTest("there is no clang++-19 to compile the rewritten dispatcher with")
            self.compile(rewritten, compiler="clang++-19")

        (self.folder / "main.cpp").write_text(MAIN)
        said = self.run_with_blobs(dispatcher, sorted(BLOBS), EXPORTS)
        plain = ["fmha_bwd_dot_do_o_ 5 77", "fmha_bwd_dq_dk_dv_ 5 77", "needs_zero 0"]
        deterministic = ["fmha_bwd_dot_do_o_ 5 77", "fmha_bwd_dq_dk_dv_ 5 77", "fmha_bwd_convert_dq_ 5 77",
                         "needs_zero 1"]
        self.assertEqual(said.split("\n")[:-1], (plain + deterministic) * 2 + ["det=falsedet=true" * 2])

    def run_with_blobs(self, dispatcher, stems, exports_of):
        """Links the dispatcher's object and main.cpp with libhearth_blob, and runs them: each blob compiled once."""
        lines = ['#include "hearth_blob.h"', "namespace {", "const char* const kNone[] = {nullptr};",
                 "const char* const* const kSets[] = {kNone};"]
        for i, stem in enumerate(stems):
            exports = ", ".join(f'"{prefix}"' for prefix in exports_of[stem])
            lines.append(f"const char* const kExports{i}[] = {{{exports}, nullptr}};")
        lines += ["const hearth::blob::LibraryBlob kBlobs[] = {"]
        lines += [f'{{"{stem}", "blob/{stem}.cpp", 0, kExports{i}}},' for i, stem in enumerate(stems)]
        text = "".join(f"{stem}\n" + "".join(f"\t{prefix}\n" for prefix in exports_of[stem]) for stem in sorted(stems))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        lines += ["};", "}",
                  'extern __attribute__((visibility("hidden"))) const hearth::blob::Library hearth_blob_library;',
                  "const hearth::blob::Library hearth_blob_library =",
                  f'{{hearth::blob::kLibraryVersion, 0x{digest}ull, "libmha_bwd", "c++", "root", "t", kNone, kSets, kBlobs, {len(stems)}}};']
        (self.folder / "embedded.cpp").write_text("\n".join(lines))
        library = self.folder / "libmha_bwd.so"
        run("g++", "-shared", "-o", library, dispatcher, self.compile(self.folder / "embedded.cpp"), ARCHIVE, "-ldl",
            "-Wl,--no-undefined")
        program = self.folder / "main"
        run("g++", "-std=c++17", "-o", program, self.folder / "main.cpp", "-I", self.folder, "-I", HEADERS, library,
            f"-Wl,-rpath,{self.folder}")

        root = self.folder / "root"
        root.mkdir()
        (root / "hearth-blobc").write_text(
            "#!/bin/sh\necho \"$4\" >> calls\n"
            f"g++ -std=c++17 -fPIC -shared -I{self.folder} -o cache/$4.so {self.folder}/blob/$4.cpp\n"
            "chmod 755 cache/$4.so\n"
            "sum=$(sha256sum cache/$4.so | cut -c 1-64)\n"
            "printf '{\"path\": \"%s\", \"sha256\": \"%s\"}\\n' \"$PWD/cache/$4.so\" $sum\n")
        (root / "hearth-blobc").chmod(0o755)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CK_JIT_", "HEARTH_BLOB"))}
        said = run(program, cwd=self.folder, env={**environment, "CK_JIT_CACHE_DIR": str(self.folder / "cache")})
        self.assertEqual(sorted((self.folder / "calls").read_text().split()), stems)
        return said

    def test_one_instance_of_a_helper_calls_each_type_s_own_blob(self):
        """Four sites of one helper, two of them without convert_dq: two instances, five blobs, all asked for at once."""
        header = HEADER[:HEADER.index("inline thread_local")] + "float fmha_bwd(int which, fmha_bwd_args a);\n"
        dispatcher = """#include <iostream>
#include "fmha_bwd.hpp"
template <typename T0, typename T1, typename T2, typename Arch>
float fmha_bwd_(const ck_tile::stream_config& s, fmha_bwd_args a) {
  auto run = [=](const ck_tile::stream_config& s_) {
    fmha_bwd_dot_do_o_oneshot_<T0, Arch>(s_, a);
    fmha_bwd_dq_dk_dv_oneshot_<T1, Arch>(s_, a);
    if constexpr (!std::is_same_v<T2, void>) fmha_bwd_convert_dq_oneshot_<T2, Arch>(s_, a);
  };
  run(s);
  std::cout << fmha_bwd_dq_dk_dv_get_name_<T1, Arch>() << std::endl;
  a.values[99] = 0;  // its own copy
  return 1;
}
float fmha_bwd(int which, fmha_bwd_args a) {
  const ck_tile::stream_config s{7};
  using dot_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, true>;
  using convert_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, false>;
  float r = 0;
"""
        for which in range(4):
            det, convert = which % 2 == 1, which < 2
            dispatcher += f"""  if (which == {which}) {{
    using dq_trait_ = fmha_bwd_dq_dk_dv_traits_<{32 + which // 2 * 32}, FmhaBwdFp16, ck_tile::NoMask, {str(det).lower()}>;
    r = fmha_bwd_<dot_trait_, dq_trait_, std::conditional_t<{str(convert).lower()}, convert_trait_, void>,
                  ck_tile::gfx942_t>(s, a);
  }}
"""
        dispatcher += "  return r + a.values[99];\n}\n"
        (self.folder / "blob").mkdir()
        (self.folder / "fmha_bwd.hpp").write_text(header)
        (self.folder / "fmha_bwd_api.cpp").write_text(dispatcher)
        blobs = dict(BLOBS)
        for stem in ("fmha_bwd_d32", "fmha_bwd_d32_det"):
            blobs[stem.replace("32", "64")] = BLOBS[stem].replace("<64/2,", "<64,").replace('"det=', '"d64 det=').replace(
                'printf("fmha_bwd_dq', 'printf("d64 fmha_bwd_dq')
        for stem, text in blobs.items():
            (self.folder / f"blob/{stem}.cpp").write_text(text)
        rewritten, said = self.rewrite(self.folder / "fmha_bwd_api.cpp", sorted((self.folder / "blob").glob("*.cpp")))
        self.assertIn("10 sites, 6 blobs used of 6", said)
        text = rewritten.read_text()
        self.assertEqual(len(set(re.findall(r"hearth_call<&(hearth_fmha_bwd_<.*?>)>\s*\(::hearth_group", text))), 2)
        dispatcher_object = self.compile(rewritten)
        self.assertEqual(leaves(dispatcher_object), set())
        if shutil.which("clang++-19"):
            self.compile(rewritten, compiler="clang++-19", standard="c++20")
        self.compile(rewritten, standard="c++20")
        (self.folder / "main.cpp").write_text("""#include <cstdio>
#include "fmha_bwd.hpp"
int main() {
  fmha_bwd_args a{};
  a.values[99] = 77;
  for (int which = 0; which < 4; ++which) std::printf("r %g\\n", fmha_bwd(which, a)), std::fflush(stdout);
}
""")
        exports = {**EXPORTS, "fmha_bwd_d64": EXPORTS["fmha_bwd_d32"], "fmha_bwd_d64_det": EXPORTS["fmha_bwd_d32"]}
        said = self.run_with_blobs(dispatcher_object, sorted(blobs), exports)
        wanted = []
        for which in range(4):
            size, det = ("d64 " if which > 1 else ""), str(which % 2 == 1).lower()
            wanted += ["fmha_bwd_dot_do_o_ 7 77", f"{size}fmha_bwd_dq_dk_dv_ 7 77"]
            wanted += ["fmha_bwd_convert_dq_ 7 77"] if which < 2 else []
            wanted += [f"{size}det={det}", "r 78"]
        self.assertEqual(said.split("\n")[:-1], wanted)

    def test_a_type_without_a_blob_does_not_compile(self):
        rewritten, _ = self.miniature()
        (self.folder / "fmha_bwd.hpp").write_text(HEADER.replace(
            "/*more*/", "fmha_bwd_dq_dk_dv_get_name_<fmha_bwd_dq_dk_dv_traits_<99, FmhaBwdFp16, void, true>, Arch>();"))
        with self.assertRaisesRegex(AssertionError, "no blob is for this type"):
            self.compile(rewritten)

    def test_compiler_errors_point_to_the_original(self):
        rewritten, _ = self.miniature()
        text = rewritten.read_text()
        line = 1 + DISPATCHER[:DISPATCHER.index("needs_zero = ")].count("\n")
        rewritten.write_text(text.replace("needs_zero = ", "no_such_member = "))
        with self.assertRaisesRegex(AssertionError, rf"fmha_bwd_api\.cpp:{line}:\d+: error"):
            self.compile(rewritten)

    def sample(self, generation):
        tree = self.folder / f"sample{generation}"
        run(sys.executable, "-B", SOURCE / "tests/blobs/sample/generate.py", "--out", tree, "--flavour", "cpu",
            "--generation", generation)
        example = tree / "3rdparty/composable_kernel/example/ck_tile/01_fmha"
        includes = ["-I", tree / "3rdparty/composable_kernel/include", "-I", example]
        for api in ("fwd", "fwd_splitkv", "fwd_appendkv", "bwd"):
            out = self.folder / f"{generation}_{api}"
            run(sys.executable, "-B", example / "generate.py", "-d", api, "--output_dir", out, cwd=example)
            dispatcher = out / f"fmha_{api}_api.cpp"
            blobs = sorted(p for p in out.glob("*.cpp") if not p.name.endswith("_api.cpp"))
            rewritten, said = self.rewrite(dispatcher, blobs, f"rewritten_{generation}_{api}.cpp")
            print(f"{generation} {api}: {said.strip()}")
            sites, used, known, exports = map(int, re.match(
                r"(\d+) sites, (\d+) blobs used of (\d+), (\d+) exports", said).groups())
            self.assertGreater(sites, 0)
            self.assertEqual((used, known), (len(blobs), len(blobs)))
            wanted = leaves(self.compile(dispatcher, *includes, standard="c++20"))
            # Of a bwd blob's three exports the plain form is called by no dispatcher.
            self.assertEqual(len(wanted), exports * 2 // 3 if api == "bwd" else exports)
            self.assertEqual(leaves(self.compile(rewritten, *includes, standard="c++20")), set())

    def test_sample_2024(self):
        self.sample("2024")

    def test_sample_2026(self):
        self.sample("2026")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
