// From recorded compiles to a manifest: which flags stay, which paths become relative, which family a blob is of.
#include "blobs/tools/recorded_manifest.h"

#include <catch2/catch.hpp>

namespace hearth::blobs {
namespace {

using Words = std::vector<std::string>;

InterceptConfig config_of() {
  InterceptConfig config;
  config.compilers["hipcc"] = {"/opt/rocm/bin/hipcc"};
  config.toolchain = kHipToolchain;
  config.fake_home = "/t/rocm";
  config.real_home = "/opt/rocm";
  config.mapping = {{"/src/aiter", ""}, {"/t/jit", "aiter/jit"}};
  return config;
}

Record compile_record_of(const std::string& kind, const std::string& name, const Words& flags) {
  Record record{.kind = kind,
                .tool = "hipcc",
                .source = "/t/jit/build/libmha_fwd/blob/" + name,
                .output = "/t/jit/build/x.o",
                .cwd = "/t/jit/build/libmha_fwd/build",
                .args = flags};
  record.args.insert(record.args.end(), {"-c", record.source, "-o", "x.o"});
  return record;
}

const Record kApi = compile_record_of(kDispatcherRecord, "fmha_fwd_api.cpp", {});

absl::StatusOr<Manifest> made(const std::vector<Record>& records) {
  return recorded_manifest("libmha_fwd", records, config_of());
}

TEST_CASE("flags are sorted out and paths made relative to the root") {
  const auto manifest = made({kApi, compile_record_of(kBlobRecord, "fmha_fwd_a.cpp",
                                                      {"-DWITH_HIP",
                                                       "-I/src/aiter/csrc/include",
                                                       "-I",
                                                       "../blob",
                                                       "-isystem",
                                                       "/t/rocm/include",
                                                       "-I/usr/include/x",
                                                       "-O3",
                                                       "-O3",
                                                       "-fvisibility=hidden",
                                                       "-fvisibility-inlines-hidden",
                                                       "-mllvm",
                                                       "--lsr-drop-solution=1",
                                                       "--offload-arch=gfx942",
                                                       "--offload-arch=gfx950",
                                                       "--offload-arch=gfx942",
                                                       "-MMD",
                                                       "-MF",
                                                       "x.o.d",
                                                       "-MP",
                                                       "-include",
                                                       "/src/aiter/pre.hpp",
                                                       "-DCONFIG=/src/aiter/config.h",
                                                       "-DOTHER=/srcs/aiter",
                                                       "--rocm-path=/t/rocm"})});
  REQUIRE(manifest.ok());
  REQUIRE(manifest->blobs.size() == 1);
  const Blob& blob = manifest->blobs[0];
  CHECK(blob.stem == "fmha_fwd_a");
  CHECK(blob.source == "aiter/jit/build/libmha_fwd/blob/fmha_fwd_a.cpp");
  CHECK(blob.archs == Words{"gfx942", "gfx950"});
  CHECK(blob.flags == Words{"-DWITH_HIP", "-I{root}/csrc/include", "-I", "{root}/aiter/jit/build/libmha_fwd/blob",
                            "-isystem", "/opt/rocm/include", "-I/usr/include/x", "-O3", "-O3",
                            "-fvisibility-inlines-hidden", "-mllvm", "--lsr-drop-solution=1", "-include",
                            "{root}/pre.hpp", "-DCONFIG={root}/config.h", "-DOTHER=/srcs/aiter",
                            "--rocm-path=/opt/rocm"});
}

TEST_CASE("a blob's family is the longest dispatcher's name it begins with") {
  const auto manifest = made({kApi, compile_record_of(kDispatcherRecord, "fmha_fwd_splitkv_api.cpp", {}),
                              compile_record_of(kBlobRecord, "fmha_fwd_splitkv_d64.cpp", {}),
                              compile_record_of(kBlobRecord, "fmha_fwd_split_d64.cpp", {})});
  REQUIRE(manifest.ok());
  CHECK(manifest->blobs[0].family == "fmha_fwd");
  CHECK(manifest->blobs[1].family == "fmha_fwd_splitkv");
}

TEST_CASE("what cannot be a manifest is told by the source") {
  Record outside = compile_record_of(kBlobRecord, "fmha_fwd_a.cpp", {});
  outside.source = "/elsewhere/blob/fmha_fwd_a.cpp";
  Record again = compile_record_of(kBlobRecord, "fmha_fwd_a.cpp", {});
  again.source = "/src/aiter/blob/fmha_fwd_a.cpp";
  const struct {
    std::vector<Record> records;
    const char* told;
  } rows[] = {
      {{kApi, outside}, "/elsewhere/blob/fmha_fwd_a.cpp: lies in none of the source folders"},
      {{kApi, compile_record_of(kBlobRecord, "fmha_bwd_a.cpp", {})},
       "fmha_bwd_a.cpp: libmha_fwd is linked of no dispatcher"},
      {{kApi, compile_record_of(kBlobRecord, "fmha_fwd_a.cpp", {}), again}, "blob fmha_fwd_a: is there twice"},
      {{kApi, compile_record_of(kBlobRecord, "fmha_fwd_a.cpp", {"--offload-arch=gfx942"}),
        compile_record_of(kBlobRecord, "fmha_fwd_b.cpp", {"--offload-arch=gfx950"})},
       "fmha_fwd_a and fmha_fwd_b: are compiled for different archs"},
  };
  for (const auto& row : rows) {
    const auto manifest = made(row.records);
    CHECK(manifest.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(manifest.status().message()), Catch::Contains(row.told));
  }
}

TEST_CASE("a dispatcher is compiled again with its own flags and other files") {
  const Record record = compile_record_of(kDispatcherRecord, "fmha_fwd_api.cpp",
                                          {"-O3", "-MMD", "-MF", "x.d", "-mllvm", "-c", "-fvisibility=hidden"});
  CHECK(recompile_args(record, "/n/api.cpp", "/n/api.o") ==
        Words{"-O3", "-mllvm", "-c", "-fvisibility=hidden", "-c", "/n/api.cpp", "-o", "/n/api.o"});
}

}  // namespace
}  // namespace hearth::blobs
