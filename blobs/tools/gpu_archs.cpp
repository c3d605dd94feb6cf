#include "blobs/tools/gpu_archs.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/file_stamp.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/child_process.h"
#include "blobs/tools/compile_failure.h"
#include "blobs/tools/isa_bitcode.h"

namespace hearth::blobs {
namespace {

// Only what a name and its features are made of: it becomes part of a command line.
bool well_formed(const std::string& arch) {
  return arch.size() < 64 && std::all_of(
                                 arch.begin(), arch.end(),
                                 [](char c) {
                                   return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '+' ||
                                          c == '-';
                                 });
}

std::string known_list(const Toolchain& toolchain) {
  std::string text;
  for (const std::string& arch : known_archs(toolchain.compiler)) {
    const auto version = isa_version(arch);
    if (version && *version >= 9000) str_append(&text, text.empty() ? "" : ", ", arch);
  }
  return text.empty() ? "" : str_cat("; it knows ", text);
}

// The programs that `clang -###` says it would start and that are not there: it does not look before it starts them.
std::string missing_programs(const std::string& commands) {
  std::string missing;
  for (std::size_t at = 0; at < commands.size();) {
    const std::size_t end = std::min(commands.find('\n', at), commands.size());
    const std::string line = commands.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(" \"")) continue;
    const std::string program = line.substr(2, line.find('"', 2) - 2);
    const bool there = program.starts_with('/') && files::stamp_of_file(program).has_value();
    if (!there && missing.find(program) == std::string::npos)
      str_append(&missing, missing.empty() ? "" : ", ", program);
  }
  return missing;
}

// How clang and hipcc of several generations put it.
bool says_unknown(const std::string& errors) {
  for (const char* phrase : {"target ID", "gpu arch", "GPU arch", "unknown target CPU", "unsupported target"})
    if (errors.find(phrase) != std::string::npos) return true;
  return false;
}

absl::Status ask(const Toolchain& toolchain, const std::string& arch) {
  std::vector<std::string> arguments = {toolchain.compiler};
  arguments.insert(arguments.end(), toolchain.prefix_flags.begin(), toolchain.prefix_flags.end());
  for (const std::string& word : {"--offload-arch=" + arch, std::string("-###"), std::string("-c"),
                                  std::string("/dev/null"), std::string("-o"), std::string("/dev/null")})
    arguments.push_back(word);
  HEARTH_ASSIGN_OR_RETURN(
      const auto run,
      run_child({.arguments = arguments, .environment = minimal_environment({}), .keep_bytes = 256 << 10}));
  if (run.timed_out) return absl::DeadlineExceededError(str_cat(toolchain.compiler, ": does not answer -###"));
  if (run.exit_code == 0 && run.signal == 0) {
    const std::string missing = missing_programs(run.errors);
    if (missing.empty()) return absl::OkStatus();
    return absl::NotFoundError(str_cat("arch ", arch, ": ", toolchain.compiler, " needs ", missing,
                                       "; install the packages lld-19 and clang-tools-19"));
  }
  if (run.errors.find("cannot find ROCm device library") != std::string::npos)
    return absl::NotFoundError(str_cat("arch ", arch, ": ", toolchain.compiler,
                                       " finds no device library for it; install rocm-device-libs or a newer ROCm"));
  if (!says_unknown(run.errors))
    return absl::FailedPreconditionError(
        str_cat("arch ", arch, ": ", toolchain.compiler, " cannot be asked: ", last_lines(run.errors, 1024)));
  return absl::UnimplementedError(str_cat("arch ", arch, ": ", toolchain.compiler, " (", toolchain.version,
                                          ") does not know it", known_list(toolchain),
                                          "; a newer compiler can be named by HEARTH_HIPCC or HEARTH_BLOB_CLANG"));
}

}  // namespace

std::vector<std::string> known_archs(const std::string& clang) {
  const auto run = run_child({.arguments = {clang, "--target=amdgcn-amd-amdhsa", "-nogpulib", "--print-supported-cpus"},
                              .environment = minimal_environment({})});
  std::vector<std::string> archs;
  if (!run.ok()) return archs;
  const std::string text = run->output + run->errors;  // clang lists them on stderr
  for (std::size_t at = text.find("\tgfx"); at != std::string::npos; at = text.find("\tgfx", at + 1)) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    archs.push_back(text.substr(at + 1, end - at - 1));
  }
  return archs;
}

absl::Status arch_supported(const Toolchain& toolchain, const std::string& arch) {
  if (!well_formed(arch) || !arch.starts_with("gfx"))
    return absl::InvalidArgumentError(str_cat("arch \"", arch, "\" is not the name of an AMD GPU, such as gfx942"));
  static std::mutex mutex;
  static std::map<std::string, absl::Status> answers;
  const std::string key = str_cat(toolchain.digest, " ", toolchain.compiler, " ", arch);
  {
    const std::lock_guard lock(mutex);
    if (const auto answer = answers.find(key); answer != answers.end()) return answer->second;
  }
  const absl::Status answer = ask(toolchain, arch);
  if (!answer.ok() && !absl::IsUnimplemented(answer)) return answer;  // a package may be installed meanwhile
  const std::lock_guard lock(mutex);
  return answers.emplace(key, answer).first->second;
}

}  // namespace hearth::blobs
