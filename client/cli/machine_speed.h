// What this machine's processors can do at most with a number of threads: arithmetic on f32, and bytes read from each
// level of memory. Measured once for a processor and a number of threads (a third of a second), and kept in the user's
// cache folder; on a machine that was busy then it is too low, and measuring again replaces it. No errors.
//
//   const MachineSpeed speed = machine_speed(/*threads=*/4);
//   double share = gflops * 1e9 / speed.flops;
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace hearth::cli {

struct MachineSpeed {
  std::uint32_t threads = 0;
  double flops = 0;  // operations on f32 a second, a multiply-add counts two, of all threads together
  // Bytes a second that they read together: each from its own second-level cache, from the cache that they share, from
  // memory. A roofline has one of them as its slope (Williams, Waterman, Patterson 2009).
  double l2_bytes = 0, l3_bytes = 0, memory_bytes = 0;
  std::uint64_t l2_size = 0, l3_size = 0;  // in bytes; the second of one thread, the third of all

  // Where `bytes` that a launch touches, divided between `threads`, are when they were touched before.
  bool in_l2(double bytes) const { return bytes <= static_cast<double>(l2_size) * threads; }
  bool in_cache(double bytes) const { return in_l2(bytes) || bytes <= static_cast<double>(l3_size); }
  double bandwidth(double bytes) const { return in_l2(bytes) ? l2_bytes : in_cache(bytes) ? l3_bytes : memory_bytes; }
};

enum class Measure { kOnce, kAgain };
MachineSpeed machine_speed(std::uint32_t threads, Measure when = Measure::kOnce);

std::string speed_text(const MachineSpeed& speed);  // "512 GFLOP/s of f32, 38.1 GB/s of memory, ..."
nlohmann::ordered_json speed_json(const MachineSpeed& speed);
// Nothing where `json` is no such record.
std::optional<MachineSpeed> speed_from(const nlohmann::ordered_json& json);

}  // namespace hearth::cli
