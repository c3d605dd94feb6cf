#include "hearth/ops/recurrent.h"

#include "base/text.h"
#include "client/ops/support.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/linear.h"
#include "hearth/ops/loop.h"
#include "hearth/ops/movement.h"

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

// Narrow floats are computed and carried from step to step in f32, and rounded where they leave.
bool is_narrow(const Tensor& x) { return is_float(require(x, "x").dtype()) && dtype_bytes(x.dtype()) < 4; }
Tensor widened(const Tensor& x) { return x.empty() || !is_float(x.dtype()) ? x : to_wide(x); }

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

// Time: what a step is given besides its share of the inputs, and what becomes of items that have ended.
class Time {
 public:
  Time(const Tensor& x, const RecurrentConfig& config) : config_(config) {
    if (require(x, "x").rank() != 3) fail_op(str_cat("argument 'x' is ", describe(x), "; expected [T, N, I]"));
    count_ = x.dim(0);
    if (count_.min() < 1) fail_op(str_cat("there are ", count_.to_string(), " time steps, which may be none"));
    if (config.lengths.empty()) return;
    if (require_integer(config.lengths, "lengths").shape() != Shape{x.dim(1)}) {
      fail_op(str_cat("argument 'lengths' is ", describe(config.lengths), "; expected [", x.dim(1).to_string(), "]"));
    }
  }

  // `step` takes its share of the inputs and the state, and gives the next state, of which the first is y.
  using Step = std::function<std::vector<Tensor>(const Tensor& share, std::span<const Tensor> state)>;
  LoopResult run(const Tensor& shares, const std::vector<Tensor>& state, const Step& step) const {
    std::vector<Tensor> sliced = {shares};
    if (!config_.lengths.empty()) sliced.push_back(iota({count_}, 0, config_.lengths.dtype()));
    return loop(count_, state, sliced,
                [&](LoopStep now) -> LoopValues {
                  std::vector<Tensor> next = step(now.sliced[0], now.carried);
                  if (config_.lengths.empty()) return {next, {next[0]}};
                  const Tensor goes_on = unsqueeze(greater(config_.lengths, now.sliced[1]), {1});
                  for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(goes_on, next[i], now.carried[i]);
                  return {next, {where(goes_on, next[0], 0.0)}};
                },
                {.reverse = config_.reverse});
  }

 private:
  const RecurrentConfig& config_;
  Dim count_;
};

struct GruWeights {
  Tensor r, br;  // br may be empty
  std::int64_t hidden = 0;
  bool linear_before_reset = false;
};

// Rows [begin, end) of the weights, in units of gates: r h + br.
Tensor gru_product(const GruWeights& weights, std::int64_t begin, std::int64_t end, const Tensor& h) {
  const Slice rows = {0, begin * weights.hidden, end * weights.hidden, 1};
  return add_or_none(linear(h, slice(weights.r, {rows})), weights.br.empty() ? Tensor() : slice(weights.br, {rows}));
}

// `share` [N, 3H]: w x + bw.
Tensor gru_step(const Tensor& share, const Tensor& h, const GruWeights& weights, const Activations& activations) {
  const std::int64_t hidden = weights.hidden;
  const std::vector<Tensor> input = split(share, {hidden, hidden, hidden}, -1);
  const bool together = weights.linear_before_reset;  // then all gates see the same state: one product
  const std::vector<Tensor> gates =
      split(gru_product(weights, 0, together ? 3 : 2, h), std::vector<std::int64_t>(together ? 3 : 2, hidden), -1);
  const Tensor update = activations.gate(input[0] + gates[0]);
  const Tensor reset = activations.gate(input[1] + gates[1]);
  const Tensor fresh = together ? reset * gates[2] : gru_product(weights, 2, 3, reset * h);
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
  if (is_narrow(x)) {
    const RecurrentResult result = rnn(widened(x), widened(h), widened(w), widened(r), widened(b), config);
    return {cast_to(result.y, x.dtype()), cast_to(result.last, x.dtype())};
  }
  const Time time(x, config);
  check_vector(b, "b", check_cell(x, h, w, r, 1));
  const Activations activations(config);
  // The inputs' share of every step in one product; only the recurrent share is sequential. Likewise below.
  const LoopResult result =
      time.run(add_or_none(linear(x, w), b), {h}, [&](const Tensor& share, std::span<const Tensor> state) {
        return std::vector<Tensor>{activations.cell(share + linear(state[0], r))};
      });
  return {result.stacked[0], result.last[0]};
}

