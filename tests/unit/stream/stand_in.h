// The stand-in of the driver that a test runs on (tests/stand_in), and devices of it that are a test's own. Not
// thread-safe.
//
//   StandIn::reset();
//   StandIn::fail(Entry::graph_launch, 1, 719);
#pragma once
#include <memory>
#include <string>

#include "runtime/hal/stream/stream_device.h"

namespace hearth::testing {

class StandIn {
 public:
  // Of HEARTH_TEST_DEVICE.
  static const runtime::StreamApi& api();
  static runtime::StreamDeviceInfo info();
  // One with a context of its own.
  static std::unique_ptr<runtime::StreamDevice> device();

  static void reset();
  static void fail(runtime::Entry entry, int nth, int error);
  // Launches that a stream runs.
  static void fail_kernel(int nth, int error);
  static bool has_failed();
  static void hang(bool hangs);
  static std::uint64_t calls(runtime::Entry entry);
  static std::uint64_t kernels();
  static std::uint64_t live();
};

}  // namespace hearth::testing
