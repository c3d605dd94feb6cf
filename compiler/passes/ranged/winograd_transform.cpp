#include "compiler/passes/ranged/winograd_transform.h"

namespace hearth::passes {
namespace {

using ir::UOpRef;

constexpr double kNear = 0.75, kFar = 1.5;  // the points, beside 0 and infinity, with both signs
constexpr double kNear2 = kNear * kNear, kFar2 = kFar * kFar;

class Expressions {
 public:
  explicit Expressions(ir::Graph& g) : g_(g) {}

  UOpRef add(UOpRef a, UOpRef b) { return g_.add(a, b); }
  UOpRef sub(UOpRef a, UOpRef b) { return g_.add(a, scaled(b, -1)); }
  UOpRef scaled(UOpRef x, double factor) { return g_.mul(x, g_.constant(x->dtype, factor)); }
  UOpRef plus(UOpRef a, double factor, UOpRef b) { return g_.add(a, scaled(b, factor)); }

 private:
  ir::Graph& g_;
};

}  // namespace

WinogradLine<kWinogradInputs> winograd_input(ir::Graph& graph, const WinogradLine<kWinogradInputs>& d) {
  Expressions e(graph);
  // The row of a point is the product of (x - other point), in powers of x; those of opposite points share their parts.
  UOpRef near_even = e.plus(d[4], -kFar2, d[2]), near_odd = e.plus(d[3], -kFar2, d[1]);
  UOpRef far_even = e.plus(d[4], -kNear2, d[2]), far_odd = e.plus(d[3], -kNear2, d[1]);
  const auto whole = [&](int i) { return e.plus(e.plus(d[i + 4], -(kNear2 + kFar2), d[i + 2]), kNear2 * kFar2, d[i]); };
  return {whole(0),
          e.plus(near_even, kNear, near_odd),
          e.plus(near_even, -kNear, near_odd),
          e.plus(far_even, kFar, far_odd),
          e.plus(far_even, -kFar, far_odd),
          whole(1)};
}

WinogradLine<kWinogradInputs> winograd_filter(ir::Graph& graph, const WinogradLine<kWinogradTaps>& w) {
  Expressions e(graph);
  const auto at = [&](double point, double scale) {
    return e.scaled(e.plus(e.plus(w[0], point, w[1]), point * point, w[2]), scale);
  };
  const double near = 1 / (2 * kNear2 * (kNear2 - kFar2)), far = 1 / (2 * kFar2 * (kFar2 - kNear2));
  return {e.scaled(w[0], 1 / (kNear2 * kFar2)), at(kNear, near), at(-kNear, near), at(kFar, far), at(-kFar, far), w[2]};
}

WinogradLine<kWinogradOutputs> winograd_output(ir::Graph& graph, const WinogradLine<kWinogradInputs>& products) {
  Expressions e(graph);
  const auto& m = products;
  UOpRef near_sum = e.add(m[1], m[2]), near_difference = e.sub(m[1], m[2]);
  UOpRef far_sum = e.add(m[3], m[4]), far_difference = e.sub(m[3], m[4]);
  return {e.add(m[0], e.add(near_sum, far_sum)), e.plus(e.scaled(near_difference, kNear), kFar, far_difference),
          e.plus(e.scaled(near_sum, kNear2), kFar2, far_sum),
          e.plus(e.plus(m[5], kNear2 * kNear, near_difference), kFar2 * kFar, far_difference)};
}

}  // namespace hearth::passes
