#include "client/ops/recurrent.h"

#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/movement.h"
#include "client/ops/support.h"
#include "runtime/text.h"

namespace hearth::client {
namespace {

// H, the number of hidden units.
std::int64_t check_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, std::int64_t gates) {
  require(x, "x");
  require(w, "w");
  require(r, "r");
  if (require(h, "h").rank() != 2 || r.rank() != 2 || w.rank() != 2 || x.rank() < 2) {
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
  return hidden;
}

// `vector` is empty or [length].
void check_vector(const Tensor& vector, std::string_view argument, std::int64_t length) {
  if (vector.empty() || vector.shape() == Shape{length}) return;
  fail_op(str_cat("argument '", argument, "' is ", describe(vector), "; expected [", length, "]"));
}

void check_state(const Tensor& c, const Tensor& h) {
  if (require(c, "c").shape() == h.shape()) return;
  fail_op(str_cat("argument 'c' is ", describe(c), "; expected the shape of 'h', ", to_string(h.shape())));
}

Tensor add_or_none(const Tensor& x, const Tensor& b) { return b.empty() ? x : x + b; }

// The activations of one layer, with their bound.
class Activations {
 public:
  explicit Activations(const RecurrentConfig& config) : config_(config) {
    if (config.clip < 0) fail_op(str_cat("clip is ", config.clip, "; expected a positive bound, or 0 for none"));
  }
  Tensor gate(const Tensor& x) const { return config_.gate ? config_.gate(bounded(x)) : sigmoid(bounded(x)); }
  Tensor cell(const Tensor& x) const { return config_.cell ? config_.cell(bounded(x)) : tanh(bounded(x)); }
  Tensor hidden(const Tensor& x) const { return config_.hidden ? config_.hidden(bounded(x)) : tanh(bounded(x)); }

 private:
  Tensor bounded(const Tensor& x) const { return config_.clip > 0 ? clip(x, -config_.clip, config_.clip) : x; }
  const RecurrentConfig& config_;
};

// Steps of time in the order in which they happen.
class Steps {
 public:
  Steps(const Tensor& x, const RecurrentConfig& config) : config_(config) {
    if (require(x, "x").rank() != 3) fail_op(str_cat("argument 'x' is ", describe(x), "; expected [T, N, I]"));
    count_ = const_length(x, 0, "since time is unrolled");
    if (count_ < 1) fail_op("there are no time steps");
    if (config.lengths.empty()) return;
    if (require_integer(config.lengths, "lengths").shape() != Shape{x.dim(1)}) {
      fail_op(str_cat("argument 'lengths' is ", describe(config.lengths), "; expected [", x.dim(1).to_string(), "]"));
    }
  }
  std::int64_t count() const { return count_; }
  std::int64_t at(std::int64_t step) const { return config_.reverse ? count_ - 1 - step : step; }
  // `next` for the items that have step `at`, `before` for the others.
  Tensor kept(std::int64_t at, const Tensor& next, const Operand& before) const {
    if (config_.lengths.empty()) return next;
    return where(unsqueeze(greater(config_.lengths, at), {1}), next, before);
  }

 private:
  const RecurrentConfig& config_;
  std::int64_t count_ = 0;
};

struct GruWeights {
  std::vector<Tensor> rows;  // of r, a gate each
  std::vector<Tensor> bias;  // of br
};

GruWeights split_gates(const Tensor& r, const Tensor& br, std::int64_t hidden) {
  const std::vector<std::int64_t> thirds = {hidden, hidden, hidden};
  return {split(r, thirds, 0), br.empty() ? std::vector<Tensor>(3) : split(br, thirds, 0)};
}

// `share` [N, 3H]: w x + bw.
Tensor gru_step(const Tensor& share, const Tensor& h, const GruWeights& weights, std::int64_t hidden,
                bool linear_before_reset, const Activations& activations) {
  const std::vector<Tensor> input = split(share, {hidden, hidden, hidden}, -1);
  const auto recurrent = [&](std::size_t gate, const Tensor& state) {
    return add_or_none(linear(state, weights.rows[gate]), weights.bias[gate]);
  };
  const Tensor update = activations.gate(input[0] + recurrent(0, h));
  const Tensor reset = activations.gate(input[1] + recurrent(1, h));
  const Tensor fresh = linear_before_reset ? reset * recurrent(2, h) : recurrent(2, reset * h);
  return (1.0 - update) * activations.cell(input[2] + fresh) + update * h;
}

// `gates` [N, 4H]: w x + r h + b.
LstmTensors lstm_step(const Tensor& gates, const LstmTensors& state, std::int64_t hidden, const LstmConfig& config,
                      const Activations& activations) {
  const std::vector<Tensor> part = split(gates, {hidden, hidden, hidden, hidden}, -1);
  const bool torch = config.order == GateOrder::kInputForgetCellOutput;
  std::vector<Tensor> peephole(3);
  if (!config.peepholes.empty()) peephole = split(config.peepholes, {hidden, hidden, hidden}, 0);
  const auto seen = [&](std::size_t at, std::size_t which, const Tensor& c) {
    return activations.gate(peephole[which].empty() ? part[at] : part[at] + peephole[which] * c);
  };
  const Tensor input = seen(0, 0, state.c);
  const Tensor forget = config.input_forget ? 1.0 - input : seen(torch ? 1 : 2, 2, state.c);
  const Tensor c = forget * state.c + input * activations.cell(part[torch ? 2 : 3]);
  return {seen(torch ? 3 : 1, 1, c) * activations.hidden(c), c};
}

}  // namespace

RecurrentResult rnn(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& b,
                    const RecurrentConfig& config, Loc loc) {
  OpScope scope("rnn", loc);
  const Steps steps(x, config);
  check_vector(b, "b", check_cell(x, h, w, r, 1));
  const Activations activations(config);
  // The inputs' share of every step in one product; only the recurrent share is sequential. Likewise below.
  const Tensor shares = add_or_none(linear(x, w), b);
  Tensor state = h;
  std::vector<Tensor> y(static_cast<std::size_t>(steps.count()));
  for (std::int64_t i = 0; i < steps.count(); ++i) {
    const std::int64_t at = steps.at(i);
    state = steps.kept(at, activations.cell(select(shares, 0, at) + linear(state, r)), state);
    y[static_cast<std::size_t>(at)] = steps.kept(at, state, 0.0);
  }
  return {stack(y, 0), state};
}

Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw, const Tensor& br,
                bool linear_before_reset, Loc loc) {
  OpScope scope("gru_cell", loc);
  const std::int64_t hidden = check_cell(x, h, w, r, 3);
  check_vector(bw, "bw", 3 * hidden);
  check_vector(br, "br", 3 * hidden);
  return gru_step(add_or_none(linear(x, w), bw), h, split_gates(r, br, hidden), hidden, linear_before_reset,
                  Activations({}));
}

