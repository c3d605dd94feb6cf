// Which flags reach a compiler: what real builds use does, what runs, loads, writes or reads arguments does not.
#include "blobs/tools/blob_flags.h"

#include <catch2/catch.hpp>
#include <sstream>

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

TEST_CASE("Every flag that aiter and ComposableKernel give to blobs passes") {
  // As recorded from aiter's compile.py for gfx90a, gfx942 and gfx950, and from CK's own CMake build.
  const char* recorded[] = {
      "-DWITH_HIP -I{root}/3rdparty/ck_helper -I{root}/3rdparty/composable_kernel/include -I{root}/csrc/include "
      "-I{root}/aiter/jit/build/libmha_fwd/blob -fPIC -std=c++20 -O3 -Wno-unknown-warning-option -DENABLE_CK=1 "
      "-DENABLE_ROPE_POSITIONS_INT32=0 -DFAV3_ON=1 -DFAV2_ON=1 -D__HIP_PLATFORM_AMD__=1 -DUSE_ROCM=1 -DHIPBLAS_V2 "
      "-DCUDA_HAS_FP16=1 -D__HIP_NO_HALF_OPERATORS__=1 -D__HIP_NO_HALF_CONVERSIONS__=1 -mcmodel=large "
      "-fno-unique-section-names -ffunction-sections -fdata-sections -fvisibility-inlines-hidden "
      "-DCK_TILE_FLOAT_TO_BFLOAT16_DEFAULT=3 -DCK_TILE_FMHA_FWD_FAST_EXP2=1 -DCK_TILE_FMHA_FWD_SPLITKV_API=1 "
      "-DDLLVM_MAIN_REVISION=554785 -DLEGACY_HIPBLAS_DIRECT -DUSE_PROF_API=1 -D__HIP_PLATFORM_HCC__=1 "
      "-U__HIP_NO_HALF_CONVERSIONS__ -U__HIP_NO_HALF_OPERATORS__ -Wno-macro-redefined "
      "-Wno-missing-template-arg-list-after-template-kw -Wno-switch-bool -Wno-undefined-func-template "
      "-Wno-unused-result -Wno-vla-cxx-extension -fgpu-flush-denormals-to-zero "
      "-mllvm --amdgpu-enable-max-ilp-scheduling-strategy=1 -mllvm --amdgpu-kernarg-preload-count=32 -fno-gpu-rdc",
      "-fno-offload-uniform-block -mllvm --lsr-drop-solution=1 -mllvm -enable-post-misched=0 "
      "-mllvm -amdgpu-early-inline-all=true -mllvm -amdgpu-function-calls=false "
      "-mllvm -amdgpu-coerce-illegal-types=1 -D__Float4_e2m1fn_x2 -DTORCH_Float4_e2m1fn_x2 "
      "-DAITER_ENABLE_CLUSTER_LAUNCH -DASM_DEBUG",
      "-std=c++17 -Wno-bit-int-extension -Wno-pass-failed -Wno-switch-default -Wp,-D_GLIBCXX_ASSERTIONS -mcumode "
      "-mno-wavefrontsize64 -fcolor-diagnostics -fdiagnostics-color=always -Weverything -Werror -Wno-float-equal "
      "-DCK_TILE_FMHA_FWD_APPENDKV_API=1 -isystem /opt/rocm/include -isystem /opt/rocm-6.4.1/include -x hip "
      "-Wno-c++20-extensions -fbracket-depth=1024 -ftemplate-backtrace-limit=0 --offload-compress -parallel-jobs=4",
  };
  for (const char* line : recorded) {
    std::vector<std::string> flags;
    std::istringstream words(line);
    for (std::string word; words >> word;) flags.push_back(word);
    const auto usable = judged(flags);
    INFO(usable.status());
    REQUIRE(usable.ok());
    CHECK(usable->size() == flags.size());
  }
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
      {{"-Xarch_host", "-fplugin=/tmp/x.so"}, "part of the compiler"},
      {{"-Xarch_gfx942", "-o/tmp/x"}, "part of the compiler"},
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
      // What a driver hands on to its parts
      {{"-Xarch_host", "-Xclang=-load", "-Xarch_host", "-Xclang=/tmp/x.so"}, "part of the compiler"},
      {{"-Xarch_host", "-Wl,-plugin,/tmp/x.so"}, "part of the compiler"},
      {{"-Xarch_device", "-mllvm=-load=/tmp/x.so"}, "part of the compiler"},
      {{"-Xoffload-linker", "-plugin=/tmp/x.so"}, "part of the compiler"},
      {{"-Xlinker", "-z", "-Xlinker", "now"}, "part of the compiler"},
      {{"-Xpreprocessor", "-include/etc/passwd"}, "part of the compiler"},
      {{"-Xassembler", "-Iincbin"}, "part of the compiler"},
      {{"-Xopenmp-target", "-fplugin=/tmp/x.so"}, "part of the compiler"},
      {{"-Xclang=-load"}, "plug-in"},
      {{"-Xclang", "-mlink-builtin-bitcode", "-Xclang", "/tmp/x.bc"}, "from a file"},
      {{"-Xclang", "-fprofile-instrument-path=/tmp/x"}, "writes"},
      {{"-Xclang", "-main-file-name"}, "refused"},
      {{"-Wp,-include,/etc/passwd"}, "part of the compiler"},
      {{"-Wa,-a=/tmp/listing"}, "part of the compiler"},
      // Words of the linker behind a comma, with and without a dash
      {{"-Wl,other.o"}, "no flag"},
      {{"-Wl,-z,now,other.o"}, "no flag"},
      {{"-Wl,/tmp/script.ld"}, "no flag"},
      {{"-Wl,--dynamic-linker,/tmp/x"}, "refused"},
      {{"-Wl,--version-script=/tmp/x"}, "refused"},
      {{"-Wl,-rpath,/home/other"}, "outside"},
      {{"-Wl,-rpath"}, "operand of a linker's option is missing"},
      {{"-Wl,@/tmp/args"}, "arguments"},
      {{"-script=/tmp/script.ld"}, "arguments"},
      {{"-s"}, "none of the options"},
      {{"-T", "/tmp/x"}, "arguments"},
      // Files whose text would come back in an error
      {{"-include", "/etc/shadow"}, "outside"},
      {{"-include/etc/shadow"}, "outside"},
      {{"-include", "{root}/../../etc/shadow"}, "\"..\""},
      {{"-imacros", "/proc/self/environ"}, "outside"},
      {{"-include", "secret.h"}, "neither absolute nor below {root}"},
      {{"-include-pch", "{root}/x.pch"}, "from a file"},
      {{"-I/home/other/include"}, "outside"},
      {{"-isystem", "/var/lib/other"}, "outside"},
      {{"-idirafter/root"}, "outside"},
      {{"-I{root}/../other"}, "\"..\""},
      {{"-I/usr/../etc"}, "\"..\""},
      {{"-I."}, "neither absolute nor below {root}"},
      {{"-isysroot", "{root}"}, "none of the options"},
      {{"--sysroot={root}"}, "none of the options"},
      {{"-fsanitize-ignorelist=/etc/shadow"}, "from a file"},
      {{"--embed-dir=/etc"}, "from a file"},
      // A linker takes a text of the right name for a script
      {{"-L{root}/lib"}, "outside"},
      {{"-L", "/tmp"}, "outside"},
      {{"-l:../../tmp/x.so"}, "by its name"},
      {{"-l", "/tmp/x.so"}, "by its name"},
      // What only {root} makes of it
      {{"{root}"}, "no flag"},
      {{"{root}/x.o"}, "no flag"},
      // Languages, plug-ins and files by other names
      {{"-x", "ir"}, "HIP or C++"},
      {{"-xassembler-with-cpp"}, "HIP or C++"},
      {{"-mllvm", "-amdgpu-module-splitting-log-dir=x"}, "refused"},
      {{"-mllvm", "-enable-x=/tmp/x"}, "refused"},
      {{"-mllvm=-load=/tmp/x.so"}, "plug-in"},
      {{"-mllvm", "{root}/x.ll"}, "refused"},
      {{"-fmodule-map-file=/tmp/x"}, "writes"},
      {{"-fplugin-arg-x-y=z"}, "plug-in"},
      {{"-fno-integrated-as"}, "program"},
      {{"-fuse-ld=mine"}, "program"},
      {{"-fsanitize=address"}, "none of the options"},
      {{"-fvisibility=hidden", "-fdump-final-insns=/tmp/x"}, "writes"},
      {{"-march=native,@x"}, "none of the options"},
      {{"-Winvalid-pch", "-Wsystem-headers-in-module=/x"}, "none of the options"},
      {{"--rocm-path={root}/rocm/.."}, "\"..\""},
      {{"--rocm-path=/tmp/rocm"}, "outside"},
      {{"-D"}, "operand is missing"},
      {{"-D-o/tmp/x"}, "no macro"},
      {{"--param", "file=/tmp/x"}, "name and a number"},
      {{"-std=c++20 -fplugin=/tmp/x.so"}, "none of the options"},
      {{"-target", "nvptx64"}, "none of the options"},
      {{"--some-option-of-tomorrow"}, "none of the options"},
  };
  for (const Row& row : rows) {
    const auto usable = judged(row.flags);
    INFO(row.flags[0] << " " << row.flags.back());
    REQUIRE_FALSE(usable.ok());
    CHECK(absl::IsInvalidArgument(usable.status()));
    CHECK(says(usable.status(), row.reason));
    CHECK(says(usable.status(), "fmha_fwd_x: flag"));
  }
}

