#include "blobs/tools/build.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/file.h"
#include "base/own_place.h"
#include "base/program_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/aiter_build.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/fake_home.h"
#include "blobs/tools/install_tree.h"
#include "blobs/tools/post_build.h"
#include "blobs/tools/quick_state.h"
#include "blobs/tools/run_command.h"
#include "blobs/tools/runtime_part.h"
#include "blobs/tools/staged_root.h"
#include "runtime/blob_library.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using Mapping = std::vector<std::pair<std::string, std::string>>;

constexpr char kCompilePy[] = "op_tests/cpp/mha/compile.py";
constexpr const char* kLibraries[] = {"libmha_fwd", "libmha_bwd"};

std::string absolute(const std::string& path) { return absolute_path(path, fs::current_path().string()); }

// Held while a build uses its temporary folder.
class FolderLock {
 public:
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  absl::Status take(const std::string& folder) {
    fd_ = open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) return absl::ErrnoToStatus(errno, folder);
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(str_cat(folder, ": another build uses it; name another --tmp-dir or wait"));
  }

 private:
  int fd_ = -1;
};

// Where sources lie, and where in an installation: aiter's own layout.
Mapping source_mapping(const std::string& aiter, const std::string& tmp) {
  Mapping mapping = {{aiter, ""}, {tmp + "/jit", "aiter/jit"}};
  if (const std::string ck = environment_variable("CK_DIR"); !ck.empty() && !absolute(ck).starts_with(aiter + "/"))
    mapping.emplace_back(absolute(ck), "3rdparty/composable_kernel");
  return mapping;
}

std::string real_rocm_home(const FullBuildInput& input) {
  if (!input.rocm_home.empty()) return absolute(input.rocm_home);
  if (input.toolchain == kCxxToolchain) return "";
  for (const char* name : {"ROCM_HOME", "ROCM_PATH"})
    if (const std::string home = environment_variable(name); !home.empty()) return absolute(home);
  std::error_code error;
  return fs::is_directory("/opt/rocm", error) ? "/opt/rocm" : "";
}

absl::Status check(const FullBuildInput& input, const std::string& aiter) {
  if (!fs::is_regular_file(fs::path(aiter) / kCompilePy))
    return absl::NotFoundError(
        str_cat(aiter, "/", kCompilePy, ": there is no such file; --aiter-dir must name an aiter checkout"));
  if (input.gpu_archs.empty() || input.gpu_archs.find_first_of(" ,") != std::string::npos)
    return absl::InvalidArgumentError(str_cat("--gpu-archs \"", input.gpu_archs,
                                              "\": must be archs with semicolons between, e.g. \"gfx942;gfx950\""));
  if (input.toolchain != kHipToolchain && input.toolchain != kCxxToolchain)
    return absl::InvalidArgumentError(
        str_cat("--toolchain ", input.toolchain, ": must be ", kHipToolchain, " or ", kCxxToolchain));
  if (!runtime::find_named_program(input.python))
    return absl::NotFoundError(
        str_cat("--python ", input.python, ": there is no such program (an absolute path, or a name on PATH)"));
  return absl::OkStatus();
}

absl::Status run_compile_py(const FullBuildInput& input, const std::string& aiter, const std::string& tmp,
                            const FakeHome& home) {
  std::vector<Command> commands;
  for (const std::string& api : input.apis) {
    const std::string folder = tmp + "/libmha_" + api;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return absl::PermissionDeniedError(str_cat(folder, ": ", error.message()));
    fs::remove(folder + "/post_build.json", error);
    HEARTH_RETURN_IF_ERROR(unpublish_quick_state(tmp, "libmha_" + api));
    Command command{.args = {*runtime::find_named_program(input.python), str_cat(aiter, "/", kCompilePy), "--api", api},
                    .cwd = tmp,
                    .log = input.verbose ? "" : folder + "/build.log",
                    .environment = {}};
    for (const auto& [name, value] : home.environment) command.environment[name] = value;
    command.environment["GPU_ARCHS"] = input.gpu_archs;
    command.environment["CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT"] = input.ck_tile_bf16;
    command.environment["AITER_JIT_DIR"] = tmp + "/jit";
    commands.push_back(std::move(command));
  }
  if (input.progress)
    for (const Command& command : commands)
      input.progress(str_cat("compile.py --api ", command.args.back(), " runs; temporary folder ", tmp,
                             command.log.empty() ? "" : ", log ", command.log));
  CheckoutLibraries aside;
  std::vector<std::string> names;
  for (const char* library : kLibraries) names.push_back(str_cat(library, ".so"));
  if (absl::Status status = aside.move(fs::path(str_cat(aiter, "/", kCompilePy)).parent_path().string(), names, tmp);
      !status.ok())
    return status;
  HEARTH_RETURN_IF_ERROR(run_commands(commands, 2));
  for (const Command& command : commands) {
    const std::string failed =
        failed_generator(command.log.empty() ? "" : runtime::read_file(command.log).value_or(""));
    if (!failed.empty())
      return absl::FailedPreconditionError(
          str_cat("compile.py --api ", command.args.back(), " went on without what a generator did not write: ", failed,
                  " (log: ", command.log, "); install what it needs for ", input.python, " or update the checkout"));
  }
  return absl::OkStatus();
}