Tensor gru_cell(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw, const Tensor& br,
                bool linear_before_reset, Loc loc) {
  OpScope scope("gru_cell", loc);
  if (is_narrow(x)) {
    const Tensor next =
        gru_cell(widened(x), widened(h), widened(w), widened(r), widened(bw), widened(br), linear_before_reset);
    return cast_to(next, x.dtype());
  }
  const std::int64_t hidden = check_cell(x, h, w, r, 3);
  check_vector(bw, "bw", 3 * hidden);
  check_vector(br, "br", 3 * hidden);
  return gru_step(add_or_none(linear(x, w), bw), h, {r, br, hidden, linear_before_reset}, Activations({}));
}

RecurrentResult gru(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& r, const Tensor& bw,
                    const Tensor& br, bool linear_before_reset, const RecurrentConfig& config, Loc loc) {
  OpScope scope("gru", loc);
  if (is_narrow(x)) {
    const RecurrentResult result =
        gru(widened(x), widened(h), widened(w), widened(r), widened(bw), widened(br), linear_before_reset, config);
    return {cast_to(result.y, x.dtype()), cast_to(result.last, x.dtype())};
  }
  const Time time(x, config);
  const std::int64_t hidden = check_cell(x, h, w, r, 3);
  check_vector(bw, "bw", 3 * hidden);
  check_vector(br, "br", 3 * hidden);
  const Activations activations(config);
  const GruWeights weights = {r, br, hidden, linear_before_reset};
  const LoopResult result =
      time.run(add_or_none(linear(x, w), bw), {h}, [&](const Tensor& share, std::span<const Tensor> state) {
        return std::vector<Tensor>{gru_step(share, state[0], weights, activations)};
      });
  return {result.stacked[0], result.last[0]};
}

LstmTensors lstm_cell(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                      GateOrder order, Loc loc) {
  OpScope scope("lstm_cell", loc);
  if (is_narrow(x)) {
    const LstmTensors next =
        lstm_cell(widened(x), {widened(state.h), widened(state.c)}, widened(w), widened(r), widened(b), order);
    return {cast_to(next.h, x.dtype()), cast_to(next.c, x.dtype())};
  }
  const std::int64_t hidden = check_cell(x, state.h, w, r, 4);
  check_vector(b, "b", 4 * hidden);
  check_state(state.c, state.h);
  const LstmConfig config{.order = order};
  return lstm_step(add_or_none(linear(x, w) + linear(state.h, r), b), state, hidden, config, Activations(config.steps));
}

LstmResult lstm(const Tensor& x, const LstmTensors& state, const Tensor& w, const Tensor& r, const Tensor& b,
                const LstmConfig& config, Loc loc) {
  OpScope scope("lstm", loc);
  if (is_narrow(x)) {
    LstmConfig wide_config = config;
    wide_config.peepholes = widened(config.peepholes);
    const LstmResult result =
        lstm(widened(x), {widened(state.h), widened(state.c)}, widened(w), widened(r), widened(b), wide_config);
    return {cast_to(result.y, x.dtype()), {cast_to(result.last.h, x.dtype()), cast_to(result.last.c, x.dtype())}};
  }
  const Time time(x, config.steps);
  const bool has_products = config.input_product && config.hidden_product;
  const std::int64_t hidden =
      has_products ? const_length(state.h, 1, "since it counts hidden units") : check_cell(x, state.h, w, r, 4);
  check_vector(b, "b", 4 * hidden);
  check_vector(config.peepholes, "peepholes", 3 * hidden);
  check_state(state.c, state.h);
  const Activations activations(config.steps);
  const Tensor shares = has_products ? config.input_product(x) : linear(x, w);
  const LoopResult result =
      time.run(add_or_none(shares, b), {state.h, state.c}, [&](const Tensor& share, std::span<const Tensor> before) {
        const Tensor of_hidden = has_products ? config.hidden_product(before[0]) : linear(before[0], r);
        const LstmTensors next = lstm_step(share + of_hidden, {before[0], before[1]}, hidden, config, activations);
        return std::vector<Tensor>{next.h, next.c};
      });
  return {result.stacked[0], {result.last[0], result.last[1]}};
}

}  // namespace hearth::client
