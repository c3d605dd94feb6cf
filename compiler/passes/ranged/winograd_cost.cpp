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

// Sizes of what is computed.
struct Size {
  explicit Size(const Convolution& c)
      : rows(constant_length(c.row)),
        columns(constant_length(c.column)),
        in(constant_length(c.summed)),
        out(constant_length(c.made)) {
    for (ir::UOpRef loop : c.batch) batch *= constant_length(loop);
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

}  // namespace

double direct_cycles(const Convolution& convolution, const target::Target& target) {
  const Size s(convolution);
  return tune::plane_cycles(target, s.out, s.columns, 1, 0) * static_cast<double>(s.batch * s.rows * s.in) * kTaps;
}

double winograd_cycles(const Convolution& convolution, const target::Target& target) {
  const Size s(convolution);
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

}  // namespace hearth::passes
