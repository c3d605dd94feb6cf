#include "blobs/tools/runtime_part.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/own_place.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/installed_library.h"
#include "blobs/tools/run_command.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string folder_of(const InterceptConfig& config, const std::string& library) {
  return config.folder + "/" + library;
}

std::vector<std::string> with(std::vector<std::string> command, std::vector<std::string> more) {
  command.insert(command.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return command;
}

std::string aiter_dir(const InterceptConfig& config) {
  for (const auto& [folder, below] : config.mapping)
    if (below.empty()) return variable("CK_JIT_AITER_DIR", folder);
  return variable("CK_JIT_AITER_DIR", "");
}

// Compiles $CK_JIT_RUNTIME_SRC; `object` is where to.
Command compile_loader(const InterceptConfig& config, const std::string& library, const std::string& source,
                       const std::string& object) {
  const std::string folder = folder_of(config, library), aiter = aiter_dir(config);
  std::vector<std::string> args = {"-O2",
                                   "-std=c++20",
                                   "-fPIC",
                                   "-fvisibility=hidden",
                                   str_cat("-DCK_JIT_IS_FWD=", library == "libmha_fwd" ? 1 : 0),
                                   "-I" + folder,
                                   "-I" + loader_include(config, library)};
  const auto include = [&](const char* name, const std::string& otherwise) {
    if (const std::string path = variable(name, otherwise); !path.empty()) args.push_back("-I" + path);
  };
  include("CK_JIT_CK_INCLUDE", aiter.empty() ? "" : aiter + "/3rdparty/composable_kernel/include");
  include("CK_JIT_AITER_INCLUDE", aiter.empty() ? "" : aiter + "/csrc/include");
  include("CK_JIT_ROCM_INCLUDE", config.real_home.empty() ? "" : config.real_home + "/include");
  return {.args = with(with(config.compiler("hipcc"), args), {"-c", source, "-o", object}),
          .cwd = folder,
          .log = folder + "/runtime.log",
          .environment = config.real_environment()};
}

// The archive or object of the loader; adds the compile of one that is given as a source.
absl::StatusOr<std::string> find_loader(const InterceptConfig& config, const std::string& library,
                                        std::vector<Command>* compiles) {
  const std::string wanted = variable("CK_JIT_RUNTIME_SRC", "");
  std::error_code error;
  if (!wanted.empty()) {
    if (!fs::is_regular_file(wanted, error))
      return absl::NotFoundError(str_cat("CK_JIT_RUNTIME_SRC=", wanted, ": there is no such file"));
    const std::string path = fs::absolute(wanted, error).string();
    if (path.ends_with(".a") || path.ends_with(".o")) return path;
    const std::string object = folder_of(config, library) + "/ck_jit_runtime.o";
    compiles->push_back(compile_loader(config, library, path, object));
    return object;
  }
  const fs::path bin = fs::path(runtime::program_file()).parent_path();
  const std::string archive = installed_library(bin, "libhearth_blob.a");
  if (fs::is_regular_file(archive, error)) return archive;
  return absl::NotFoundError(
      str_cat(archive, ": there is no such file; install it there or name one with CK_JIT_RUNTIME_SRC"));
}

}  // namespace

std::string manifest_object(const InterceptConfig& config, const std::string& library) {
  return folder_of(config, library) + "/ck_jit_manifest_embedded.o";
}

std::string loader_include(const InterceptConfig& config, const std::string& library) {
  return folder_of(config, library) + "/include";
}

absl::Status write_loader_header(const InterceptConfig& config, const std::string& library) {
  const std::string folder = loader_include(config, library) + "/blobs/loader";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(str_cat(folder, ": ", error.message()));
  return runtime::write_file(folder + "/hearth_blob.h", {kLoaderHeader});
}

absl::Status link_library(const InterceptConfig& config, const QuickState& state, const Manifest& manifest,
                          const EmbeddedDefaults& defaults) {
  const std::string folder = folder_of(config, state.library), own = manifest_object(config, state.library);
  std::error_code error;
  for (const std::string& object : state.all_objs)
    if (object != own && !fs::is_regular_file(object, error))
      return absl::NotFoundError(
          str_cat("object ", object, ": is gone; run `hearth blobs build full` with this --tmp-dir again"));
  HEARTH_RETURN_IF_ERROR(write_loader_header(config, state.library));
  const EmbeddedManifest text = embedded_manifest(manifest, defaults);
  if (absl::Status status = runtime::write_file(folder + "/ck_jit_manifest_embedded.h", {text.header}); !status.ok())
    return status;
  const std::string source = folder + "/ck_jit_manifest_embedded.cpp";
  HEARTH_RETURN_IF_ERROR(runtime::write_file(source, {text.source}));

  std::vector<Command> compiles;
  // Plain C++ for every toolchain: no device pass over an array of names.
  compiles.push_back({.args = with(config.compiler("hipcc"),
                                   {"-x", "c++", "-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-I" + folder,
                                    "-I" + loader_include(config, state.library), "-c", source, "-o", own}),
                      .cwd = folder,
                      .log = folder + "/ck_jit_manifest_embedded.log",
                      .environment = config.real_environment()});
  HEARTH_ASSIGN_OR_RETURN(const std::string loader, find_loader(config, state.library, &compiles));
  HEARTH_RETURN_IF_ERROR(run_commands(compiles, 2));

  std::vector<std::string> link = config.compiler(state.tool);
  for (const std::string& word : state.link_args) {
    if (word == kObjectsMark) {
      link.insert(link.end(), state.all_objs.begin(), state.all_objs.end());
      link.push_back(loader);
    } else {
      link.push_back(word);
    }
  }
  // Written beside and renamed: who has the old library open keeps it, and a failed link leaves it.
  const std::string output = state.out_so + ".part";
  link.insert(link.end(), {"-ldl", "-lpthread", "-o", output});
  const std::string cwd = fs::is_directory(state.cwd, error) ? state.cwd : folder;
  absl::Status status = run_commands(
      {{.args = std::move(link), .cwd = cwd, .log = folder + "/link.log", .environment = config.real_environment()}},
      1);
  if (status.ok()) {
    fs::rename(output, state.out_so, error);
    if (error) status = absl::PermissionDeniedError(str_cat(state.out_so, ": cannot be written: ", error.message()));
  }
  if (!status.ok()) fs::remove(output, error);
  return status;
}

}  // namespace hearth::blobs
