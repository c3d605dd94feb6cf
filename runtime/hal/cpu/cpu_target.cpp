#include "runtime/hal/cpu/cpu_target.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_split.h"
#include "base/cgroup_limits.h"
#include "base/kernel_abi.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hearth::runtime {
namespace {

#if defined(__x86_64__)

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

enum Register { kEax, kEbx, kEcx, kEdx };
enum State { kAny, kAvx, kAvx512, kAmx };  // register state the OS must save for it

struct Feature {
  const char* name;
  unsigned leaf, subleaf;
  Register reg;
  unsigned bit;
  State state;
};

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kAny},
    {"pclmul", 1, 0, kEcx, 1, kAny},
    {"ssse3", 1, 0, kEcx, 9, kAny},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13, kAny},
    {"sse4.1", 1, 0, kEcx, 19, kAny},
    {"sse4.2", 1, 0, kEcx, 20, kAny},
    {"movbe", 1, 0, kEcx, 22, kAny},
    {"popcnt", 1, 0, kEcx, 23, kAny},
    {"aes", 1, 0, kEcx, 25, kAny},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"bmi", 7, 0, kEbx, 3, kAny},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8, kAny},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"gfni", 7, 0, kEcx, 8, kAny},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"avx512fp16", 7, 0, kEdx, 23, kAvx512},
    {"amx-bf16", 7, 0, kEdx, 22, kAmx},
    {"amx-tile", 7, 0, kEdx, 24, kAmx},
    {"amx-int8", 7, 0, kEdx, 25, kAmx},
    {"avxvnni", 7, 1, kEax, 4, kAvx},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kAny},
    {"sse4a", 0x80000001, 0, kEcx, 6, kAny},  // AMD only
};

std::uint64_t enabled_state() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1U << 27))) return 0;  // OSXSAVE
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

std::vector<std::string> detect_features() {
  const std::uint64_t saved = enabled_state();
  const bool avx = (saved & 0x6) == 0x6;
  const bool avx512 = avx && (saved & 0xe0) == 0xe0;
  const bool amx = (saved & 0x60000) == 0x60000;
  std::vector<std::string> found = {"sse", "sse2"};
  for (const Feature& feature : kFeatures) {
    unsigned registers[4];
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1], &registers[2], &registers[3])) {
      continue;
    }
    if (feature.state == kAvx && !avx) continue;
    if (feature.state == kAvx512 && !avx512) continue;
    if (feature.state == kAmx && !amx) continue;
    if (registers[feature.reg] & (1U << feature.bit)) found.push_back(feature.name);
  }
  return found;
}

constexpr const char* kWidest = "avx512vl";
constexpr const char* kWide = "avx";

#elif defined(__aarch64__)

constexpr const char* kTriple = "aarch64-unknown-linux-gnu";

std::vector<std::string> detect_features() {
  const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
  std::vector<std::string> found = {"neon"};
  if (caps & HWCAP_ATOMICS) found.push_back("lse");
  if (caps & HWCAP_ASIMDHP) found.push_back("fullfp16");
  if (caps & HWCAP_ASIMDDP) found.push_back("dotprod");
  if (caps2 & (1UL << 13)) found.push_back("i8mm");
  if (caps2 & (1UL << 14)) found.push_back("bf16");
  return found;
}

constexpr const char* kWidest = "none";
constexpr const char* kWide = "none";

#else
#error "hearth runs on x86_64 and aarch64 Linux"
#endif

bool has(const std::vector<std::string>& features, const char* name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

}  // namespace

const std::vector<std::string>& host_cpu_features() {
  static const auto* const features = [] {
    auto* found = new std::vector<std::string>(detect_features());
    std::sort(found->begin(), found->end());
    return found;
  }();
  return *features;
}

int available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  // A replay's threads wait for one another: more of them than the group has time for are stopped in turn.
  static const unsigned quota = cgroup_limits().processors.value_or(std::numeric_limits<int>::max());
  return std::max(1, std::min(CPU_COUNT(&set), static_cast<int>(quota)));
}

v1::Target cpu_target(int threads) {
  std::vector<std::string> features = host_cpu_features();
  if (const char* wanted = std::getenv("HEARTH_CPU_FEATURES")) {
    const std::vector<std::string> names = absl::StrSplit(wanted, absl::ByAnyChar(", "), absl::SkipEmpty());
    std::erase_if(features, [&](const std::string& feature) {
      return std::find(names.begin(), names.end(), feature) == names.end();
    });
  }
  v1::Target target;
  target.set_device("cpu");
  target.set_triple(kTriple);
  for (const std::string& feature : features) target.add_features(feature);
  target.set_vector_bits(has(features, kWidest) ? 512 : has(features, kWide) ? 256 : 128);
  target.set_threads(static_cast<std::uint32_t>(threads > 0 ? threads : available_cpus()));
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  target.set_l2_bytes(static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE))));
  return target;
}

v1::Target as_host_code(v1::Target gpu) {
  const v1::Target host = cpu_target(1);
  gpu.set_triple(host.triple());
  *gpu.mutable_features() = host.features();
  return gpu;
}

}  // namespace hearth::runtime
