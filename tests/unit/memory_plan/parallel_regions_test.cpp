// Which launches one fork runs: what keeps a unit to elements of its own, and each reason that ends a region.
#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/passes/plan/parallel_regions.h"

namespace hearth {
namespace {

using passes::PlannedRegion;
using passes::Schedule;
using passes::SlotAccess;

// Of a kernel with loops u < 4 (the grid) and i < 8, one store to slot 0 at `to` and one load of slot 1 at `from`.
std::vector<SlotAccess> accesses(const std::string& to, const std::string& from) {
  ir::Graph g;
  const std::string text =
      "%0 = param f32 [slot=0]\n"
      "%1 = range index 4:index [axis=0 grid]\n"
      "%2 = range index 8:index [axis=1 loop]\n"
      "%3 = mul index %1 8:index\n"
      "%4 = add index %3 %2\n"
      "%5 = mul index %2 -1:index\n"
      "%6 = add index %3 %5\n"
      "%7 = add index %6 7:index\n"
      "%8 = add index %4 1:index\n"
      "%9 = mul index %2 4:index\n"
      "%10 = add index %9 %1\n"
      "%11 = floordiv index %1 2:index\n"
      "%12 = mul index %11 8:index\n"
      "%13 = add index %12 %2\n"
      "%14 = param f32 [slot=1]\n"
      "%15 = index void %0 " +
      to +
      " true:bool\n"
      "%16 = index void %14 " +
      from +
      " true:bool\n"
      "%17 = load f32 %16\n"
      "%18 = store void %15 %17 %1 %2\n"
      "%19 = sink void %18 [symbol=k]\n";
  const absl::StatusOr<ir::UOpRef> kernel = ir::parse(g, text);
  INFO(kernel.status());
  REQUIRE(kernel.ok());
  return passes::slot_accesses(*kernel, 2);
}

TEST_CASE("a unit keeps to its own elements when all but its own term stay within one multiple of it") {
  const auto rows = accesses("%4", "%7");  // u * 8 + i, and u * 8 - i + 7
  CHECK(rows[0].stored);
  CHECK_FALSE(rows[1].stored);
  CHECK(rows[0].unit_elements == 8);
  CHECK(rows[1].unit_elements == 8);
  CHECK_FALSE(accesses("%4", "%8")[1].unit_elements);   // u * 8 + i + 1: the first of the next unit
  CHECK_FALSE(accesses("%4", "%6")[1].unit_elements);   // u * 8 - i: of the unit before
  CHECK_FALSE(accesses("%4", "%10")[1].unit_elements);  // i * 4 + u: a column
  CHECK_FALSE(accesses("%4", "%13")[1].unit_elements);  // u // 2 * 8 + i: two units read one row
  CHECK_FALSE(accesses("%4", "%2")[1].unit_elements);   // i: all read one row
}

// Launches of one kernel each, over buffers 0, 1, ...: launch l stores to buffer l + 1 and reads buffer l.
Schedule chain(std::size_t length, ir::Graph& g) {
  Schedule schedule;
  schedule.buffers.resize(length + 1);
  for (std::uint32_t l = 0; l < length; ++l) {
    passes::PlannedLaunch& launch = schedule.launches.emplace_back();
    launch.kernel = l;
    launch.buffers = {l + 1, l};
    launch.grid = g.index(4);
    passes::PlannedKernel& kernel = schedule.kernels.emplace_back();
    kernel.accesses = {{true, 8}, {false, 8}};
    kernel.work = 30'000;
  }
  return schedule;
}

// "first+number" of each.
std::string regions_of(const Schedule& schedule, std::uint32_t threads = 2, std::uint32_t fork_work = 0) {
  v1::Target target;
  target.set_device("cpu");
  target.set_threads(threads);
  target.set_fork_work(fork_work);
  std::string text;
  for (const PlannedRegion& region : passes::parallel_regions(schedule, target))
    text += std::to_string(region.first_launch) + "+" + std::to_string(region.num_launches) + " ";
  return text;
}

TEST_CASE("launches whose units follow each other are one region, unless one of them forbids it") {
  ir::Graph g;
  Schedule schedule = chain(9, g);
  CHECK(regions_of(schedule) == "0+9 ");
  SECTION("one thread has nobody to fork to") { CHECK(regions_of(schedule, 1) == ""); }
  SECTION("too little work for a fork") {
    CHECK(regions_of(schedule, 2, 200'000) == "");
    CHECK(regions_of(schedule, 2, 130'000) == "0+9 ");
  }
  SECTION("another grid") {
    schedule.launches[4].grid = g.index(8);
    CHECK(regions_of(schedule) == "0+4 5+4 ");
  }
  SECTION("one unit") {
    for (passes::PlannedLaunch& launch : schedule.launches) launch.grid = g.index(1);
    CHECK(regions_of(schedule) == "");
  }
  SECTION("what another unit stored is read") {
    schedule.kernels[4].accesses[1].unit_elements.reset();
    CHECK(regions_of(schedule) == "0+4 4+5 ");
  }
  SECTION("the same value is divided in other parts") {
    schedule.kernels[4].accesses[1].unit_elements = 16;
    CHECK(regions_of(schedule) == "0+4 4+5 ");
  }
  SECTION("what is stored over was read by other units") {
    schedule.launches[7].buffers[0] = 2;
    schedule.kernels[2].accesses[1].unit_elements.reset();
    CHECK(regions_of(schedule, 2, 1) == "0+2 2+5 7+2 ");
  }
  SECTION("what nobody stores to may be read anywhere") {
    schedule.launches[4].buffers.push_back(0);
    schedule.kernels[4].accesses.emplace_back();
    CHECK(regions_of(schedule) == "0+9 ");
  }
  SECTION("a launch that is made once") {
    schedule.launches[4].once = true;
    CHECK(regions_of(schedule) == "0+4 5+4 ");
  }
  SECTION("a launch of a kernel that nothing is known of") {
    schedule.kernels[4].accesses.clear();
    CHECK(regions_of(schedule) == "0+4 5+4 ");
  }
  SECTION("a long launch, which has a fork of its own") {
    schedule.kernels[4].work = 3e6;
    CHECK(regions_of(schedule) == "0+4 5+4 ");
  }
  SECTION("the end of a loop") {
    for (std::size_t l = 3; l < 6; ++l) schedule.launches[l].loop = 0;
    CHECK(regions_of(schedule) == "0+3 3+3 6+3 ");
  }
  SECTION("a loop's slice and the value it is a slice of") {
    for (passes::PlannedLaunch& launch : schedule.launches) launch.loop = 0;
    schedule.buffers[4].view = passes::PlannedView{v1::LoopView::SLICE, 0, 2, 0, false};
    CHECK(regions_of(schedule) == "0+3 3+6 ");
  }
  SECTION("two views of a loop on one value that is stored to") {
    for (passes::PlannedLaunch& launch : schedule.launches) launch.loop = 0;
    schedule.buffers.resize(20);
    for (const std::size_t buffer : {4, 5})
      schedule.buffers[buffer].view = passes::PlannedView{v1::LoopView::SLICE, 0, 15, 0, false};
    CHECK(regions_of(schedule) == "0+4 5+4 ");  // launch 4 touches both
  }
}

}  // namespace
}  // namespace hearth
