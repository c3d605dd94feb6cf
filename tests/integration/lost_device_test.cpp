// A wrapper whose device is lost at a replay, on a driver's stand-in: a process of its own, since nothing brings a
// device back.
#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "hearth/jit_wrapper.h"
#include "tests/integration/jit_checks.h"
#include "tests/integration/live_daemon.h"
#include "tests/stand_in/control.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::integration;

namespace {

HEARTH_JIT_WRAPPER(DoubleJit, Line, (x)) { return line(model, x * 2.0); }

// The next kernel fails as one that read what is not there, after which a driver's context is gone.
void lose_device() {
  constexpr int kLaunchFailure = 719;
  const bool is_cuda = std::string(std::getenv("HEARTH_TEST_DEVICE")) == "cuda";
  void* const library = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* const fail = reinterpret_cast<decltype(&hearth_stand_in_fail)>(dlsym(library, "hearth_stand_in_fail"));
  REQUIRE(fail != nullptr);
  fail("kernel", 1, kLaunchFailure);
}

}  // namespace

TEST_CASE("a wrapper on a device that is lost reports Runtime with the device's words", "[.][lost]") {
  const LiveDaemon daemon;
  auto jit = DoubleJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  INFO(jit.status().message());
  REQUIRE(jit.ok());
  fill(jit->x_mut(), {1, 2});
  REQUIRE(jit->execute().ok());
  CHECK(values(jit->output()) == std::vector<float>{5, 13});
  lose_device();
  const absl::Status lost = jit->execute();
  check_kind(lost, JitErrorKind::kRuntime, "719");
  check_kind(lost, JitErrorKind::kRuntime, "start the process anew");
  check_kind(jit->execute(), JitErrorKind::kRuntime, "719");  // and so from then on
  auto other = DoubleJit(Line()).prepare_with_config(InputSpec::f32({1, 2}), daemon.config());
  CHECK_FALSE((other.ok() && other->execute().ok()));
}
