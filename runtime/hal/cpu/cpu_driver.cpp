#include "runtime/hal/cpu/cpu_driver.h"

#include <initializer_list>

#include "base/kernel_abi.h"
#include "base/text.h"
#include "runtime/hal/cpu/cpu_device.h"

namespace hearth::runtime {
namespace {

struct CpuLevel {
  std::uint32_t vector_bits, threads;
  std::uint64_t l2_bytes;
};

v1::Target cpu_level(const char* triple, std::initializer_list<const char*> features, CpuLevel level) {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple(triple);
  for (const char* feature : features) target.add_features(feature);
  target.set_vector_bits(level.vector_bits);
  target.set_threads(level.threads);
  target.set_l2_bytes(level.l2_bytes);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

class CpuDriver final : public Driver {
 public:
  std::string_view name() const override { return device_.name(); }
  KernelFormat format() const override { return {"elf", ".so"}; }
  bool runs_on_host() const override { return true; }

  std::vector<NamedTarget> targets() const override {
    constexpr char kX86[] = "x86_64-unknown-linux-gnu";
    return {{"cpu", device_.target(0)},
            {"cpu:x86-64-v3",
             cpu_level(kX86, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"},
                       {256, 2, 1 << 20})},
            {"cpu:x86-64-v4", cpu_level(kX86,
                                        {"avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl",
                                         "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"},
                                        {512, 2, 2 << 20})},
            {"cpu:armv8.2-a", cpu_level("aarch64-unknown-linux-gnu", {"neon"}, {128, 4, 512 << 10})}};
  }

  absl::StatusOr<std::vector<DeviceInfo>> devices() const override {
    DeviceInfo info;
    info.device = device_.name();
    info.target = device_.target(0);
    info.name = info.target.triple();
    info.summary = str_cat("this machine's processor, ", info.target.threads(), " threads, vectors of ",
                           info.target.vector_bits(), " bits");
    return std::vector<DeviceInfo>{std::move(info)};
  }

  absl::StatusOr<const Device*> find(std::string_view) const override { return &device_; }

 private:
  CpuDevice device_;
};

}  // namespace

const Driver& cpu_driver() {
  static const CpuDriver& driver = *new CpuDriver;
  return driver;
}

}  // namespace hearth::runtime
