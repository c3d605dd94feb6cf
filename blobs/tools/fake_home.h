// A fake ROCm home: the real one's content by symlinks, but bin/hipcc and its like are hearth-hipcc.
//
// Programs are copies, not links: build systems resolve links, and hearth-hipcc finds its configuration beside itself.
// Made anew each time; what a build recorded before stays. Errors: NotFound naming the missing real compiler or
// hearth-hipcc and the remedy; FailedPrecondition when `folder` is another version's. Example:
//   absl::StatusOr<FakeHome> home = make_fake_home({.folder = "/tmp/b", .rocm_home = "/opt/rocm", …});
//   run(command, home->environment);
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "blobs/tools/intercept_config.h"

namespace hearth::blobs {

struct FakeHomeInput {
  std::string folder;     // absolute; temporary folder of the build, made when missing
  std::string rocm_home;  // the real one; empty: none (plain C++)
  std::string compiler;   // the real hipcc by path or name; empty: bin/hipcc of the real home, else find_toolchain's
  std::string toolchain;  // kHipToolchain or kCxxToolchain
  std::string hearth;     // this program, for the post-build
  std::string hipcc;      // hearth-hipcc
  std::vector<std::pair<std::string, std::string>> mapping;
  std::string default_root;
  std::string default_name;
  bool verify = true;
  bool verbose = false;
};

struct FakeHome {
  std::string path;
  InterceptConfig config;
  std::map<std::string, std::string> environment;  // what the build's command is to run with
};

absl::StatusOr<FakeHome> make_fake_home(const FakeHomeInput& input);

}  // namespace hearth::blobs
