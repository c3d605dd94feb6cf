// Layers that are the same but for what they read are lowered once, of lengths that vary and in memory of their own too.
#include "compiler/passes/kernel/kernel_memo.h"

#include <catch2/catch.hpp>

#include "hearth/v1/artifact.pb.h"

namespace hearth {
namespace {

using ir::Op;
using ir::UOpRef;
using passes::Kernel;

class Layers {
 public:
  // What is lowered, in order; a kernel in place of a buffer beyond the first 8 cannot be.
  Layers()
      : lower_([this](const passes::KernelTask& task, const passes::KernelContext&) {
          lowered.push_back(task);
          std::optional<Kernel> kernel;
          if (!task.in_place || task.in_place->as<ir::BufferInfo>().id < 8)
            kernel = Kernel{.buffers = {task.stage, task.stage->source(0)->source(0)->source(0)->source(0)}};
          return absl::StatusOr<std::optional<Kernel>>(kernel);
        }),
        context_{g, target_, tuning_, [](UOpRef) { return false; }},
        memo(context_, lower_) {}

  UOpRef buffer(std::uint32_t id) { return g.make(Op::Buffer, ir::Scalar::F32, {n}, ir::BufferInfo{{}, id}); }

  // a[i] * factor + b[i]
  UOpRef layer(UOpRef a, UOpRef b, double factor = 2) {
    UOpRef i = g.range(n, g.fresh_id(), ir::RangeKind::Loop);
    const auto element = [&](UOpRef of) {
      return g.make(Op::Load, ir::Scalar::F32, {g.make(Op::Index, ir::Scalar::Void, {of, i, g.boolean(true)})});
    };
    UOpRef value = g.add(element(a), g.mul(element(b), g.constant(ir::Scalar::F32, factor)));
    return g.make(Op::Stage, ir::Scalar::F32, {value, i}, ir::StageInfo{g.fresh_id()});
  }

 private:
  v1::Target record_;
  target::Target target_{record_};
  passes::Tuning tuning_;
  passes::LowerKernel lower_;

 public:
  ir::Graph g;
  UOpRef n = g.var("tokens", 1, 64, 0);
  std::vector<passes::KernelTask> lowered;

 private:
  passes::KernelContext context_;

 public:
  passes::KernelMemo memo;
};

TEST_CASE("equal layers of a length that varies are lowered once") {
  Layers layers;
  UOpRef first = layers.layer(layers.buffer(0), layers.buffer(1)), second = layers.layer(first, layers.buffer(2)),
         other = layers.layer(second, layers.buffer(3), 3);
  REQUIRE(layers.memo.lower(first).ok());
  const Kernel kernel = layers.memo.lower(second).value();
  CHECK(layers.lowered.size() == 1);
  CHECK(kernel.buffers == std::vector<UOpRef>{second, first});
  REQUIRE(layers.memo.lower(other).ok());
  CHECK(layers.lowered.size() == 2);
}

TEST_CASE("caches that grow in their memory are lowered once, each in its own") {
  Layers layers;
  UOpRef keys = layers.buffer(0), values = layers.buffer(1), more = layers.buffer(2), others = layers.buffer(3);
  REQUIRE(layers.memo.lower_in_place(layers.layer(keys, more), keys).value());
  const std::optional<Kernel> kernel = layers.memo.lower_in_place(layers.layer(values, others), values).value();
  REQUIRE(kernel);
  CHECK(kernel->buffers[1] == values);
  CHECK(layers.lowered.size() == 1);
  // In the memory of the other operand, or in none, it is another kernel.
  REQUIRE(layers.memo.lower_in_place(layers.layer(keys, more), more).value());
  REQUIRE(layers.memo.lower(layers.layer(keys, more)).ok());
  CHECK(layers.lowered.size() == 3);
}

TEST_CASE("what cannot be made in its memory is found out once") {
  Layers layers;
  UOpRef one = layers.buffer(8), two = layers.buffer(9), more = layers.buffer(0);
  CHECK_FALSE(layers.memo.lower_in_place(layers.layer(one, more), one).value());
  CHECK_FALSE(layers.memo.lower_in_place(layers.layer(two, more), two).value());
  CHECK(layers.lowered.size() == 1);
}

}  // namespace
}  // namespace hearth
