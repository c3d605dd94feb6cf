#include "compiler/passes/ranged/winograd_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/passes/ranged/stages.h"
#include "compiler/passes/ranged/winograd_transform.h"
#include "compiler/schedule/kernel_facts.h"
#include "compiler/schedule/tile_cost.h"
#include "compiler/target/core_model.h"

namespace hearth::passes {
namespace {

using target::kCore;

constexpr double kProductsOfTile = kWinogradInputs * kWinogradInputs;
constexpr double kTaps = kWinogradTaps * kWinogradTaps;
constexpr std::int64_t kMinChannels = 16;

constexpr double kWorthAChoice = 1.1;  // times as slow at an end of a range: a second kernel costs its compile
constexpr int kPlaces = 48;            // of a range that are looked at, as far from each other by their logarithms

// Sizes of what is computed. Where lengths depend on variables: at `share` of the way from their least to their
// greatest, by their logarithms.
struct Size {
  Size(const Convolution& c, double share)
      : rows(length(c.row, share)),
        columns(length(c.column, share)),
        in(length(c.summed, share)),
        out(length(c.made, share)) {
    for (ir::UOpRef loop : c.batch) batch *= length(loop, share);
  }
  static std::int64_t length(ir::UOpRef range, double share) {
    const ir::Bounds& bounds = range->source(0)->bounds;
    const auto least = std::max<std::int64_t>(1, bounds.min), greatest = std::max<std::int64_t>(1, bounds.max);
    if (least == greatest) return least;
    const double low = std::log(static_cast<double>(least)), high = std::log(static_cast<double>(greatest));
    return std::clamp<std::int64_t>(std::llround(std::exp(low + share * (high - low))), least, greatest);
  }
  std::int64_t tiles() const {
    const auto along = [](std::int64_t n) { return (n + kWinogradOutputs - 1) / kWinogradOutputs; };
    return batch * along(rows) * along(columns);
  }
  std::int64_t results() const { return batch * rows * columns; }

  std::int64_t batch = 1, rows, columns, in, out;
};

// Weights that are stored in fewer bytes, which their transform would not be.
bool is_narrow(ir::UOpRef weights) {
  return std::ranges::any_of(nodes_below({&weights, 1}), [](ir::UOpRef x) {
    return x->is(ir::Op::Load) && byte_size(x->dtype) < static_cast<int>(sizeof(float));
  });
}

double direct_cycles(const target::Target& target, const Size& s) {
  return schedule::plane_cycles(target, s.out, s.columns, 1) * static_cast<double>(s.batch * s.rows * s.in) * kTaps;
}

double winograd_cycles(const Convolution& convolution, const target::Target& target, const Size& s) {
  const auto lanes = static_cast<double>(target.lanes(4));
  const bool is_f32 = convolution.reduce->dtype == ir::DType(ir::Scalar::F32) && !is_narrow(convolution.weights);
  if (lanes < 4 || !is_f32 || s.in < kMinChannels || s.out < kMinChannels) return INFINITY;
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out), tiles = static_cast<double>(s.tiles());
  const double products = kProductsOfTile * in * schedule::plane_cycles(target, s.out, s.tiles(), 0);
  const double transforms = tiles * (kCore.winograd_input_cycles * std::ceil(in / lanes) +
                                     kCore.winograd_output_cycles * std::ceil(out / lanes));
  const double near = static_cast<double>(target.l2_bytes()) / 2;
  double moved = 0;  // bytes
  if (const double operands = kProductsOfTile * tiles * (in + out) * sizeof(float); operands > near)
    moved += 2 * operands;
  if (const double weights = kProductsOfTile * in * out * sizeof(float); weights > near) moved += weights;
  return products + transforms + moved / kCore.memory_bytes_per_cycle;
}

}  // namespace

double winograd_cycles(const Convolution& convolution, const target::Target& target) {
  return winograd_cycles(convolution, target, Size(convolution, 1));
}

WinogradUse winograd_use(const Convolution& convolution, const target::Target& target) {
  using When = WinogradUse::When;
  const auto share = [&](const Size& s) {  // of the time of the sum
    return winograd_cycles(convolution, target, s) / direct_cycles(target, s);
  };
  const double least = share(Size(convolution, 0)), greatest = share(Size(convolution, 1));
  if (least < kWorthAChoice && greatest < 1) return {When::Always};
  if (greatest * kWorthAChoice > 1 || least < 1)
    return {least * greatest < 1 ? When::Always : When::Never};  // by the geometric mean
  std::int64_t least_results = Size(convolution, 1).results();
  for (int place = kPlaces; place-- > 0;) {
    const Size size(convolution, static_cast<double>(place) / kPlaces);
    if (share(size) >= 1) break;
    least_results = size.results();
  }
  return {When::From, least_results};
}

}  // namespace hearth::passes
