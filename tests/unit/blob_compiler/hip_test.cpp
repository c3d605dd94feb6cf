// Real device code for two GPUs, compiled by clang++-19 with Debian's packages and made ISA bitcode.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "blobs/tools/elf_exports.h"
#include "blobs/tools/isa_bitcode.h"
#include "tests/support/skip.h"
#include "tests/unit/blob_compiler/place.h"

using namespace hearth::blobs;
using namespace hearth::blobs::testing;

namespace {

constexpr char kKernel[] =
    "#include <hip/hip_runtime.h>\n"
    "#if defined(__HIP_DEVICE_COMPILE__)\n#include \"device.h\"\n#else\n#include \"host.h\"\n#endif\n"
    "#if defined(__gfx90a__)\n#include \"only_90a.h\"\n#endif\n"
    "template <class T> __global__ void scale(T* p) { p[threadIdx.x] = sinf(p[threadIdx.x]) * FACTOR; }\n"
    "template <class T> int launch_(T* p) { return -1; }\n"
    "template <> int launch_<float>(float* p) { scale<float><<<1, 64>>>(p); return FACTOR; }\n";

BlobSpec hip_spec(const Place& place) {
  place.write("root/include/device.h", "#define FACTOR 2\n");
  place.write("root/include/host.h", "#define FACTOR 3\n");
  place.write("root/include/only_90a.h", "\n");
  place.write("root/fmha_x.cpp", kKernel);
  return {.stem = "fmha_x",
          .toolchain = kHipToolchain,
          .root = place.root(),
          .source = "fmha_x.cpp",
          .flags = {"-O3", "-std=c++20", "-I{root}/include", "-fvisibility=hidden"},
          .archs = {"gfx942", "gfx90a"},
          .exports = {"_Z7launch_IfE"},
          .glue = {}};
}

// "" where there is a compiler (Debian's will do), else what is missing.
std::string missing_for_hip() { return std::string(find_toolchain(kHipToolchain).status().message()); }

bool has_argument(const CompiledBlob& blob, const std::string& path) {
  return std::any_of(blob.dependencies.begin(), blob.dependencies.end(),
                     [&](const Dependency& file) { return file.path == path; });
}

}  // namespace

TEST_CASE("A HIP blob for gfx942 and gfx90a: code for both, the export, and the headers of every pass") {
  const Place place;
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  const BlobSpec spec = hip_spec(place);
  const auto blob = place.compile(spec);
  INFO(std::string(blob.status().message()));
  REQUIRE(blob.ok());
  const auto object = read_elf_object(place.read("work/fmha_x.so"));
  REQUIRE(object.ok());
  CHECK(object->has_fat_binary);
  CHECK(object->gpu_targets ==
        std::vector<std::string>{"hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx942"});
  CHECK(check_blob_object(place.read("work/fmha_x.so"), spec.exports, {"gfx942"}).ok());
  CHECK(absl::IsDataLoss(check_blob_object(place.read("work/fmha_x.so"), spec.exports, {"gfx1100"})));
  for (const char* header : {"device.h", "host.h", "only_90a.h"}) {
    INFO(header);
    CHECK(has_argument(*blob, std::string("{root}/include/") + header));
  }
  REQUIRE(dependencies_unchanged(spec, blob->dependencies));
  place.write("root/include/device.h", "#define FACTOR 5\n");
  CHECK_FALSE(dependencies_unchanged(spec, blob->dependencies));
}

TEST_CASE("HIP: two roots and two bitcode folders give the same bytes; so does glue") {
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  std::vector<std::string> plain, glued;
  for (int i = 0; i < 2; ++i) {
    const Place place;  // its own cache, and so its own bitcode
    BlobSpec spec = hip_spec(place);
    spec.archs = {"gfx942"};
    REQUIRE(place.compile(spec).ok());
    plain.push_back(place.read("work/fmha_x.so"));
    spec.glue = "extern \"C\" int hearth_glue(float* p) { return launch_<float>(p); }\n";
    spec.exports.emplace_back("hearth_glue");
    REQUIRE(place.compile(spec).ok());
    glued.push_back(place.read("work/fmha_x.so"));
  }
  CHECK(plain[0] == plain[1]);
  CHECK(glued[0] == glued[1]);
}

TEST_CASE("Features of an arch are kept apart") {
  const Place place;
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  BlobSpec spec = hip_spec(place);
  spec.archs = {"gfx90a:xnack-", "gfx942:sramecc+"};
  const auto blob = place.compile(spec);
  INFO(std::string(blob.status().message()));
  CHECK(blob.ok());
  CHECK(check_blob_object(place.read("work/fmha_x.so"), {}, {"gfx90a:xnack-", "gfx942:sramecc+"}).ok());
  CHECK_FALSE(check_blob_object(place.read("work/fmha_x.so"), {}, {"gfx90a:xnack+"}).ok());
}

