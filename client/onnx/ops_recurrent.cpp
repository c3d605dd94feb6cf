// LSTM and GRU, unrolled over time: one or two directions, default activations.
#include "client/onnx/host_math.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/ops/movement.h"
#include "client/ops/nn.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using client::Tensor;

constexpr std::int64_t kMaxSteps = 512;  // unrolling further makes graphs no compiler should see

struct Recurrence {
  std::int64_t steps = 0;
  client::Dim batch;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool reverse = false;  // of the only direction
  bool batch_first = false;
  Tensor x;  // [T, N, I]
};

// One direction of a [directions, ...] operand, as a host value when known.
Value direction_of(const NodeContext& node, const Value& all, std::int64_t direction, std::string_view part) {
  const Ints shape = all.shape();
  const Ints rest(shape.begin() + 1, shape.end());
  if (all.is_host() && fits(rest, all.dtype())) {
    const HostTensor taken = host_take(all.host(), {direction}, {}, 0);
    return node.made(taken, str_cat(part, direction));
  }
  return Value(client::select(all.tensor(), 0, direction));
}

Recurrence read(NodeContext& node, std::int64_t gates, const std::vector<std::string>& default_activations) {
  Recurrence r;
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    reject(str_cat("direction '", direction, "' is unknown"));
  }
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.reverse = direction == "reverse";
  r.batch_first = node.integer("layout", 0) != 0;
  if (node.has("clip")) reject_unsupported("attribute 'clip'");
  if (node.has("activation_alpha") || node.has("activation_beta")) reject_unsupported("activation parameters");
  const std::vector<std::string> activations = node.texts("activations");
  for (std::size_t i = 0; i < activations.size(); ++i) {
    if (activations[i] != default_activations[i % default_activations.size()]) {
      reject_unsupported(str_cat("activation '", activations[i], "' in this place"));
    }
  }
  if (node.has_input(4)) reject_unsupported("sequence_lens (input 4)");
  const client::Shape x = node.input(0).dims();
  const Ints w = node.input(1).shape();
  const Ints u = node.input(2).shape();
  if (x.size() != 3 || w.size() != 3 || u.size() != 3) reject("X, W and R must have three axes");
  r.hidden = node.integer("hidden_size", u[2]);
  const client::Shape want_w = {r.directions, gates * r.hidden, x[2]};
  const Ints want_u = {r.directions, gates * r.hidden, r.hidden};
  if (!(node.input(1).dims() == want_w) || u != want_u) {
    reject(str_cat("W ", to_string(w), " and R ", to_string(u), " must be ", client::to_string(want_w), " and ",
                   to_string(want_u)));
  }
  r.x = r.batch_first ? client::permute(node.tensor(0), {1, 0, 2}) : node.tensor(0);
  const client::Dim& steps = x[r.batch_first ? 1 : 0];
  if (!steps.is_const()) reject_unsupported(str_cat("the symbolic number of time steps ", steps.to_string()));
  r.steps = steps.value();
  r.batch = x[r.batch_first ? 0 : 1];
  if (r.steps < 1 || r.steps > kMaxSteps) {
    reject_unsupported(str_cat(r.steps, " time steps (1 to ", kMaxSteps, " are unrolled), which"));
  }
  return r;
}

// initial_h / initial_c of one direction [N, H]; zeros when omitted.
Tensor initial(NodeContext& node, std::size_t input, const Recurrence& r, std::int64_t direction) {
  if (!node.has_input(input)) return client::full({r.batch, r.hidden}, 0, r.x.dtype());
  const client::Dim directions = r.directions;
  const client::Shape want = {r.batch_first ? r.batch : directions, r.batch_first ? directions : r.batch, r.hidden};
  if (!(node.input(input).dims() == want)) {
    reject(str_cat("input ", input, " has shape ", client::to_string(node.input(input).dims()), " but needs ",
                   client::to_string(want)));
  }
  return client::select(node.tensor(input), r.batch_first ? 1 : 0, direction);
}

