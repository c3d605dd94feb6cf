#include "client/cli/machine_speed.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "base/user_cache.h"
#include "client/cli/format.h"
#include "client/cli/kernel_rows.h"
#include "client/cli/peak_loops.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of what is measured and how

std::uint64_t cache_size(int name, std::uint64_t otherwise) {
  const long size = ::sysconf(name);
  return size > 0 ? static_cast<std::uint64_t>(size) : otherwise;
}

// What tells one processor from another.
std::string processor() {
  const absl::StatusOr<std::string> info = runtime::read_file("/proc/cpuinfo");
  std::string text;
  for (std::size_t at = 0; info.ok() && at < info->size();) {
    const std::size_t end = std::min(info->find('\n', at), info->size());
    const std::string line = info->substr(at, end - at);
    if (line.empty()) break;  // the first processor is enough
    for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features"}) {
      if (line.rfind(name, 0) == 0) text += line + "\n";
    }
    at = end + 1;
  }
  return text;
}

std::string kept_file(std::uint32_t threads) {
  const std::string folder = user_cache_folder("speed");
  if (folder.empty()) return "";
  const std::string key = to_hex(sha256(str_cat(kVersion, "\n", processor())));
  return str_cat(folder, "/", key.substr(0, 16), "-", threads, ".json");
}

MachineSpeed measured(std::uint32_t threads) {
  MachineSpeed speed;
  speed.threads = threads;
  speed.l2_size = cache_size(_SC_LEVEL2_CACHE_SIZE, std::uint64_t{256} << 10);
  speed.l3_size = cache_size(_SC_LEVEL3_CACHE_SIZE, std::uint64_t{8} << 20);
  speed.flops = peak_flops(threads);
  speed.l2_bytes = read_bytes_per_s(threads, speed.l2_size / 2);
  speed.l3_bytes = read_bytes_per_s(threads, std::max(speed.l3_size / 2 / threads, speed.l2_size));
  // Four times what the caches hold, and no more memory than a small machine has to spare.
  const std::uint64_t caches = speed.l3_size + speed.l2_size * threads;
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20, kMost = std::uint64_t{1} << 30;
  speed.memory_bytes = read_bytes_per_s(threads, std::clamp(4 * caches, kLeast, kMost) / threads);
  return speed;
}

}  // namespace

MachineSpeed machine_speed(std::uint32_t threads, Measure when) {
  threads = std::max(threads, 1U);
  const std::string path = kept_file(threads);
  if (when == Measure::kOnce && !path.empty()) {
    const absl::StatusOr<std::string> text = runtime::read_file(path);
    const Json json = text.ok() ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
    if (const auto kept = speed_from(json); kept && kept->threads == threads) return *kept;
  }
  const MachineSpeed speed = measured(threads);
  if (!path.empty()) runtime::write_file(path, {speed_json(speed).dump(2)}).IgnoreError();
  return speed;
}

std::string speed_text(const MachineSpeed& speed) {
  const auto rate = [](double bytes) { return human_count(bytes, "B/s"); };
  return str_cat(human_count(speed.flops, "FLOP/s"), " of f32, ", rate(speed.memory_bytes), " of memory, ",
                 rate(speed.l3_bytes), " of L3, ", rate(speed.l2_bytes), " of L2, with ",
                 counted(speed.threads, "thread"));
}

Json speed_json(const MachineSpeed& speed) {
  return {{"threads", speed.threads},
          {"flops_per_s", speed.flops},
          {"l2_bytes_per_s", speed.l2_bytes},
          {"l3_bytes_per_s", speed.l3_bytes},
          {"memory_bytes_per_s", speed.memory_bytes},
          {"l2_bytes", speed.l2_size},
          {"l3_bytes", speed.l3_size}};
}

std::optional<MachineSpeed> speed_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  MachineSpeed speed;
  const auto number = [&](const char* name, auto& value) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return false;
    const double read = found->template get<double>();
    if (!std::isfinite(read) || read <= 0 || read > 1e18) return false;
    value = static_cast<std::decay_t<decltype(value)>>(read);
    return true;
  };
  const bool whole = number("threads", speed.threads) && number("flops_per_s", speed.flops) &&
                     number("l2_bytes_per_s", speed.l2_bytes) && number("l3_bytes_per_s", speed.l3_bytes) &&
                     number("memory_bytes_per_s", speed.memory_bytes) && number("l2_bytes", speed.l2_size) &&
                     number("l3_bytes", speed.l3_size);
  if (!whole) return std::nullopt;
  return speed;
}

}  // namespace hearth::cli
