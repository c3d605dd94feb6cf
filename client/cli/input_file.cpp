#include "client/cli/input_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/print.h"

namespace hearth::cli {
namespace {

// Where a command keeps the arguments that were parsed for it.
struct InputFiles {
  const CLI::App* command;
  std::string* one;
  std::vector<std::string>* many;
};

std::vector<InputFiles>& all_input_files() {
  static std::vector<InputFiles> files;
  return files;
}

std::string described(const std::string& text) { return text + "; - is standard input"; }

constexpr char kKept[] = "/proc/self/fd/";

// A file of this process that nobody else has a name for; it is open, and there, until the process ends.
absl::StatusOr<std::string> kept_in_memory(const std::string& stream) {
  HEARTH_ASSIGN_OR_RETURN(const std::string bytes, runtime::read_input(stream));
  const int file = ::memfd_create("hearth-input", MFD_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, str_cat(runtime::input_name(stream), ": cannot be kept in memory"));
  const std::string path = str_cat(kKept, file);
  HEARTH_RETURN_IF_ERROR(runtime::write_file(path, {bytes}));
  show_path_as(path, runtime::input_name(stream));
  return path;
}

absl::Status keep_stream(std::string& path) {
  if (!runtime::is_stream(path)) return absl::OkStatus();
  absl::StatusOr<std::string> kept = kept_in_memory(path);
  if (kept.ok()) path = *std::move(kept);
  return kept.status();
}

}  // namespace

bool is_kept_stream(const std::string& path) { return path.starts_with(kKept); }

CLI::Option* add_input_file(CLI::App& command, const std::string& name, std::string& path, const std::string& text) {
  all_input_files().push_back({&command, &path, nullptr});
  return command.add_option(name, path, described(text))->type_name("FILE");
}

CLI::Option* add_input_files(CLI::App& command, const std::string& name, std::vector<std::string>& paths,
                             const std::string& text) {
  all_input_files().push_back({&command, nullptr, &paths});
  return command.add_option(name, paths, described(text))->type_name("FILE");
}

absl::Status keep_streams(const CLI::App& command) {
  for (const InputFiles& files : all_input_files()) {
    if (files.command != &command) continue;
    if (files.one != nullptr) {
      HEARTH_RETURN_IF_ERROR(keep_stream(*files.one));
      continue;
    }
    for (std::string& path : *files.many) {
      HEARTH_RETURN_IF_ERROR(keep_stream(path));
    }
  }
  return absl::OkStatus();
}

}  // namespace hearth::cli