// What the post-build of `library` wrote. When nothing was linked because all was up to date, it runs now.
absl::StatusOr<std::string> post_build_line(const std::string& library, const std::string& tmp, const FakeHome& home) {
  const std::string folder = tmp + "/" + library;
  std::error_code error;
  if (!fs::exists(folder + "/post_build.json", error)) {
    if (!fs::exists(folder + "/link.json", error))
      return absl::FailedPreconditionError(
          str_cat("compile.py did not link ", library, ".so of any blobs through the interceptor (see ", folder,
                  "/build.log); it must use $ROCM_HOME/bin/hipcc to compile and that or $CXX to link"));
    const auto report = post_build(str_cat(home.path, "/", kInterceptFile), folder + "/link.json");
    return report.ok() ? absl::StatusOr<std::string>(describe(*report)) : report.status();
  }
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(folder + "/post_build.json"));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json.value("text", "") : "";
}

struct Built {
  std::vector<QuickState> libraries;
  std::vector<Manifest> manifests;
};

// Libraries whose last build did not end are left out, or refused.
absl::StatusOr<Built> read_built(const std::string& tmp, bool refuse_unfinished) {
  Built built;
  for (const char* library : kLibraries) {
    std::error_code error;
    const std::string folder = str_cat(tmp, "/", library);
    if (!fs::exists(str_cat(folder, "/", kQuickStateFile), error)) {
      if (refuse_unfinished && fs::is_directory(folder, error))
        return absl::FailedPreconditionError(str_cat(folder, ": holds no ", kQuickStateFile, ": the last build of ",
                                                     library, " did not end", kUnfinishedBuild));
      continue;
    }
    HEARTH_ASSIGN_OR_RETURN(QuickState state, read_quick_state(tmp, library));
    HEARTH_ASSIGN_OR_RETURN(Manifest manifest,
                            read_manifest(str_cat(tmp, "/", library, "/", runtime::kBlobManifestFile)));
    built.libraries.push_back(std::move(state));
    built.manifests.push_back(std::move(manifest));
  }
  return built;
}

// The staged root's manifest, for what is not in a library's embedded one; then the installation, if one is wanted.
absl::Status finish(const std::string& tmp, const std::string& install_dir, BuildReport* report) {
  HEARTH_ASSIGN_OR_RETURN(Built built, read_built(tmp, /*refuse_unfinished=*/false));
  HEARTH_ASSIGN_OR_RETURN(const Manifest all, merge_manifests(built.manifests));
  const std::string root = tmp + "/ck_jit";
  if (absl::Status status = runtime::write_file(str_cat(root, "/", runtime::kBlobManifestFile), {manifest_json(all)});
      !status.ok())
    return status;
  if (install_dir.empty()) return absl::OkStatus();
  HEARTH_ASSIGN_OR_RETURN(const InstallReport done, install_tree({.root = root,
                                                                  .install_dir = absolute(install_dir),
                                                                  .hearth = this_hearth(),
                                                                  .libraries = std::move(built.libraries),
                                                                  .manifests = std::move(built.manifests)}));
  report->lines.push_back(str_cat("installed ", done.libraries, " libraries, ", done.sources, " blob sources and ",
                                  done.files, " headers in ", absolute(install_dir)));
  return absl::OkStatus();
}

}  // namespace

std::string this_hearth() { return runtime::program_file(); }

std::string bin_folder() { return fs::path(this_hearth()).parent_path().string(); }

std::string this_hipcc() { return bin_folder() + "/hearth-hipcc"; }

std::string default_name() {
  const std::string name = environment_variable("CK_JIT_NAME");
  return name.empty() ? "ck_jit" : name;
}

std::string default_root(const std::string& otherwise) {
  const std::string root = environment_variable("CK_JIT_ROOT");
  return root.empty() ? otherwise : root;
}

