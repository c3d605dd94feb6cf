#include "hearth/ops/loop.h"

#include <algorithm>

#include "base/text.h"
#include "client/ops/support.h"
#include "client/trace/recorded_loop.h"
#include "hearth/ops/movement.h"

namespace hearth::client {
namespace {

thread_local bool records_body = false;

// While a body is recorded: a loop within it is written out.
class BodyScope {
 public:
  BodyScope() { records_body = true; }
  ~BodyScope() { records_body = false; }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;
};

void check_operands(const Dim& count, const std::vector<Tensor>& carried, const std::vector<Tensor>& sliced) {
  if (count.min() < 1) fail_op(str_cat("'count' is ", count.to_string(), ", which may be less than 1"));
  for (const Tensor& x : carried) require(x, "carried");
  for (const Tensor& x : sliced) {
    if (require(x, "sliced").rank() < 1 || x.dim(0) != count) {
      fail_op(str_cat("a sliced operand is ", describe(x), "; its first axis must be ", count.to_string()));
    }
  }
  if (carried.empty() && sliced.empty()) fail_op("nothing is carried and nothing is sliced");
}

void check_values(const LoopValues& values, const std::vector<Tensor>& carried) {
  if (values.carried.size() != carried.size()) {
    fail_op(str_cat("the body gives ", values.carried.size(), " carried values of ", carried.size()));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Tensor& next = require(values.carried[i], "carried");
    if (next.dtype() == carried[i].dtype() && next.shape() == carried[i].shape()) continue;
    fail_op(str_cat("the body makes ", describe(next), " of carried value ", i, ", which is ", describe(carried[i])));
  }
  for (const Tensor& x : values.stacked) require(x, "stacked");
}

LoopResult write_out(std::int64_t count, std::vector<Tensor> carried, const std::vector<Tensor>& sliced,
                     const LoopBody& body, bool reverse) {
  std::vector<std::vector<Tensor>> parts;  // of what is stacked, in the order of the axis
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t at = reverse ? count - 1 - step : step;
    std::vector<Tensor> elements;
    for (const Tensor& x : sliced) elements.push_back(select(x, 0, at));
    LoopValues values = body({carried, elements});
    check_values(values, carried);
    carried = std::move(values.carried);
    parts.resize(values.stacked.size(), std::vector<Tensor>(static_cast<std::size_t>(count)));
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i][static_cast<std::size_t>(at)] = values.stacked[i];
  }
  LoopResult result = {std::move(carried), {}};
  for (const std::vector<Tensor>& part : parts) result.stacked.push_back(stack(part, 0));
  return result;
}

Tensor result_of(const std::shared_ptr<const RecordedLoop>& loop, const std::vector<Tensor>& operands,
                 std::size_t number, const Loc& loc) {
  const Tensor& value = loop->outputs[number];
  Node node;
  node.op = v1::LOOP;
  node.dtype = value.dtype();
  node.shape = value.shape();
  if (number >= loop->carried || loop->collected[number]) node.shape.insert(node.shape.begin(), loop->count);
  node.inputs = operands;
  node.axes = {static_cast<std::int64_t>(number)};
  node.loop = loop;
  return make_node(std::move(node), loc);
}

}  // namespace

LoopResult loop(const Dim& count, const std::vector<Tensor>& carried, const std::vector<Tensor>& sliced,
                const LoopBody& body, const LoopConfig& config, Loc loc) {
  OpScope scope("loop", loc);
  check_operands(count, carried, sliced);
  if (records_body && !count.is_const()) fail_op("a loop within a loop's body needs a constant count");
  if (records_body || count == Dim(1)) return write_out(count.value(), carried, sliced, body, config.reverse);

  std::vector<Tensor> placeholders;
  for (const Tensor& x : carried)
    placeholders.push_back(input(str_cat("carried", placeholders.size()), x.shape(), x.dtype(), loc));
  for (const Tensor& x : sliced) {
    Shape element(x.shape().begin() + 1, x.shape().end());
    placeholders.push_back(input(str_cat("sliced", placeholders.size() - carried.size()), element, x.dtype(), loc));
  }
  const std::span<const Tensor> all = placeholders;
  LoopValues values;
  {
    const BodyScope in_body;
    values = body({all.first(carried.size()), all.subspan(carried.size())});
  }
  check_values(values, carried);

  auto recorded = std::make_shared<RecordedLoop>();
  recorded->count = count;
  recorded->carried = carried.size();
  recorded->sliced = sliced.size();
  recorded->reverse = config.reverse;
  recorded->collected.resize(carried.size());
  recorded->outputs = values.carried;
  // What is stacked and carried too is stored once: the next step reads it where this one put it.
  std::vector<std::size_t> number_of;
  for (const Tensor& x : values.stacked) {
    const auto same = std::find_if(values.carried.begin(), values.carried.end(),
                                   [&](const Tensor& y) { return x.node() == y.node(); });
    if (same != values.carried.end()) {
      number_of.push_back(static_cast<std::size_t>(same - values.carried.begin()));
      recorded->collected[number_of.back()] = true;
    } else {
      number_of.push_back(recorded->outputs.size());
      recorded->outputs.push_back(x);
    }
  }
  const std::vector<Tensor> invariants = find_invariants(recorded->outputs, placeholders);
  recorded->operands = placeholders;
  recorded->operands.insert(recorded->operands.end(), invariants.begin(), invariants.end());

  std::vector<Tensor> operands = carried;
  operands.insert(operands.end(), sliced.begin(), sliced.end());
  operands.insert(operands.end(), invariants.begin(), invariants.end());
  const std::shared_ptr<const RecordedLoop> made = std::move(recorded);
  LoopResult result;
  for (std::size_t number : number_of) result.stacked.push_back(result_of(made, operands, number, loc));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    Tensor last = result_of(made, operands, i, loc);
    if (made->collected[i]) {
      const Dim end = config.reverse ? Dim(1) : count;
      Shape from(last.shape().size(), Dim(0)), to = last.shape();
      from[0] = end - Dim(1);
      to[0] = end;
      last = reshape_to(shrink(last, from, to), carried[i].shape());
    }
    result.last.push_back(std::move(last));
  }
  return result;
}

}  // namespace hearth::client
