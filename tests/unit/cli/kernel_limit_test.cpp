// What a kernel is said to be limited by, from figures with one answer; kernels summed by operator and by node; the
// record of a machine's speed.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "client/cli/kernel_limit.h"
#include "client/cli/peak_loops.h"
#include "client/cli/work_groups.h"

namespace hearth::cli {
namespace {

// 100 GFLOP/s; 400, 200 and 20 GB/s.
MachineSpeed two_threads() {
  MachineSpeed speed;
  speed.threads = 2;
  speed.flops = 100e9;
  speed.l2_bytes = 400e9;
  speed.l3_bytes = 200e9;
  speed.memory_bytes = 20e9;
  speed.l2_size = 1'000'000;
  speed.l3_size = 10'000'000;
  return speed;
}

// Of one launch of 100 us on both threads, whose estimate is that of its arithmetic.
KernelRow row_of(double ops, double bytes) {
  KernelRow row;
  row.launches = 1;
  row.time_us = 100;
  row.units = 64;
  row.ops = ops;
  row.bytes = bytes;
  row.cycles = row.least_cycles = 1000;
  return row;
}

TEST_CASE("a kernel is limited by what is nearest to what the machine can do") {
  const MachineSpeed speed = two_threads();
  CHECK(limit_of(row_of(9e6, 1e5), speed).text == "arithmetic");
  CHECK(limit_of(row_of(9e6, 1e5), speed).peak_share == Approx(0.9));
  // 20 MB in 1 ms are all that memory gives; the same rate of 1 MB is a twentieth of the caches'.
  KernelRow large = row_of(1e6, 18e6);
  large.time_us = 1000;
  CHECK(limit_of(large, speed).text == "memory");
  CHECK(limit_of(large, speed).bandwidth_share == Approx(0.9));
  KernelRow small = row_of(1e5, 1.5e6);
  CHECK(limit_of(small, speed).bandwidth_share == Approx(15e9 / 400e9));
  CHECK(limit_of(small, speed).text == "latency");
  small.time_us = 5;
  CHECK(limit_of(small, speed).text == "cache");
  // A tenth of the arithmetic's peak, but nine times as many cycles as it takes: the code has other things to do.
  KernelRow shuffles = row_of(1e6, 1e5);
  shuffles.cycles = 9000;
  CHECK(limit_of(shuffles, speed).text == "instructions");
  // One unit keeps one thread busy; half of the peak is all that it can reach.
  KernelRow serial = row_of(4.5e6, 1e5);
  serial.units = 1;
  CHECK(limit_of(serial, speed).text == "threads");
  KernelRow tiny = row_of(100, 100);
  tiny.time_us = 0.1;
  CHECK(limit_of(tiny, speed).text == "launch");
}

TEST_CASE("what was not measured, or has no bytes, is limited by nothing that can be told") {
  KernelRow row = row_of(1e6, 1e5);
  row.time_us = -1;
  CHECK(limit_of(row, two_threads()).text.empty());
  CHECK(limit_of(row, two_threads()).peak_share < 0);
  row = row_of(1e6, -1);
  CHECK(limit_of(row, two_threads()).text.empty());
}

TEST_CASE("kernels are summed by the operator or node of most of their work, those that run once left out") {
  std::vector<KernelRow> rows(4, row_of(100, 10));
  rows[0].source = "ONNX node 'a' (Conv); ONNX input 'x'; ONNX node 'r' (Relu)";
  rows[1].source = "ONNX node 'b' (Conv)";
  rows[2].source = "model.cpp:12";
  rows[2].launches = 3;
  rows[3].source = "ONNX node 'w' (Conv)";
  rows[3].once = true;
  CHECK((rows[0].from() == "a (Conv) +1" && rows[1].from() == "b (Conv)" && rows[2].from() == "model.cpp:12"));
  rows[2].time_us = 500;
  const auto operators = work_groups(rows, GroupBy::kOperator);
  REQUIRE(operators.size() == 2);
  CHECK((operators[0].name == "model.cpp:12" && operators[0].launches == 3 && operators[0].ops == 300));
  CHECK((operators[1].name == "Conv" && operators[1].kernels == 2 && operators[1].time_us == 200));
  CHECK(work_groups(rows, GroupBy::kNode).size() == 3);
  CHECK(work_groups(rows, GroupBy::kNode)[1].name == "a (Conv)");
}

TEST_CASE("the record of a machine's speed is read back, and a damaged one is none") {
  const nlohmann::ordered_json record = speed_json(two_threads());
  const auto read = speed_from(record);
  REQUIRE(read.has_value());
  CHECK(speed_json(*read) == record);
  for (const char* damage : {R"({})", R"([])", R"(3)", R"({"threads": 2, "flops_per_s": "fast"})"}) {
    CHECK(!speed_from(nlohmann::ordered_json::parse(damage)).has_value());
  }
  for (const auto& [name, value] : record.items()) {
    for (const double wrong : {0.0, -1.0, 1e300}) {
      nlohmann::ordered_json damaged = record;
      damaged[name] = wrong;
      INFO(name << " " << wrong);
      CHECK(!speed_from(damaged).has_value());
    }
  }
}

TEST_CASE("a processor's peak and bandwidths are numbers that processors have") {
  const double flops = peak_flops(1), bytes = read_bytes_per_s(1, 64 << 10);
  CHECK((flops > 1e8 && flops < 1e13));  // a core of 20 years ago to one that there is not
  CHECK((bytes > 1e8 && bytes < 1e13));
  CHECK(read_bytes_per_s(2, 1) > 1e8);  // less than a line is rounded up
}

}  // namespace
}  // namespace hearth::cli
