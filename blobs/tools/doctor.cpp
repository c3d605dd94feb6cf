// The doctor: tries what toolchain.h promises, on a trivial blob for each arch. See examine_toolchains there.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/blob_compiler.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommonArchs[] = {"gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
constexpr char kHostSource[] = "extern \"C\" int hearth_doctor(int x) { return x + 1; }\n";
constexpr char kHipSource[] =
    "#include <hip/hip_runtime.h>\n"
    "__global__ void next(float* p) { p[threadIdx.x] += sinf(p[threadIdx.x]); }\n"
    "extern \"C\" int hearth_doctor(float* p) { next<<<1, 64>>>(p); return hipGetLastError(); }\n";

// What aiter's host sources use and old HIP headers lack.
constexpr char kAiterSource[] =
    "#include <hip/hip_runtime.h>\n"
    "extern \"C\" int hearth_doctor() {\n"
    "  return static_cast<int>(sizeof(&hipGetFuncBySymbol)) + hipDeviceAttributePciChipId;\n"
    "}\n";

class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "hearth-doctor.XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ArchReport examine(const Toolchain& toolchain, const std::string& arch, const char* text) {
  ArchReport report{.arch = arch.empty() ? "host" : arch, .works = false, .detail = {}};
  if (const absl::Status can = toolchain.supports(arch); !can.ok()) {
    report.detail = std::string(can.message());
    return report;
  }
  const ScratchFolder scratch;
  const bool hip = toolchain.kind == kHipToolchain;
  const std::string source = hip ? "doctor.hip" : "doctor.cpp";
  const absl::Status written = runtime::write_file(str_cat(scratch.path(), "/", source), {text});
  if (scratch.path().empty() || !written.ok()) {
    report.detail = "no place to try it: the folder for temporary files cannot be written; set TMPDIR";
    return report;
  }
  BlobSpec spec{.stem = "doctor",
                .toolchain = toolchain.kind,
                .root = scratch.path(),
                .source = source,
                .flags = {},
                .archs = {},
                .exports = {"hearth_doctor"},
                .glue = {}};
  if (!arch.empty()) spec.archs.push_back(arch);
  const auto blob = compile_blob(spec, toolchain, {.folder = scratch.path(), .wall_limit = std::chrono::seconds(120)});
  report.works = blob.ok();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f s", blob.ok() ? blob->seconds : 0.0);
  report.detail = blob.ok() ? str_cat("a trivial kernel took ", seconds) : std::string(blob.status().message());
  return report;
}

ArchReport examine_aiter(const Toolchain& toolchain) {
  ArchReport report = examine(toolchain, "", kAiterSource);
  report.arch = "aiter's host sources";
  report.detail = report.works
                      ? "the HIP headers have what they use"
                      : "the HIP headers lack hipGetFuncBySymbol or hipDeviceAttributePciChipId: aiter's mha_*.cu "
                        "need HIP newer than 5.2, such as ROCm 6's (blobs do not)";
  return report;
}

}  // namespace

std::vector<ToolchainReport> examine_toolchains(const std::vector<std::string>& archs) {
  std::vector<ToolchainReport> reports;
  for (const char* kind : {kHipToolchain, kCxxToolchain}) {
    ToolchainReport report{.kind = kind, .found = false, .detail = {}, .archs = {}, .host_sources = {}};
    const auto toolchain = find_toolchain(kind);
    report.found = toolchain.ok();
    report.detail = toolchain.ok() ? str_cat(toolchain->compiler, ": ", toolchain->version)
                                   : std::string(toolchain.status().message());
    std::vector<std::string> wanted = {""};
    if (report.kind == kHipToolchain)
      wanted = archs.empty() ? std::vector<std::string>(std::begin(kCommonArchs), std::end(kCommonArchs)) : archs;
    if (toolchain.ok())
      for (const std::string& arch : wanted)
        report.archs.push_back(examine(*toolchain, arch, report.kind == kHipToolchain ? kHipSource : kHostSource));
    if (toolchain.ok() && report.kind == kHipToolchain) report.host_sources = examine_aiter(*toolchain);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace hearth::blobs
