#include "blobs/tools/fake_home.h"

#include <cstdlib>
#include <filesystem>

#include "base/environment.h"
#include "base/program_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/toolchain.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using runtime::find_named_program;
using runtime::is_program;

// Compilers of a ROCm home that a build may call by name; each is replaced where the real one has it.
constexpr const char* kReplaced[] = {"hipcc", "hipcc.exe", "amdclang++", "amdclang"};
// A real home that is no ROCm tree of its own, such as /usr: only what belongs to ROCm is linked from its bin.
constexpr const char* kShared[] = {"/", "/usr", "/usr/local"};
constexpr const char* kRocmPrograms[] = {"hip", "roc", "amd", "clang", "llvm", "lld", "offload"};

bool is_replaced(const std::string& name) {
  for (const char* replaced : kReplaced)
    if (name == replaced) return true;
  return false;
}

bool belongs_to_rocm(const std::string& name) {
  for (const char* prefix : kRocmPrograms)
    if (name.starts_with(prefix)) return true;
  return false;
}

absl::Status link_entries(const fs::path& real, const fs::path& fake, bool only_rocm) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(real, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "bin" || is_replaced(name) || (only_rocm && !belongs_to_rocm(name))) continue;
    if (fs::path(name) == fs::path(kInterceptFile).parent_path()) continue;
    fs::create_symlink(entry.path(), fake / name, error);
    if (error) break;
  }
  if (error)
    return absl::PermissionDeniedError(str_cat(fake.string(), ": cannot link ", real.string(), ": ", error.message()));
  return absl::OkStatus();
}

absl::Status link_real_home(const std::string& rocm_home, const fs::path& fake) {
  if (rocm_home.empty()) return absl::OkStatus();
  bool shared = false;
  for (const char* home : kShared) shared |= rocm_home == home;
  HEARTH_RETURN_IF_ERROR(link_entries(rocm_home, fake, false));
  std::error_code error;
  const fs::path bin = fs::path(rocm_home) / "bin";
  return fs::is_directory(bin, error) ? link_entries(bin, fake / "bin", shared) : absl::OkStatus();
}

absl::Status install_program(const std::string& program, const fs::path& as) {
  std::error_code error;
  fs::remove(as, error);  // a link to the real one must not be written through
  fs::copy_file(program, as, error);
  if (error) return absl::PermissionDeniedError(str_cat(as.string(), ": cannot be written: ", error.message()));
  return absl::OkStatus();
}

