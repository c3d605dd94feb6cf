// QuickState: what the quick rebuild of one library needs, as `<folder>/libmha_fwd/ck_jit_quick_rebuild.json`.
//
// Paths below the build's temporary folder are written with a {jit}/ prefix and read relative to where the file lies,
// so that the folder can be moved. Plain values; thread-safe. Errors: NotFound, InvalidArgument naming file and field,
// FailedPrecondition for another version or for files of another
// build, each with the remedy. Example:
//   absl::StatusOr<QuickState> state = read_quick_state("/tmp/b", "libmha_fwd");
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <utility>
#include <vector>

namespace hearth::blobs {

inline constexpr int kQuickStateVersion = 2;
inline constexpr char kQuickStateFile[] = "ck_jit_quick_rebuild.json";
inline constexpr char kObjectsMark[] = "{objs}";  // stands for all_objs and the runtime in link_args

struct QuickState {
  std::string library;                 // "libmha_fwd"
  std::string out_so;                  // absolute
  std::vector<std::string> all_objs;   // absolute; of the host, of the dispatchers and of the manifest
  std::vector<std::string> arch_fl;    // --offload-arch= flags
  std::vector<std::string> link_args;  // the link's other words, in order, with kObjectsMark once; without -o
  std::string tool;                    // which compiler links: "c++"
  std::string cwd;                     // where the link ran
  // SHA-256, as hexadecimal, of what was linked and of the list of blobs: [file, digest].
  std::vector<std::pair<std::string, std::string>> digests;
};

inline constexpr char kUnfinishedBuild[] = "; run `hearth blobs build full` with this --tmp-dir again";

// Notes the digests of `files`.
absl::Status digest_files(const std::vector<std::string>& files, QuickState* state);
// Whether every file is still the one that was linked: a call site knows its blob by its number in one list.
absl::Status check_files(const QuickState& state);
// Takes the state away while its files are written anew.
absl::Status unpublish_quick_state(const std::string& folder, const std::string& library);

// `folder`: the build's temporary folder, absolute.
absl::StatusOr<QuickState> read_quick_state(const std::string& folder, const std::string& library);
absl::Status write_quick_state(const QuickState& state, const std::string& folder);

}  // namespace hearth::blobs
