// InterceptConfig: what an intercepted build is told, as a file `.hearth/intercept.json` in the fake ROCm home.
//
// hearth-hipcc finds it beside the folder it lies in (bin/../.hearth/intercept.json), else by $HEARTH_INTERCEPT. Plain
// values; thread-safe. Errors: NotFound naming both places; InvalidArgument naming file and field; FailedPrecondition
// for another version. Example:
//   absl::StatusOr<InterceptConfig> config = read_intercept_config("build/rocm/.hearth/intercept.json");
//   const std::vector<std::string>& compiler = config->compiler("hipcc");
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::blobs {

inline constexpr int kInterceptVersion = 1;
inline constexpr char kInterceptFile[] = ".hearth/intercept.json";  // below the fake ROCm home
inline constexpr char kInterceptVariable[] = "HEARTH_INTERCEPT";

struct InterceptConfig {
  // The real program, with arguments before its own, for each name that stands in for one ("hipcc", "c++").
  std::map<std::string, std::vector<std::string>> compilers;
  // What a program wants before the words of a compile or probe, though not of a link: {"hipcc", {"-x", "hip", …}}.
  std::map<std::string, std::vector<std::string>> compile_flags;
  std::string toolchain;                // kHipToolchain or kCxxToolchain
  std::string records;                  // where compiles are recorded
  std::string folder;                   // the build's temporary folder
  std::string fake_home;                // the fake ROCm home
  std::string real_home;                // the real one; empty: none
  std::vector<std::string> post_build;  // the command that a library's link runs, before its own arguments
  // Folders of sources and where they lie below the root of an installation: {"/src/aiter", ""}.
  std::vector<std::pair<std::string, std::string>> mapping;
  std::string default_root;  // CK_JIT_ROOT baked into the libraries
  std::string default_name;  // CK_JIT_NAME baked into the libraries
  bool verify = true;        // check the rewritten dispatchers against the original's undefined symbols
  bool verbose = false;
  // Environment that the real compiler gets back; null: unset.
  std::map<std::string, std::optional<std::string>> environment;

  // The real program for `tool`, else for hipcc.
  const std::vector<std::string>& compiler(const std::string& tool) const;
  // The same with its compile_flags.
  std::vector<std::string> compile_command(const std::string& tool) const;
  // `environment`, and $PATH as it is now without the fake home's programs.
  std::map<std::string, std::optional<std::string>> real_environment() const;
};

absl::StatusOr<InterceptConfig> read_intercept_config(const std::string& file);
absl::Status write_intercept_config(const InterceptConfig& config, const std::string& file);

// The path of the configuration of the program that runs.
absl::StatusOr<std::string> find_intercept_config();

}  // namespace hearth::blobs
