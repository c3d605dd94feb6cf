#include "tests/unit/stream/stand_in.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

#include "runtime/devices/devices.h"
#include "runtime/hal/cuda/cuda_api.h"
#include "runtime/hal/hip/hip_api.h"
#include "tests/stand_in/control.h"

namespace hearth::testing {
namespace {

bool is_cuda() { return std::string(std::getenv("HEARTH_TEST_DEVICE")) == "cuda"; }

template <typename F>
F* exported(const char* name) {
  static void* const library = dlopen(is_cuda() ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("no stand-in has ") + name);
  return reinterpret_cast<F*>(found);
}
#define HEARTH_EXPORTED(name) exported<decltype(name)>(#name)

std::string failing;  // entry
int failing_nth = 0;

}  // namespace

const runtime::StreamApi& StandIn::api() {
  const absl::StatusOr<const runtime::StreamApi*> api = is_cuda() ? runtime::cuda_api() : runtime::hip_api();
  if (!api.ok()) throw std::runtime_error(std::string(api.status().message()));
  return **api;
}

runtime::StreamDeviceInfo StandIn::info() {
  const auto all = runtime::find_driver(std::getenv("HEARTH_TEST_DEVICE"))->devices();
  if (!all.ok()) throw std::runtime_error(std::string(all.status().message()));
  runtime::StreamDeviceInfo info;
  static_cast<runtime::DeviceInfo&>(info) = all->front();
  info.shares_memory = true;
  return info;
}

std::unique_ptr<runtime::StreamDevice> StandIn::device() {
  return std::make_unique<runtime::StreamDevice>(api(), info());
}

void StandIn::reset() { HEARTH_EXPORTED(hearth_stand_in_reset)(); }

void StandIn::fail(runtime::Entry entry, int nth, int error) {
  failing = api().entry_name(entry);
  failing_nth = nth;
  HEARTH_EXPORTED(hearth_stand_in_fail)(failing.c_str(), nth, error);
}

void StandIn::fail_kernel(int nth, int error) {
  failing = "kernel";
  failing_nth = nth;
  HEARTH_EXPORTED(hearth_stand_in_fail)("kernel", nth, error);
}

bool StandIn::has_failed() {
  return HEARTH_EXPORTED(hearth_stand_in_calls)(failing.c_str()) >= static_cast<std::uint64_t>(failing_nth);
}

void StandIn::hang(bool hangs) { HEARTH_EXPORTED(hearth_stand_in_hang)(hangs); }

std::uint64_t StandIn::calls(runtime::Entry entry) {
  return HEARTH_EXPORTED(hearth_stand_in_calls)(std::string(api().entry_name(entry)).c_str());
}

std::uint64_t StandIn::kernels() { return HEARTH_EXPORTED(hearth_stand_in_calls)("kernel"); }
std::uint64_t StandIn::live() { return HEARTH_EXPORTED(hearth_stand_in_live)(); }

}  // namespace hearth::testing
