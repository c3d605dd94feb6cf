#include "client/ops/nn.h"

#include <algorithm>

#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/movement.h"
#include "client/ops/reduce.h"
#include "client/ops/support.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

Axes axes_from(const Tensor& x, std::int64_t axis) {
  Axes axes;
  for (std::int64_t i = normal_axis(axis, x.rank()); i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

Tensor normalise(const Tensor& x, const Axes& axes, double epsilon) {
  const Tensor centred = x - mean(x, axes, true);
  return centred * (1.0 / sqrt(mean(square(centred), axes, true) + epsilon));
}

Tensor affine(const Tensor& x, const Tensor& scale, const Tensor& bias) {
  Tensor result = scale.empty() ? x : x * scale;
  return bias.empty() ? result : result + bias;
}

Tensor channels_or_none(const Tensor& vector, const Tensor& x, std::string_view argument) {
  return vector.empty() ? vector : per_channel(vector, x.rank(), argument, x.dim(1));
}

void check_channels(const Tensor& x) {
  if (require(x, "x").rank() < 2) {
    fail_op(str_cat("argument 'x' is ", describe(x), "; expected at least 2 axes, [N, C, ...]"));
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t axis, double epsilon,
                  Loc loc) {
  OpScope scope("layer_norm", loc);
  const Tensor value = to_float(require(x, "x"));
  return affine(normalise(value, axes_from(value, axis), epsilon), scale, bias);
}

Tensor rms_norm(const Tensor& x, const Tensor& scale, std::int64_t axis, double epsilon, Loc loc) {
  OpScope scope("rms_norm", loc);
  const Tensor value = to_float(require(x, "x"));
  return affine(value * (1.0 / sqrt(mean(square(value), axes_from(value, axis), true) + epsilon)), scale, {});
}

Tensor batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean_given,
                  const Tensor& variance_given, double epsilon, Loc loc) {
  OpScope scope("batch_norm", loc);
  check_channels(x);
  const Tensor centre = per_channel(mean_given, x.rank(), "mean", x.dim(1));
  const Tensor spread = per_channel(variance_given, x.rank(), "variance", x.dim(1));
  const Tensor deviation = sqrt(spread + epsilon);
  const Tensor normal = (to_float(x) - centre) / deviation;
  return affine(normal, channels_or_none(scale, x, "scale"), channels_or_none(bias, x, "bias"));
}

BatchNormResult batch_norm_training(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon, Loc loc) {
  OpScope scope("batch_norm_training", loc);
  check_channels(x);
  Axes axes = {0};
  for (std::int64_t i = 2; i < x.rank(); ++i) axes.push_back(i);
  const Tensor centre = mean(x, axes), spread = variance(x, axes);
  return {batch_norm(x, scale, bias, centre, spread, epsilon), centre, spread};
}

Tensor mean_variance_norm(const Tensor& x, const Axes& axes, double epsilon, Loc loc) {
  OpScope scope("mean_variance_norm", loc);
  const Tensor centred = to_float(require(x, "x")) - mean(x, axes, true);
  return centred / (sqrt(mean(square(centred), axes, true)) + epsilon);
}

Tensor lp_normalize(const Tensor& x, std::int64_t axis, double p, Loc loc) {
  OpScope scope("lp_normalize", loc);
  const Tensor value = to_float(require(x, "x")), norm = lp_norm(value, p, {axis}, true);
  return where(equal(norm, 0.0), 0.0, value / norm);
}

Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha, double beta, double bias, Loc loc) {
  OpScope scope("local_response_norm", loc);
  check_channels(x);
  if (size < 1) fail_op(str_cat("size is ", size, "; expected at least 1"));
  const Tensor value = to_float(x);
  Shape before(value.shape().size(), Dim(0)), after = before;
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - (size - 1) / 2;
  const Tensor sum = reduce_sum(unfold(pad(square(value), before, after), 1, size), {-1});
  return value / pow(sum * (alpha / static_cast<double>(size)) + bias, beta);
}

Tensor instance_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon, Loc loc) {
  OpScope scope("instance_norm", loc);
  check_channels(x);
  return affine(normalise(to_float(x), axes_from(x, 2), epsilon), channels_or_none(scale, x, "scale"),
                channels_or_none(bias, x, "bias"));
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& scale, const Tensor& bias, double epsilon,
                  Loc loc) {
  OpScope scope("group_norm", loc);
  check_channels(x);
  const std::int64_t channels = const_length(x, 1, "since it counts channels");
  if (groups < 1 || channels % groups != 0) {
    fail_op(str_cat("groups is ", groups, " for ", describe(x), "; expected a divisor of ", channels));
  }
  const Tensor grouped = reshape(to_float(x), {x.dim(0), groups, -1});
  return affine(reshape_to(normalise(grouped, {2}, epsilon), x.shape()), channels_or_none(scale, x, "scale"),
                channels_or_none(bias, x, "bias"));
}

