// The post-build: what the link of libmha_fwd.so or libmha_bwd.so becomes in an intercepted build.
//
// Collects the blobs whose empty objects are linked, rewrites their dispatchers to call them lazily, compiles those
// (dispatchers.h, which also checks them) and the embedded manifest, links the library, and keeps what a quick rebuild
// needs. Flags that a blob may not have are told before anything is compiled. Blocking. Errors: as its parts say.
// Example:
//   absl::StatusOr<PostBuildReport> done = post_build("rocm/.hearth/intercept.json", "libmha_fwd/link.json");
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

namespace hearth::blobs {

struct PostBuildReport {
  std::string library;
  std::string out_so;
  int blobs = 0;
  int dispatchers = 0;
  int sites = 0;
  int host_objects = 0;
  int exports = 0;
  int verified_symbols = 0;                 // of the original dispatchers; 0 when not verified
  std::vector<std::string> uncalled_blobs;  // stems; generators make some that no dispatcher calls
  std::vector<int> torn_lines;              // of the record file, cut short by a killed compile
  double seconds = 0;
};

// Below the library's folder: one line a step, for who follows a build that runs this far away.
inline constexpr char kProgressFile[] = "progress";

// `line` is told what is done now, for people; may be empty.
absl::StatusOr<PostBuildReport> post_build(const std::string& config_file, const std::string& link_file,
                                           const std::function<void(const std::string&)>& line = nullptr);

// One line for people.
std::string describe(const PostBuildReport& report);

}  // namespace hearth::blobs
