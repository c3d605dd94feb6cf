// Where barriers are placed in kernels that use shared memory: the interpreter of workgroups finds no race, and none of
// them to spare.
#include "compiler/passes/lowered/place_barriers.h"

#include <catch2/catch.hpp>

#include "compiler/codegen/reference/workgroup_interpreter.h"
#include "compiler/passes/spec.h"
#include "tests/support/workgroup_kernels.h"

namespace hearth {
namespace {

using test::kGroups;
using test::parsed;
using Body = test::LinearText;

constexpr std::int64_t kWidth = 8;

// A workgroup of eight with two memories of eight that it shares.
struct Kernel {
  Body b;
  std::string group, me, other, third, first, second;

  Kernel() {
    b.add("param f32 [slot=0]");
    group = b.add("range i64 ", kGroups, ":i64 [axis=0 grid]");
    me = b.add("range i64 ", kWidth, ":i64 [axis=1 invocation]");
    other = b.add("sub i64 ", kWidth - 1, ":i64 ", me);
    third = b.add("floormod i64 ", b.add("add i64 ", me, " 3:i64"), " ", kWidth, ":i64");
    first = b.add("allocate f32 ", group, " [id=0 elements=8]");
    second = b.add("allocate f32 ", group, " [id=1 elements=8]");
  }
  std::string loop(int axis, std::int64_t rounds) { return b.add("range i64 ", rounds, ":i64 [axis=", axis, " loop]"); }
  void end(const std::string& loop) { b.add("end void ", loop); }
  void store(const std::string& memory) { b.add("store void ", b.at(memory, me), " 1:f32"); }
  void load(const std::string& memory) { b.add("load f32 ", b.at(memory, other)); }
};

// The ops of the kernel with its barriers, those of memory, loops and barriers alone: "store barrier load".
std::string placed(Kernel& kernel) {
  kernel.end(kernel.group);
  const auto linear = parsed(kernel.b.text());
  std::vector<ir::UOpRef> shared;
  for (ir::UOpRef x : linear->body) {
    if (x->is(ir::Op::Allocate)) shared.push_back(x);
  }
  passes::LinearKernel with{.symbol = "k", .body = passes::place_barriers(linear->graph, linear->body, shared)};
  const absl::Status legal = passes::check_linear(with);
  INFO(legal);
  CHECK(legal.ok());
  std::vector<codegen::reference::HostTensor> buffers = {{ir::Scalar::F32, {64}}};
  const auto redundant =
      codegen::reference::redundant_barriers(with.body, {buffers, {}}, {.invocations = kWidth, .workgroups = kGroups});
  INFO(redundant.status());
  REQUIRE(redundant.ok());
  CHECK(redundant->empty());
  std::string text;
  for (ir::UOpRef x : with.body) {
    const bool is_loop = ir::is_range(x, ir::RangeKind::Loop) || x->is(ir::Op::End);
    if (!is_loop && !x->is(ir::Op::Store) && !x->is(ir::Op::Load) && !x->is(ir::Op::Barrier)) continue;
    text += (text.empty() ? "" : " ") + std::string(ir::op_name(x->op));
  }
  return text;
}

}  // namespace

TEST_CASE("a barrier stands between what is stored and what is loaded, one for all memories") {
  Kernel k;
  k.store(k.first);
  k.store(k.second);
  k.load(k.first);
  k.load(k.second);
  CHECK(placed(k) == "store store barrier load load end");
}

TEST_CASE("no barrier where invocations share nothing that is stored, or nothing is loaded after it") {
  Kernel k;
  k.store(k.first);
  k.store(k.second);
  CHECK(placed(k) == "store store end");
}

TEST_CASE("a barrier stands in front of a loop that loads what was stored before it") {
  Kernel k;
  k.store(k.first);
  const std::string outer = k.loop(2, 3), inner = k.loop(3, 2);
  k.load(k.first);
  k.end(inner);
  k.end(outer);
  CHECK(placed(k) == "store barrier range range load end end end");
}

TEST_CASE("rounds of a loop that store what the round before has loaded have a barrier in front of either") {
  Kernel k;
  const std::string tiles = k.loop(2, 3), copies = k.loop(3, 1);
  k.store(k.first);
  k.store(k.second);
  k.end(copies);
  const std::string depth = k.loop(4, 2);
  k.load(k.first);
  k.load(k.second);
  k.end(depth);
  k.end(tiles);
  CHECK(placed(k) == "range barrier range store store end barrier range load load end end end");
}

TEST_CASE("one barrier in a round is for all memories, whichever is loaded first") {
  Kernel k;
  const std::string tiles = k.loop(2, 3);
  k.store(k.first);
  const std::string copies = k.loop(3, 2);
  k.store(k.second);
  k.end(copies);
  k.load(k.second);
  k.load(k.first);
  k.end(tiles);
  CHECK(placed(k) == "range barrier store range store end barrier load load end end");
}

TEST_CASE("what is loaded in a round and stored behind it has one barrier, in the round") {
  Kernel k;
  k.store(k.first);
  const std::string rounds = k.loop(2, 3);
  k.load(k.first);
  k.b.add("store void ", k.b.at(k.first, k.third), " 1:f32");
  k.end(rounds);
  CHECK(placed(k) == "store range barrier load barrier store end end");
}

}  // namespace hearth
