#include "blobs/tools/toolchain_files.h"

#include <elf.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "base/file_digest/file_digest_cache.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/child_process.h"

namespace hearth::blobs {
namespace {

constexpr std::chrono::seconds kAnswerLimit{20};

bool is_elf(const std::string& path) {
  char magic[SELFMAG] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, SELFMAG) && std::string_view(magic, SELFMAG) == std::string_view(ELFMAG, SELFMAG);
}

// What the dynamic loader would load for a program. A static one ignores the loader's variable and says its version.
std::vector<std::string> loaded_by(const std::string& program) {
  std::vector<std::string> environment = minimal_environment({});
  environment.emplace_back("LD_TRACE_LOADED_OBJECTS=1");
  const auto run =
      run_child({.arguments = {program, "--version"}, .environment = environment, .wall_limit = kAnswerLimit});
  std::vector<std::string> paths;
  if (!run.ok()) return paths;
  // "\tlibLLVM.so.19.1 => /usr/lib/llvm-19/lib/libLLVM.so.19.1 (0x…)", "\t/lib64/ld-linux-x86-64.so.2 (0x…)"
  for (std::size_t at = run->output.find('/'); at != std::string::npos; at = run->output.find('/', at)) {
    const std::size_t end = std::min(run->output.find_first_of(" \n", at), run->output.size());
    if (at > 0 && (run->output[at - 1] == ' ' || run->output[at - 1] == '\t') &&
        run->output.compare(end, 4, " (0x") == 0)
      paths.push_back(run->output.substr(at, end - at));
    at = end;
  }
  return paths;
}

// The path of a program that the compiler starts, or "" when it starts none of that name.
std::string program_of(const std::string& compiler, const std::string& name) {
  const auto run = run_child({.arguments = {compiler, "-print-prog-name=" + name},
                              .environment = minimal_environment({}),
                              .wall_limit = kAnswerLimit});
  if (!run.ok() || run->exit_code != 0) return {};
  const std::string line = run->output.substr(0, run->output.find('\n'));
  return line.starts_with('/') && files::stamp_of_file(line) ? line : std::string();
}

std::string without_links(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

std::vector<std::string> compiler_files(const std::string& compiler) {
  std::set<std::string> programs = {without_links(compiler)};
  for (const char* name : {"cc1plus", "as", "ld", "collect2", "lld", "clang-offload-bundler"})
    if (const std::string path = program_of(compiler, name); !path.empty()) programs.insert(without_links(path));
  std::set<std::string> files = programs;
  for (const std::string& program : programs)
    if (is_elf(program))
      for (const std::string& loaded : loaded_by(program)) files.insert(without_links(loaded));
  return {files.begin(), files.end()};
}

absl::StatusOr<std::vector<StampedFile>> stamped(const std::vector<std::string>& paths) {
  static files::FileDigestCache memo(std::numeric_limits<std::uint64_t>::max());  // compilers may be of any size
  std::vector<StampedFile> files;
  for (const std::string& path : paths) {
    const auto stamp = files::stamp_of_file(path);
    if (!stamp) return absl::NotFoundError(str_cat(path, ": vanished while it was looked at"));
    HEARTH_ASSIGN_OR_RETURN(const auto digest, memo.digest(path));
    files.push_back({path, *stamp, to_hex(digest)});
  }
  return files;
}

}  // namespace hearth::blobs