TEST_CASE("Flags are judged as they reach the compiler: with {root} expanded") {
  BlobSpec spec;
  spec.stem = "fmha_fwd_x";
  for (const char* root : {"/r,-plugin,/tmp/x.so", "/r,other.o"}) {
    spec.root = root;
    spec.flags = {"-Wl,-rpath,{root}/lib"};
    CHECK(absl::IsInvalidArgument(usable_flags(spec).status()));
  }
  spec.root = "@/tmp/args";
  spec.flags = {"{root}"};
  CHECK(says(usable_flags(spec).status(), "arguments"));
}

TEST_CASE("The compiler's own home is one of its folders") {
  BlobSpec spec{.stem = "fmha_fwd_x",
                .toolchain = kHipToolchain,
                .root = "/r",
                .source = "x.cpp",
                .flags = {"-isystem", "/srv/rocm/include"},
                .archs = {},
                .exports = {},
                .glue = {}};
  CHECK_FALSE(usable_flags(spec).ok());
  CHECK(usable_flags(spec, "/srv/rocm/bin/hipcc").ok());
}

TEST_CASE("A root that is the system's or everybody's is refused") {
  BlobSpec spec;
  spec.stem = "fmha_fwd_x";
  for (const char* root :
       {"/", "/etc", "/etc/ssl", "/proc/self", "/home", "/root", "/tmp", "/usr/include", "/var/lib/"}) {
    INFO(root);
    spec.root = root;
    CHECK(says(usable_flags(spec).status(), "fmha_fwd_x: root"));
  }
  for (const char* root :
       {"/r", "/home/me/mha/ck_jit", "/tmp/x/root", "/opt/mha/ck_jit", "/usr/local/lib/mha", "/aiter"}) {
    INFO(root);
    spec.root = root;
    CHECK(usable_flags(spec).ok());
  }
}