// Half `half` of one direction of B [directions, 2 * gates * H].
Value bias_half(NodeContext& node, const Recurrence& r, std::int64_t gates, std::int64_t direction, std::int64_t half) {
  const Value& all = node.input(3);
  const std::int64_t length = gates * r.hidden;
  if (all.shape() != Ints{r.directions, 2 * length}) {
    reject(str_cat("B has shape ", to_string(all.shape()), " but needs ", to_string({r.directions, 2 * length})));
  }
  if (all.is_host()) {
    const View view{{length}, {1}, (direction * 2 + half) * length};
    return node.made(host_view(all.host(), view), str_cat("B", direction, ".", half));
  }
  return Value(client::slice(client::select(all.tensor(), 0, direction), {{0, half * length, (half + 1) * length, 1}}));
}

// Y [T, directions, N, H] and final states [directions, N, H] (or batch first).
Value stack_directions(const std::vector<Tensor>& parts, const Recurrence& r, bool sequence) {
  const std::int64_t axis = sequence ? 1 : 0;
  const Tensor y = client::stack(parts, axis);
  if (!r.batch_first) return Value(y);
  return Value(client::permute(y, sequence ? client::Axes{2, 0, 1, 3} : client::Axes{1, 0, 2}));
}

Values lstm(NodeContext& node) {
  node.expect_integer("input_forget", 0);
  if (node.has_input(7)) reject_unsupported("peepholes (input 7)");
  const Recurrence r = read(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  std::vector<Tensor> y;
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    Tensor bias;
    if (node.has_input(3)) {
      const Value input = bias_half(node, r, 4, d, 0);
      const Value hidden = bias_half(node, r, 4, d, 1);
      const bool fold = input.is_host() && can_fold(input.host());
      bias = fold ? node.made(host_binary(HostBinary::kAdd, input.host(), hidden.host()), str_cat("B", d)).tensor()
                  : input.tensor() + hidden.tensor();
    }
    const client::LstmTensors start{initial(node, 5, r, d), initial(node, 6, r, d)};
    const client::LstmResult result = client::lstm(r.x, start, direction_of(node, node.input(1), d, "W").tensor(),
                                                   direction_of(node, node.input(2), d, "R").tensor(), bias,
                                                   client::GateOrder::kInputOutputForgetCell, r.reverse || d == 1);
    y.push_back(result.y);
    h.push_back(result.last.h);
    c.push_back(result.last.c);
  }
  return {stack_directions(y, r, true), stack_directions(h, r, false), stack_directions(c, r, false)};
}

Values gru(NodeContext& node) {
  const bool linear_before_reset = node.integer("linear_before_reset", 0) != 0;
  const Recurrence r = read(node, 3, {"Sigmoid", "Tanh"});
  std::vector<Tensor> y;
  std::vector<Tensor> last;
  for (std::int64_t d = 0; d < r.directions; ++d) {
    Tensor bw;
    Tensor br;
    if (node.has_input(3)) {
      bw = bias_half(node, r, 3, d, 0).tensor();
      br = bias_half(node, r, 3, d, 1).tensor();
    }
    const Tensor w = direction_of(node, node.input(1), d, "W").tensor();
    const Tensor u = direction_of(node, node.input(2), d, "R").tensor();
    Tensor h = initial(node, 5, r, d);
    std::vector<Tensor> steps(static_cast<std::size_t>(r.steps));
    const bool reverse = r.reverse || d == 1;
    for (std::int64_t i = 0; i < r.steps; ++i) {
      const std::int64_t t = reverse ? r.steps - 1 - i : i;
      h = client::gru_cell(client::select(r.x, 0, t), h, w, u, bw, br, linear_before_reset);
      steps[static_cast<std::size_t>(t)] = h;
    }
    y.push_back(client::stack(steps, 0));
    last.push_back(h);
  }
  return {stack_directions(y, r, true), stack_directions(last, r, false)};
}

constexpr OperatorEntry kOperators[] = {{"LSTM", lstm, 7}, {"GRU", gru, 7}};

}  // namespace

std::span<const OperatorEntry> recurrent_operators() { return kOperators; }

}  // namespace hearth::onnx
