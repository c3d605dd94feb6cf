#include "compiler/passes/ranged/winograd_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/ranged/winograd_transform.h"
#include "compiler/tune/kernel_facts.h"
#include "compiler/tune/tile_cost.h"

namespace hearth::passes {
namespace {

constexpr double kProductsOfTile = kWinogradInputs * kWinogradInputs;
constexpr double kTaps = kWinogradTaps * kWinogradTaps;
constexpr std::int64_t kMinChannels = 16;
// Of one tile and vector of channels: its arithmetic, loads and stores.
constexpr double kInputCycles = 150, kOutputCycles = 110;
constexpr double kBytesPerCycle = 8;  // of what does not stay in the second-level cache, each way

enum class At { Least, Greatest };  // of the lengths that variables have

// Sizes of what is computed.
struct Size {
  Size(const Convolution& c, At at)
      : rows(length(c.row, at)), columns(length(c.column, at)), in(length(c.summed, at)), out(length(c.made, at)) {
    for (ir::UOpRef loop : c.batch) batch *= length(loop, at);
  }
  static std::int64_t length(ir::UOpRef range, At at) {
    const ir::Bounds& bounds = range->source(0)->bounds;
    return std::max<std::int64_t>(1, at == At::Least ? bounds.min : bounds.max);
  }
  std::int64_t tiles() const {
    const auto along = [](std::int64_t n) { return (n + kWinogradOutputs - 1) / kWinogradOutputs; };
    return batch * along(rows) * along(columns);
  }

  std::int64_t batch = 1, rows, columns, in, out;
};

// Weights that are stored in fewer bytes, which their transform would not be.
bool is_narrow(ir::UOpRef weights) {
  return std::ranges::any_of(nodes_below({&weights, 1}), [](ir::UOpRef x) {
    return x->is(ir::Op::Load) && byte_size(x->dtype) < static_cast<int>(sizeof(float));
  });
}

double direct_cycles(const Convolution& convolution, const target::Target& target, At at) {
  const Size s(convolution, at);
  return tune::plane_cycles(target, s.out, s.columns, 1, 0) * static_cast<double>(s.batch * s.rows * s.in) * kTaps;
}

double winograd_cycles(const Convolution& convolution, const target::Target& target, At at) {
  const Size s(convolution, at);
  const auto lanes = static_cast<double>(target.lanes(4));
  const bool is_f32 = convolution.reduce->dtype == ir::DType(ir::Scalar::F32) && !is_narrow(convolution.weights);
  if (lanes < 4 || !is_f32 || s.in < kMinChannels || s.out < kMinChannels) return INFINITY;
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out), tiles = static_cast<double>(s.tiles());
  const double products = kProductsOfTile * in * tune::plane_cycles(target, s.out, s.tiles(), 0, 0);
  const double transforms = tiles * (kInputCycles * std::ceil(in / lanes) + kOutputCycles * std::ceil(out / lanes));
  const double near = static_cast<double>(target.l2_bytes()) / 2;
  double moved = 0;  // bytes
  if (const double operands = kProductsOfTile * tiles * (in + out) * sizeof(float); operands > near)
    moved += 2 * operands;
  if (const double weights = kProductsOfTile * in * out * sizeof(float); weights > near) moved += weights;
  return products + transforms + moved / kBytesPerCycle;
}

}  // namespace

double winograd_cycles(const Convolution& convolution, const target::Target& target) {
  return winograd_cycles(convolution, target, At::Greatest);
}

bool is_winograd_faster(const Convolution& convolution, const target::Target& target) {
  const auto share = [&](At at) {
    return winograd_cycles(convolution, target, at) / direct_cycles(convolution, target, at);
  };
  return share(At::Least) * share(At::Greatest) < 1;
}

}  // namespace hearth::passes
