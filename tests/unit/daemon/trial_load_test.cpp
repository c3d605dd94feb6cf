#include "daemon/worker/trial_load.h"

#include <catch2/catch.hpp>

#include "tests/unit/daemon/test_graphs.h"

namespace hearth::daemon {
namespace {

TEST_CASE("trial load: only this host's libraries, and garbage fails") {
  v1::Artifact artifact;
  artifact.set_format(v1::Artifact::ELF_SO);
  CHECK_FALSE(is_loadable_here(test_target(), artifact));
  const absl::Status status = trial_load("not an ELF file", "kernel");
  CHECK(absl::IsInternal(status));
  CHECK(std::string(status.message()).find("kernel 'kernel' does not load") != std::string::npos);
}

}  // namespace
}  // namespace hearth::daemon
