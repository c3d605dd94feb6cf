// Which flags reach a compiler: what real builds use does, what runs, loads, writes or reads arguments does not.
#include "compiler/blobs/blob_flags.h"

#include <catch2/catch.hpp>

#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

namespace {

absl::StatusOr<std::vector<std::string>> judged(const std::vector<std::string>& flags) {
  BlobSpec spec;
  spec.stem = "fmha_fwd_x";
  spec.root = "/r";
  spec.flags = flags;
  return usable_flags(spec);
}

}  // namespace

TEST_CASE("Flags of a real build pass, in order, with the root expanded") {
  const std::vector<std::string> flags = {"-O3",
                                          "-std=c++20",
                                          "-DUSE_ROCM",
                                          "-DCK_TILE_FMHA_FWD_FAST_EXP2=1",
                                          "-U__HIP_NO_HALF_CONVERSIONS__",
                                          "-I{root}/ck/include",
                                          "-isystem",
                                          "{root}/aiter",
                                          "-I",
                                          "/opt/rocm/include",
                                          "-mllvm",
                                          "-enable-post-misched=0",
                                          "-mllvm",
                                          "-amdgpu-early-inline-all=true",
                                          "-mllvm",
                                          "--amdgpu-kernarg-preload-count=16",
                                          "-mllvm",
                                          "-amdgpu-function-calls=false",
                                          "-fno-offload-uniform-block",
                                          "-fgpu-flush-denormals-to-zero",
                                          "--offload-compress",
                                          "-Wno-undefined-func-template",
                                          "-Wl,--no-undefined,-rpath,/opt/rocm/lib",
                                          "-mcmodel=large",
                                          "-fPIC",
                                          "-ffast-math",
                                          "-march=native",
                                          "-include",
                                          "{root}/pre.h",
                                          "-Xclang",
                                          "-fnative-half-type",
                                          "-x",
                                          "hip",
                                          "-pthread",
                                          "-lm"};
  const auto usable = judged(flags);
  REQUIRE(usable.ok());
  REQUIRE(usable->size() == flags.size());
  CHECK((*usable)[5] == "-I/r/ck/include");
  CHECK((*usable)[7] == "/r/aiter");
  CHECK((*usable)[0] == "-O3");
  CHECK(usable->back() == "-lm");
}

TEST_CASE("Hidden visibility is left out, and nothing else") {
  const auto usable = judged({"-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fvisibility=default"});
  REQUIRE(usable.ok());
  CHECK(*usable == std::vector<std::string>{"-fvisibility-inlines-hidden", "-fvisibility=default"});
}

TEST_CASE("A refused flag is named with its reason") {
  struct Row {
    std::vector<std::string> flags;
    const char* reason;
  };
  const std::vector<Row> rows = {
      {{"-B/tmp/bin"}, "program"},
      {{"-B", "/tmp/bin"}, "program"},
      {{"-fuse-ld=/tmp/ld"}, "program"},
      {{"--ld-path=/tmp/ld"}, "program"},
      {{"-wrapper", "sh"}, "program"},
      {{"--gcc-toolchain=/tmp"}, "program"},
      {{"-fplugin=/tmp/x.so"}, "plug-in"},
      {{"-fpass-plugin=/tmp/x.so"}, "plug-in"},
      {{"-Xclang", "-load"}, "refused"},
      {{"-Xclang", "-fplugin=/tmp/x.so"}, "plug-in"},
      {{"-Xclang", "-add-plugin"}, "refused"},
      {{"-mllvm", "-load=/tmp/x.so"}, "plug-in"},
      {{"-mllvm", "-load-pass-plugin=/tmp/x.so"}, "plug-in"},
      {{"-mllvm", "-info-output-file=/tmp/x"}, "writes"},
      {{"-mllvm", "-pass-remarks-output=/tmp/x"}, "writes"},
      {{"-Wl,-plugin,/tmp/x.so"}, "refused"},
      {{"-Wl,-Map=/tmp/x"}, "refused"},
      {{"-Wl,-o,/tmp/x"}, "refused"},
      {{"-Wl,-T,/tmp/x"}, "refused"},
      {{"-Xlinker", "-o/tmp/x"}, "refused"},
      {{"-Wa,-o,/tmp/x"}, "refused"},
      {{"-Wp,-MD,/tmp/x"}, "refused"},
      {{"-Xarch_host", "-fplugin=/tmp/x.so"}, "plug-in"},
      {{"-Xarch_gfx942", "-o/tmp/x"}, "blob to say"},
      {{"@/tmp/args"}, "arguments"},
      {{"-I", "@/tmp/args"}, "arguments"},
      {{"--config=/tmp/x.cfg"}, "arguments"},
      {{"-specs=/tmp/x"}, "arguments"},
      {{"-o", "/tmp/x"}, "blob to say"},
      {{"-o/tmp/x"}, "blob to say"},
      {{"-c"}, "blob to say"},
      {{"-MF", "/tmp/x"}, "blob to say"},
      {{"-MD"}, "blob to say"},
      {{"-E"}, "blob to say"},
      {{"-save-temps=cwd"}, "writes"},
      {{"--save-temps"}, "writes"},
      {{"-ftime-trace=/tmp/x"}, "writes"},
      {{"-fdump-tree-all"}, "writes"},
      {{"-dumpdir", "/tmp"}, "writes"},
      {{"-fprofile-generate=/tmp"}, "writes"},
      {{"--coverage"}, "writes"},
      {{"--serialize-diagnostics", "/tmp/x"}, "writes"},
      {{"-fsave-optimization-record"}, "writes"},
      {{"-fmodules-cache-path=/tmp"}, "writes"},
      {{"--offload-arch=gfx942"}, "archs"},
      {{"/etc/passwd"}, "no flag"},
      {{"other.o"}, "no flag"},
      {{""}, "empty"},
      {{std::string("-D\0x", 4)}, "zero byte"},
      {{"-I"}, "operand is missing"},
      {{"-mllvm"}, "operand is missing"},
  };
  for (const Row& row : rows) {
    const auto usable = judged(row.flags);
    INFO(row.flags[0] << " " << row.flags.back());
    REQUIRE_FALSE(usable.ok());
    CHECK(absl::IsInvalidArgument(usable.status()));
    says(usable.status(), row.reason);
    says(usable.status(), "fmha_fwd_x: flag");
  }
}
