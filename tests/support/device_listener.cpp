// Ends a test program that is to run on a device (HEARTH_TEST_DEVICE) which this machine has not: skipped, with the
// reason.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/devices/devices.h"

namespace hearth::test {
namespace {

// Where the device that is asked for is not there, none of the cases can run.
class DeviceListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {
    const char* const wanted = std::getenv("HEARTH_TEST_DEVICE");
    if (wanted == nullptr || std::strcmp(wanted, "far") == 0) return;
    const absl::Status found = runtime::find_device(wanted).status();
    if (!absl::IsNotFound(found)) return;
    const std::string reason(found.message());
    std::printf("SKIPPED: every case: %s\n", reason.c_str());
    if (const char* const path = std::getenv("HEARTH_TEST_REPORT")) {
      if (std::FILE* file = std::fopen(path, "w")) {
        std::fprintf(file, "whole\tevery case\t%s\n", reason.c_str());
        std::fclose(file);
      }
    }
    std::exit(77);  // SKIP_RETURN_CODE
  }
};
CATCH_REGISTER_LISTENER(DeviceListener)

}  // namespace
}  // namespace hearth::test
