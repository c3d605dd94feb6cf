// Products of matrices as flat kernels, and what the interpreters say they compute under given opts.
//
//   Product p{13, 9, 11, false, true};
//   HostTensor plain = run_with(p, {}, buffers), shaped = run_with(p, opts, buffers);
#pragma once
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "compiler/codegen/reference/kernel_interpreter.h"
#include "compiler/ir/text.h"
#include "compiler/passes/kernel/apply_opts.h"
#include "compiler/passes/kernel/matrix_tiles.h"
#include "compiler/passes/kernel/number_invocations.h"
#include "compiler/passes/kernel/pack_operands.h"
#include "compiler/passes/kernel/shared_tiles.h"
#include "compiler/passes/lowered/expand.h"
#include "compiler/passes/spec.h"
#include "compiler/schedule/opts.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth {

using codegen::reference::HostTensor;
using codegen::reference::interpret_kernel;
using ir::Op;
using ir::UOpRef;
using schedule::Opt;

// One thread, and nothing known but the length of vectors.
inline v1::Target target_of(std::uint32_t bits) {
  v1::Target target;
  target.set_device("cpu");
  target.set_vector_bits(bits);
  target.set_threads(1);
  return target;
}

struct Product {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
  ir::Scalar a = ir::Scalar::I32, b = ir::Scalar::I32;  // widened to the sum's dtype
  ir::Scalar sum() const {
    if (a == ir::Scalar::I32) return a;
    return ir::matrix_result(a, b) == ir::Scalar::Void ? ir::wmma_result(a, b) : ir::matrix_result(a, b);
  }
};
inline UOpRef at(ir::Graph& g, UOpRef row, UOpRef column, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? g.add(g.mul(column, g.index(rows)), row) : g.add(g.mul(row, g.index(columns)), column);
}

// out[m][n] = sum over k of a[m][k] * b[k][n], axes 0 (m), 1 (n), 2 (k); slots 0, 1, 2.
inline UOpRef kernel_of(ir::Graph& g, const Product& p) {
  const ir::Scalar dtypes[] = {p.sum(), p.a, p.b};
  auto param = [&](std::uint32_t slot) { return g.make(Op::Param, dtypes[slot], {}, ir::ParamInfo{slot}); };
  auto index = [&](std::uint32_t slot, UOpRef position) {
    return g.make(Op::Index, ir::Scalar::Void, {param(slot), position, g.boolean(true)});
  };
  UOpRef m = g.range(g.index(p.m), 0, ir::RangeKind::Loop), n = g.range(g.index(p.n), 1, ir::RangeKind::Loop);
  UOpRef k = g.range(g.index(p.k), 2, ir::RangeKind::Reduce);
  auto load = [&](std::uint32_t slot, UOpRef position) {
    UOpRef value = g.make(Op::Load, dtypes[slot], {index(slot, position)});
    return dtypes[slot] == p.sum() ? value : g.cast(value, p.sum());
  };
  UOpRef a = load(1, at(g, m, k, p.m, p.k, p.a_transposed)), b = load(2, at(g, k, n, p.k, p.n, p.b_transposed));
  UOpRef sum = g.make(Op::Reduce, p.sum(), {g.mul(a, b), k}, ir::ReduceInfo{ir::ReduceKind::Sum, {}});
  UOpRef store = g.make(Op::Store, ir::Scalar::Void, {index(0, at(g, m, n, p.m, p.n, false)), sum, m, n});
  return g.make(Op::Sink, ir::Scalar::Void, {store});
}

// Any integers; floats that are small integers, so that every order of a sum is exact, but not 0: -0 + -0 is -0 in an
// unrolled sum and 0 in one that starts at 0.
inline HostTensor random_tensor(ir::Scalar dtype, std::int64_t elements, std::mt19937& random) {
  HostTensor t(dtype, {elements});
  if (ir::is_float(dtype)) {
    for (std::int64_t i = 0; i < elements; ++i)
      t.set(i, codegen::reference::Element::of_float((random() % 2 ? 1.0 : -1.0) *
                                                     static_cast<double>(1 + random() % 15)));
    return t;
  }
  for (auto& byte : t.bytes) byte = static_cast<std::uint8_t>(random());
  return t;
}

inline std::vector<HostTensor> buffers_of(const Product& p, std::mt19937& random) {
  return {HostTensor(p.sum(), {p.m * p.n}), random_tensor(p.a, p.m * p.k, random),
          random_tensor(p.b, p.k * p.n, random)};
}

inline bool has_wmma(UOpRef kernel) {
  const std::vector<UOpRef> all = toposort(kernel);
  return std::ranges::any_of(all, [](UOpRef x) { return x->is(Op::Wmma); });
}

// Opts, shared tiles and packing applied, the copies made, the expanded kernel interpreted on `buffers`.
inline HostTensor run_with(const Product& p, const std::vector<Opt>& opts, std::vector<HostTensor> buffers,
                           bool* contracted = nullptr, const v1::Target& target = target_of(128)) {
  ir::Graph g;
  auto shaped = passes::apply_opts(g, kernel_of(g, p), opts);
  INFO(shaped.status());
  REQUIRE(shaped.ok());
  shaped = passes::share_tiles(g, *shaped, opts);
  INFO(shaped.status());
  REQUIRE(shaped.ok());
  shaped = passes::matrix_tiles(g, *shaped, opts, target::Target(target));
  INFO(shaped.status());
  REQUIRE(shaped.ok());
  shaped = passes::number_invocations(g, *shaped);
  std::vector<std::uint32_t> slots;
  for (const Opt& opt : opts) {
    if (opt.kind == Opt::Kind::Pack) slots.push_back(opt.axis);
  }
  auto packed = passes::pack_operands(g, *shaped, slots, 3);
  REQUIRE(packed.ok());
  for (const passes::PackedOperand& operand : packed->packed) {
    REQUIRE(operand.slot == buffers.size());
    // Not zeros, so that an element the copy forgets is noticed.
    std::mt19937 other(7);
    const HostTensor& source = buffers[operand.source_slot];
    std::vector<HostTensor> copy = {random_tensor(source.dtype, operand.elements, other), source};
    for (UOpRef kernel : operand.kernels) {
      const absl::Status status = interpret_kernel(kernel, {.buffers = copy, .vars = {}, .grid = {}});
      INFO(status);
      REQUIRE(status.ok());
    }
    buffers.push_back(copy[0]);
  }
  auto expanded = passes::expand(g, packed->kernel);
  INFO(expanded.status());
  REQUIRE(expanded.ok());
  const absl::Status legal = passes::check(passes::Level::Expanded, "expand", *expanded);
  INFO(legal);
  REQUIRE(legal.ok());
  const std::string text = ir::print(packed->kernel);
  ir::Graph read;
  const auto parsed = ir::parse(read, text);
  INFO(parsed.status());
  REQUIRE(parsed.ok());
  CHECK(ir::print(*parsed) == text);
  if (contracted) *contracted = has_wmma(*expanded);
  for (UOpRef kernel : {packed->kernel, *expanded}) {
    std::mt19937 other(8);
    buffers[0] = random_tensor(p.sum(), p.m * p.n, other);
    const absl::Status status = interpret_kernel(kernel, {.buffers = buffers, .vars = {}, .grid = {}});
    INFO(status << "\n" << ir::print(kernel));
    REQUIRE(status.ok());
    if (kernel == packed->kernel) buffers.push_back(buffers[0]);
  }
  CHECK(buffers[0].bytes == buffers.back().bytes);  // expanded or not
  return buffers[0];
}

}  // namespace hearth