absl::StatusOr<std::string> make_tmp_dir(const std::string& wanted) {
  std::error_code error;
  if (wanted.empty()) {
    std::string name = (fs::temp_directory_path(error) / "hearth_ck_jit_XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) return absl::ErrnoToStatus(errno, name);
    return name;
  }
  const std::string folder = absolute(wanted);
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    return absl::PermissionDeniedError(str_cat("--tmp-dir ", folder, ": cannot be made: ", error.message()));
  return folder;
}

absl::StatusOr<BuildReport> build_full(const FullBuildInput& input) {
  const std::string aiter = absolute(input.aiter_dir);
  HEARTH_RETURN_IF_ERROR(check(input, aiter));
  HEARTH_ASSIGN_OR_RETURN(const std::string tmp, make_tmp_dir(input.tmp_dir));
  FolderLock lock;
  HEARTH_RETURN_IF_ERROR(lock.take(tmp));
  const Mapping mapping = source_mapping(aiter, tmp);
  HEARTH_RETURN_IF_ERROR(stage_root(mapping, tmp + "/ck_jit", bin_folder()));
  const std::string compiler =
      input.compiler.empty() && input.toolchain == kCxxToolchain && input.rocm_home.empty() ? "c++" : input.compiler;
  HEARTH_ASSIGN_OR_RETURN(
      const FakeHome home,
      make_fake_home({.folder = tmp,
                      .rocm_home = real_rocm_home(input),
                      .compiler = compiler,
                      .toolchain = input.toolchain,
                      .hearth = this_hearth(),
                      .hipcc = this_hipcc(),
                      .mapping = mapping,
                      .default_root = default_root(input.install_dir.empty() ? tmp + "/ck_jit" : ""),
                      .default_name = default_name(),
                      .verify = input.verify,
                      .verbose = input.verbose}));
  HEARTH_RETURN_IF_ERROR(run_compile_py(input, aiter, tmp, home));
  BuildReport report{.tmp_dir = tmp, .lines = {}};
  for (const std::string& api : input.apis) {
    HEARTH_ASSIGN_OR_RETURN(std::string line, post_build_line("libmha_" + api, tmp, home));
    report.lines.push_back(std::move(line));
  }
  HEARTH_RETURN_IF_ERROR(finish(tmp, input.install_dir, &report));
  return report;
}

absl::StatusOr<BuildReport> build_quick(const QuickBuildInput& input) {
  BuildReport report{.tmp_dir = absolute(input.tmp_dir), .lines = {}};
  const std::string& tmp = report.tmp_dir;
  std::error_code error;
  if (!fs::is_directory(tmp, error))
    return absl::NotFoundError(str_cat("--tmp-dir ", tmp, ": there is no such folder; name the one of the full build"));
  FolderLock lock;
  HEARTH_RETURN_IF_ERROR(lock.take(tmp));
  absl::StatusOr<InterceptConfig> config = read_intercept_config(str_cat(tmp, "/rocm/", kInterceptFile));
  if (!config.ok())
    return absl::Status(config.status().code(), str_cat(config.status().message(),
                                                        "; --tmp-dir must name the folder "
                                                        "of a full build"));
  // The folder may have been moved since.
  const std::string then = config->folder;
  const auto moved = [&](std::string* path) {
    if (path->starts_with(then + "/")) *path = tmp + path->substr(then.size());
  };
  config->folder = tmp;
  config->verbose = input.verbose;
  for (auto& [folder, below] : config->mapping) {
    moved(&folder);
    if (below.empty() && !input.aiter_dir.empty()) folder = absolute(input.aiter_dir);
  }
  for (auto& [name, value] : config->environment)
    if (value) moved(&*value);
  HEARTH_RETURN_IF_ERROR(stage_root(config->mapping, tmp + "/ck_jit", bin_folder()));

  const EmbeddedDefaults defaults{.root = default_root(input.install_dir.empty() ? tmp + "/ck_jit" : ""),
                                  .name = default_name()};
  HEARTH_ASSIGN_OR_RETURN(const Built built, read_built(tmp, /*refuse_unfinished=*/true));
  for (const QuickState& state : built.libraries) HEARTH_RETURN_IF_ERROR(check_files(state));
  for (std::size_t i = 0; i < built.libraries.size(); ++i) {
    const QuickState& state = built.libraries[i];
    HEARTH_RETURN_IF_ERROR(link_library(*config, state, built.manifests[i], defaults));
    report.lines.push_back(
        str_cat(state.library, ": linked again with ", state.all_objs.size(), " objects: ", state.out_so));
  }
  if (report.lines.empty())
    return absl::NotFoundError(str_cat(tmp, ": holds no ", kQuickStateFile, "; run `hearth blobs build full` first"));
  HEARTH_RETURN_IF_ERROR(finish(tmp, input.install_dir, &report));
  return report;
}

}  // namespace hearth::blobs