namespace {

struct Recurrent {
  Dim batch;
  std::int64_t hidden;
};

Recurrent check_recurrent(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, std::int64_t gates) {
  require(x, "x");
  require(w, "w");
  require(r, "r");
  if (require(h, "h").rank() != 2 || r.rank() != 2 || w.rank() != 2) {
    fail_op(str_cat("'h' is ", describe(h), ", 'w' is ", describe(w), ", 'r' is ", describe(r), "; expected [N, H], [",
                    gates, "H, I], [", gates, "H, H]"));
  }
  const std::int64_t hidden = const_length(h, 1, "since it counts hidden units");
  const bool fit = r.shape() == Shape{gates * hidden, hidden} && w.dim(0) == Dim(gates * hidden) &&
                   w.dim(1) == x.dim(-1) && x.dim(-2) == h.dim(0);
  if (!fit) {
    fail_op(str_cat("'x' is ", describe(x), ", 'h' is ", describe(h), ", 'w' is ", describe(w), ", 'r' is ",
                    describe(r), "; expected [.., N, I], [N, H], [", gates, "H, I], [", gates, "H, H]"));
  }
  return {h.dim(0), hidden};
}

LstmTensors lstm_gates(const Tensor& gates, const LstmTensors& state, std::int64_t hidden, GateOrder order) {
  const std::vector<Tensor> part = split(gates, {hidden, hidden, hidden, hidden}, -1);
  const bool torch = order == GateOrder::kInputForgetCellOutput;
  const Tensor &input = part[0], &forget = part[torch ? 1 : 2], &cell = part[torch ? 2 : 3],
               &output = part[torch ? 3 : 1];
  const Tensor c = sigmoid(forget) * state.c + sigmoid(input) * tanh(cell);
  return {sigmoid(output) * tanh(c), c};
}

Tensor add_or_none(const Tensor& x, const Tensor& b) { return b.empty() ? x : x + b; }

}  // namespace

LstmTensors lstm_cell(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                      GateOrder order, Loc loc) {
  OpScope scope("lstm_cell", loc);
  const Recurrent sizes = check_recurrent(x, state.h, w, r, 4);
  require(state.c, "c");
  return lstm_gates(add_or_none(linear(x, w) + linear(state.h, r), b), state, sizes.hidden, order);
}

LstmResult lstm(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                GateOrder order, bool reverse, Loc loc) {
  OpScope scope("lstm", loc);
  if (require(x, "x").rank() != 3) fail_op(str_cat("argument 'x' is ", describe(x), "; expected [T, N, I]"));
  const Recurrent sizes = check_recurrent(x, state.h, w, r, 4);
  require(state.c, "c");
  const std::int64_t steps = const_length(x, 0, "since time is unrolled");
  if (steps < 1) fail_op("there are no time steps");
  // The inputs' share of every step in one product; only the recurrent share is sequential.
  const Tensor shares = add_or_none(linear(x, w), b);
  LstmResult result;
  result.last = state;
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t at = reverse ? steps - 1 - i : i;
    result.last = lstm_gates(select(shares, 0, at) + linear(result.last.h, r), result.last, sizes.hidden, order);
    outputs[static_cast<std::size_t>(at)] = result.last.h;
  }
  result.y = stack(outputs, 0);
  return result;
}

Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw, const Tensor& br,
                bool linear_before_reset, Loc loc) {
  OpScope scope("gru_cell", loc);
  const Recurrent sizes = check_recurrent(x, h, w, r, 3);
  const std::vector<std::int64_t> thirds = {sizes.hidden, sizes.hidden, sizes.hidden};
  const std::vector<Tensor> input = split(add_or_none(linear(x, w), bw), thirds, -1);
  const std::vector<Tensor> rows = split(r, thirds, 0);
  const std::vector<Tensor> bias = br.empty() ? std::vector<Tensor>(3) : split(br, thirds, 0);
  const Tensor update = sigmoid(input[0] + add_or_none(linear(h, rows[0]), bias[0]));
  const Tensor reset = sigmoid(input[1] + add_or_none(linear(h, rows[1]), bias[1]));
  const Tensor recurrent = linear_before_reset ? reset * add_or_none(linear(h, rows[2]), bias[2])
                                               : add_or_none(linear(reset * h, rows[2]), bias[2]);
  return (Operand(1.0, loc) - update) * tanh(input[2] + recurrent) + update * h;
}

}  // namespace hearth::client