RecurrentResult gru(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw,
                    const Tensor& br, bool linear_before_reset, const RecurrentConfig& config, Loc loc) {
  OpScope scope("gru", loc);
  const Steps steps(x, config);
  const std::int64_t hidden = check_cell(x, h, w, r, 3);
  check_vector(bw, "bw", 3 * hidden);
  check_vector(br, "br", 3 * hidden);
  const Activations activations(config);
  const GruWeights weights = split_gates(r, br, hidden);
  const Tensor shares = add_or_none(linear(x, w), bw);
  Tensor state = h;
  std::vector<Tensor> y(static_cast<std::size_t>(steps.count()));
  for (std::int64_t i = 0; i < steps.count(); ++i) {
    const std::int64_t at = steps.at(i);
    const Tensor share = select(shares, 0, at);
    state = steps.kept(at, gru_step(share, state, weights, hidden, linear_before_reset, activations), state);
    y[static_cast<std::size_t>(at)] = steps.kept(at, state, 0.0);
  }
  return {stack(y, 0), state};
}

LstmTensors lstm_cell(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                      GateOrder order, Loc loc) {
  OpScope scope("lstm_cell", loc);
  const std::int64_t hidden = check_cell(x, state.h, w, r, 4);
  check_vector(b, "b", 4 * hidden);
  check_state(state.c, state.h);
  const LstmConfig config{.order = order};
  return lstm_step(add_or_none(linear(x, w) + linear(state.h, r), b), state, hidden, config, Activations(config.steps));
}

LstmResult lstm(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                const LstmConfig& config, Loc loc) {
  OpScope scope("lstm", loc);
  const Steps steps(x, config.steps);
  const std::int64_t hidden = check_cell(x, state.h, w, r, 4);
  check_vector(b, "b", 4 * hidden);
  check_vector(config.peepholes, "peepholes", 3 * hidden);
  check_state(state.c, state.h);
  const Activations activations(config.steps);
  const Tensor shares = add_or_none(linear(x, w), b);
  LstmResult result;
  result.last = state;
  std::vector<Tensor> y(static_cast<std::size_t>(steps.count()));
  for (std::int64_t i = 0; i < steps.count(); ++i) {
    const std::int64_t at = steps.at(i);
    LstmTensors& last = result.last;
    const LstmTensors next = lstm_step(select(shares, 0, at) + linear(last.h, r), last, hidden, config, activations);
    last = {steps.kept(at, next.h, last.h), steps.kept(at, next.c, last.c)};
    y[static_cast<std::size_t>(at)] = steps.kept(at, last.h, 0.0);
  }
  result.y = stack(y, 0);
  return result;
}

}  // namespace hearth::client