absl::Status find_compilers(const FakeHomeInput& input, const std::string& fake_bin, InterceptConfig* config) {
  const std::string bin = input.rocm_home + "/bin/";
  std::string hipcc;
  if (input.compiler.empty() && input.rocm_home.empty() && input.toolchain == kHipToolchain) {
    // No ROCm: the clang that compiles the blobs later compiles the host's sources now.
    HEARTH_ASSIGN_OR_RETURN(const Toolchain toolchain, find_toolchain(kHipToolchain));
    hipcc = toolchain.compiler;
    config->compile_flags["hipcc"] = toolchain.prefix_flags;
  } else {
    const std::string wanted = !input.compiler.empty() ? input.compiler : bin + "hipcc";
    hipcc = find_named_program(wanted, fake_bin).value_or("");
    if (hipcc.empty())
      return absl::NotFoundError(str_cat("compiler ", wanted,
                                         ": there is no such program; name one (by an absolute path, or a name on "
                                         "PATH) with --compiler, or a ROCm home that has "
                                         "bin/hipcc with --rocm-home"));
    // A clang that was named is told the same as one that was found: by itself it would take aiter's .cu for CUDA.
    if (input.toolchain == kHipToolchain && input.rocm_home.empty()) {
      const absl::StatusOr<Toolchain> toolchain = find_toolchain(kHipToolchain);
      std::error_code error;
      if (toolchain.ok() && fs::equivalent(toolchain->compiler, hipcc, error))
        config->compile_flags["hipcc"] = toolchain->prefix_flags;
    }
  }
  config->compilers["hipcc"] = {hipcc};
  for (const char* name : kReplaced)
    if (!input.rocm_home.empty() && is_program(bin + name) && std::string_view(name) != "hipcc")
      config->compilers[name] = {bin + name};
  // $CXX links the library in aiter's builds; it may be several words, e.g. "ccache g++".
  std::vector<std::string> cxx = split_words(environment_variable("CXX"));
  if (cxx.empty()) cxx = {input.toolchain == kCxxToolchain ? hipcc : "c++"};
  const std::string linker = find_named_program(cxx[0], fake_bin).value_or("");
  if (linker.empty())
    return absl::NotFoundError(str_cat(
        "C++ compiler ", cxx[0], ": there is no such program (an absolute path, or a name on PATH); set CXX to one"));
  cxx[0] = linker;
  config->compilers["c++"] = cxx;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FakeHome> make_fake_home(const FakeHomeInput& input) {
  FakeHome home{.path = input.folder + "/rocm", .config = {}, .environment = {}};
  std::error_code error;
  if (!input.rocm_home.empty() && !fs::is_directory(input.rocm_home, error))
    return absl::NotFoundError(str_cat("ROCm home ", input.rocm_home, ": is not a folder; name it with --rocm-home"));
  const std::string intercept = str_cat(home.path, "/", kInterceptFile);
  if (fs::exists(intercept, error))  // what another version recorded here would be misread
    if (auto old = read_intercept_config(intercept); !old.ok())
      return absl::FailedPreconditionError(
          str_cat(old.status().message(), " (remove ", input.folder, " or name another --tmp-dir first)"));
  InterceptConfig& config = home.config;
  HEARTH_RETURN_IF_ERROR(find_compilers(input, home.path + "/bin", &config));
  if (input.hipcc.empty() || !is_program(input.hipcc))
    return absl::NotFoundError(str_cat("hearth-hipcc: not found beside ", input.hearth, "; install it there"));

  fs::remove_all(home.path, error);
  fs::create_directories(fs::path(intercept).parent_path(), error);
  if (!error) fs::create_directories(home.path + "/bin", error);
  if (error) return absl::PermissionDeniedError(str_cat(home.path, ": cannot be made: ", error.message()));
  HEARTH_RETURN_IF_ERROR(link_real_home(input.rocm_home, home.path));

  config.toolchain = input.toolchain;
  config.records = input.folder + "/manifest.json.ndjson";
  config.folder = input.folder;
  config.fake_home = home.path;
  config.real_home = input.rocm_home;
  config.post_build = {input.hearth, "blobs", "post-build"};
  config.mapping = input.mapping;
  config.default_root = input.default_root;
  config.default_name = input.default_name;
  config.verify = input.verify;
  config.verbose = input.verbose;

  home.environment["PATH"] = str_cat(home.path, "/bin:", environment_variable("PATH"));
  // Builds split CXX into words, so that a path with a space in it cannot be said; then it is found by PATH.
  home.environment["CXX"] = home.path.find(' ') == std::string::npos ? home.path + "/bin/c++" : "c++";
  home.environment[kInterceptVariable] = intercept;
  for (const char* name : {"ROCM_PATH", "ROCM_HOME", "HIP_PATH"}) home.environment[name] = home.path;
  for (const auto& [name, value] : home.environment) {
    if (name == "PATH") continue;  // InterceptConfig::real_environment
    const char* now = std::getenv(name.c_str());
    config.environment[name] = now != nullptr ? std::optional<std::string>(now) : std::nullopt;
  }
  // ROCm's hipcc finds its own parts by these.
  if (!input.rocm_home.empty())
    for (const char* name : {"ROCM_PATH", "ROCM_HOME", "HIP_PATH"}) config.environment[name] = input.rocm_home;
  config.environment.erase(kInterceptVariable);  // a compiler that is a script may call bin/hipcc again
  HEARTH_RETURN_IF_ERROR(write_intercept_config(config, intercept));
  for (const auto& [name, command] : config.compilers)
    if (absl::Status status = install_program(input.hipcc, fs::path(home.path) / "bin" / name); !status.ok())
      return status;
  return home;
}

}  // namespace hearth::blobs