TEST_CASE("An arch that the compiler does not know is refused with those it does") {
  const Place place;
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  const auto toolchain = find_toolchain(kHipToolchain);
  if (toolchain->supports("gfx950").ok()) {
    hearth::test::skip_part("this compiler knows gfx950");
  } else {
    BlobSpec spec = hip_spec(place);
    spec.archs = {"gfx942", "gfx950"};
    const auto blob = place.compile(spec);
    CHECK(absl::IsUnimplemented(blob.status()));
    says(blob.status(), "fmha_x: arch gfx950: ");
    says(blob.status(), "gfx90a");
    says(blob.status(), "gfx942");
  }
  CHECK(absl::IsUnimplemented(toolchain->supports("gfx90a:nonsense+")));
  for (const char* bad : {"", "sm_90", "gfx942 -o/tmp/x", "gfx942\n", "gfx942;ls"}) {
    INFO(bad);
    if (*bad != '\0') CHECK(absl::IsInvalidArgument(toolchain->supports(bad)));
  }
  CHECK(toolchain->supports("").ok());
  CHECK(absl::IsUnimplemented(find_toolchain(kCxxToolchain)->supports("gfx942")));
}

TEST_CASE("A hipcc as ROCm has it: it knows its own paths, and is only told what to compile") {
  Place place;
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  const auto clang = find_toolchain(kHipToolchain);
  std::string words;
  for (const std::string& flag : clang->prefix_flags)
    if (flag.starts_with("--")) words += " " + flag;
  std::string libraries;
  for (const std::string& flag : clang->link_flags) libraries += " " + flag;
  const std::string hipcc =
      place.write("rocm/bin/hipcc", "#!/bin/sh\n[ \"$1\" = --version ] && { echo HIP version: 6.2.0; exit 0; }\nexec " +
                                        clang->compiler + words + " \"$@\"" + libraries + "\n");
  std::filesystem::permissions(hipcc, std::filesystem::perms::owner_all);
  place.set("ROCM_PATH", place.path("rocm"));
  const auto toolchain = find_toolchain(kHipToolchain);
  REQUIRE(toolchain.ok());
  CHECK(toolchain->compiler == hipcc);
  CHECK(toolchain->digest != clang->digest);
  CHECK(absl::IsUnimplemented(toolchain->supports("gfx9999")));
  const BlobSpec spec = hip_spec(place);
  const auto blob = place.compile(spec);
  INFO(std::string(blob.status().message()));
  REQUIRE(blob.ok());
  CHECK(check_blob_object(place.read("work/fmha_x.so"), spec.exports, spec.archs).ok());
  CHECK(has_argument(*blob, "{root}/include/device.h"));
}

TEST_CASE("A compiler that cannot be asked is not one that does not know the arch") {
  Place place;
  place.set("HEARTH_HIPCC", place.stub("hipcc", "echo 'no space left for me' >&2; exit 1"));
  const auto toolchain = find_toolchain(kHipToolchain);
  REQUIRE(toolchain.ok());
  const absl::Status status = toolchain->supports("gfx942");
  CHECK(absl::IsFailedPrecondition(status));
  says(status, "no space left for me");
}

TEST_CASE("A HIP blob without GPU code, and device code that does not compile") {
  const Place place;
  if (const std::string missing = missing_for_hip(); !missing.empty()) SKIP_CASE(missing);
  BlobSpec spec = hip_spec(place);
  place.write("root/fmha_x.cpp",
              "template <class T> int launch_(T*);\ntemplate <> int launch_<float>(float*) { return 1; }\n");
  spec.archs = {"gfx942"};
  const auto empty = place.compile(spec);
  CHECK(absl::IsDataLoss(empty.status()));
  says(empty.status(), "no GPU code");
  place.write("root/fmha_x.cpp", "#if __HIP_DEVICE_COMPILE__\n#error only on the device\n#endif\n");
  const auto wrong = place.compile(spec);
  CHECK(absl::IsFailedPrecondition(wrong.status()));
  says(wrong.status(), "only on the device");
}

TEST_CASE("ISA numbers as device code knows them") {
  CHECK(isa_version("gfx900") == 9000);
  CHECK(isa_version("gfx90a") == 9010);
  CHECK(isa_version("gfx942") == 9402);
  CHECK(isa_version("gfx1036") == 10306);
  CHECK(isa_version("gfx1100") == 11000);
  CHECK(isa_version("gfx1201") == 12001);
  for (const char* other : {"gfx9-generic", "gfx", "gfx94", "gfx94x", "tahiti", "", "gfx12345"})
    CHECK_FALSE(isa_version(other).has_value());
}
