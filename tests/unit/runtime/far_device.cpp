#include "tests/unit/runtime/far_device.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/devices/devices.h"
#include "runtime/hal/host_program.h"

namespace hearth::testing {
namespace {

using runtime::Buffer;
using runtime::HostExecutable;

char* near(const void* far) {
  const auto address = reinterpret_cast<std::uintptr_t>(far);
  if (address < FarDevice::kFar) throw std::logic_error("a kernel was given an address of the host");
  return reinterpret_cast<char*>(address - FarDevice::kFar);
}

class FarExecutable final : public HostExecutable {
 public:
  FarExecutable(std::unique_ptr<runtime::Executable> inner, const runtime::Plan& plan) : inner_(std::move(inner)) {
    num_slots_.resize(plan.kernels.size());
    for (const runtime::PlanLaunch& launch : plan.launches) num_slots_[launch.kernel] = launch.buffers.size();
  }
  void run(std::uint32_t kernel, void* const* buffers, const std::int64_t* vars, std::int64_t begin,
           std::int64_t end) const override {
    std::array<void*, 64> addresses;
    if (num_slots_[kernel] > addresses.size()) throw std::logic_error("a test's kernel has too many slots");
    for (std::size_t i = 0; i < num_slots_[kernel]; ++i) addresses[i] = near(buffers[i]);
    dynamic_cast<const HostExecutable&>(*inner_).run(kernel, addresses.data(), vars, begin, end);
  }

 private:
  std::unique_ptr<runtime::Executable> inner_;
  std::vector<std::size_t> num_slots_;
};

const runtime::Device& cpu() { return **runtime::find_device("cpu"); }

}  // namespace

v1::Target FarDevice::target(int threads) const { return cpu().target(threads); }

absl::StatusOr<Buffer> FarDevice::allocate(std::size_t size_bytes, std::string_view what,
                                           runtime::MemoryUse use) const {
  absl::StatusOr<Buffer> memory = Buffer::allocate(size_bytes, what);
  if (!memory.ok()) return memory.status();
  auto owner = std::make_shared<Buffer>(*std::move(memory));
  void* const data = owner->data();
  return Buffer(use == runtime::MemoryUse::kDevice ? nullptr : data, static_cast<char*>(data) + kFar, size_bytes,
                std::move(owner));
}

absl::Status FarDevice::write(const Buffer& to, std::size_t offset, const void* from, std::size_t size_bytes) const {
  std::memcpy(near(to.address()) + offset, from, size_bytes);
  return absl::OkStatus();
}

absl::Status FarDevice::read(const Buffer& from, std::size_t offset, void* to, std::size_t size_bytes) const {
  std::memcpy(to, near(from.address()) + offset, size_bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<runtime::Executable>> FarDevice::load(
    const runtime::Plan& plan, const std::vector<runtime::ArtifactSource>& artifacts) const {
  absl::StatusOr<std::unique_ptr<runtime::Executable>> inner = cpu().load(plan, artifacts);
  if (!inner.ok()) return inner.status();
  return std::unique_ptr<runtime::Executable>(std::make_unique<FarExecutable>(*std::move(inner), plan));
}

const runtime::Device* device_of_tests() {
  static const FarDevice far;
  const char* wanted = std::getenv("HEARTH_TEST_DEVICE");
  if (wanted == nullptr) return nullptr;
  if (std::strcmp(wanted, "far") == 0) return &far;
  const absl::StatusOr<const runtime::Device*> device = runtime::find_device(wanted);
  if (!device.ok()) throw std::runtime_error(std::string(device.status().message()));
  return *device;
}

}  // namespace hearth::testing
