// Instance's calls that take all arrays at once, by place.
#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/replay/instance_state.h"

namespace hearth::runtime {
namespace {

absl::Status check_count(std::size_t given, std::size_t wanted, std::string_view what) {
  if (given == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat(given, " ", what, " are given; the plan has ", wanted));
}

}  // namespace

absl::Status Instance::set_vars(std::span<const std::int64_t> values) {
  HEARTH_RETURN_IF_ERROR(check_count(values.size(), state_->values.size(), "values"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    HEARTH_RETURN_IF_ERROR(state_->set_var(i, values[i]));
  }
  return absl::OkStatus();
}

// Each variable that some input's length decides, those of a length with no other variable first: a length of two, such
// as past + seq, decides one of them when the other is known.
void Instance::State::find_sources() {
  const std::vector<PlanVariable>& vars = wire().vars;
  std::vector<bool> known;
  for (const PlanVariable& variable : vars) known.push_back(variable.min == variable.max);
  sources.emplace();
  std::vector<std::int64_t> probe;
  const auto decides = [&](const Expr& length, std::size_t v) {  // grows by the same for every unit of it
    const PlanVariable& variable = vars[v];
    probe = values;
    const auto at = [&](std::int64_t value) {
      probe[v] = value;
      return length.evaluate(probe.data());
    };
    const std::int64_t least = at(variable.min), step = at(variable.min + variable.unit) - least;
    return step != 0 && at(variable.max) - least == step * ((variable.max - variable.min) / variable.unit);
  };
  const auto each_length = [&](auto&& call) {
    for (std::size_t i = 0; i < inputs_in_order.size(); ++i) {
      const std::vector<Expr>& shape = wire().buffers[inputs_in_order[i]].shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        std::vector<std::size_t> used;
        for (std::size_t v = 0; v < vars.size(); ++v) {
          if (shape[axis].uses(v)) used.push_back(v);
        }
        call(i, axis, shape[axis], used);
      }
    }
  };
  // Every length of one variable, since inputs may be left out.
  std::vector<bool> found = known;
  each_length([&](std::size_t i, std::size_t axis, const Expr& length, const std::vector<std::size_t>& used) {
    if (used.size() != 1 || known[used[0]] || !decides(length, used[0])) return;
    sources->push_back({used[0], i, axis, {}});
    found[used[0]] = true;
  });
  for (bool again = true; again;) {
    again = false;
    each_length([&](std::size_t i, std::size_t axis, const Expr& length, const std::vector<std::size_t>& used) {
      LengthSource source{vars.size(), i, axis, {}};
      for (const std::size_t v : used) {
        if (found[v]) {
          source.needs.push_back(v);
        } else if (source.variable != vars.size()) {
          return;  // two are open
        } else {
          source.variable = v;
        }
      }
      if (source.variable == vars.size() || !decides(length, source.variable)) return;
      found[source.variable] = again = true;
      sources->push_back(std::move(source));
    });
  }
}

absl::Status Instance::State::read_value(const LengthSource& source, std::int64_t length) {
  const PlanVariable& variable = wire().vars[source.variable];
  const PlanBuffer& input = wire().buffers[inputs_in_order[source.input]];
  const Expr& expected = input.shape[source.axis];
  std::int64_t& value = wanted[source.variable];
  value = variable.min + variable.unit;
  const std::int64_t next = expected.evaluate(wanted.data());
  value = variable.min;
  const std::int64_t least = expected.evaluate(wanted.data()), step = next - least;
  const std::int64_t offset = length < 0 ? -1 : length - least;
  if (step != 0 && length >= 0 && offset % step == 0 && offset / step >= 0 &&
      offset / step <= (variable.max - variable.min) / variable.unit) {
    value += variable.unit * (offset / step);
    return absl::OkStatus();
  }
  value = variable.max;
  const std::int64_t most = expected.evaluate(wanted.data());
  const std::string steps = step == 1 || step == 0 ? "" : str_cat(" in steps of ", step);
  return absl::OutOfRangeError(str_cat("input '", input.name, "' has ", length, " along axis ", source.axis,
                                       "; expected ", std::min(least, most), " to ", std::max(least, most), steps, " (",
                                       expected.to_text(wire().vars), ")"));
}

absl::Status Instance::State::check_shape(std::size_t place, std::span<const std::int64_t> shape) const {
  const PlanBuffer& input = wire().buffers[inputs_in_order[place]];
  const auto all = [&] {
    std::vector<std::string> lengths;
    for (const Expr& length : input.shape) lengths.push_back(length.to_text(wire().vars));
    return absl::StrJoin(lengths, ", ");
  };
  if (shape.size() != input.shape.size()) {
    return absl::InvalidArgumentError(str_cat("input '", input.name, "' has ", shape.size(), " axes [",
                                              absl::StrJoin(shape, ", "), "]; expected ", input.shape.size(), " [",
                                              all(), "]"));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t expected = input.shape[axis].evaluate(wanted.data());
    if (shape[axis] == expected) continue;
    std::vector<std::string> at;
    for (std::size_t v = 0; v < wanted.size(); ++v) {
      if (input.shape[axis].uses(v)) at.push_back(str_cat(wire().vars[v].name, "=", wanted[v]));
    }
    const std::string why =
        at.empty() ? "" : str_cat(" (", input.shape[axis].to_text(wire().vars), " at ", absl::StrJoin(at, ", "), ")");
    return absl::InvalidArgumentError(
        str_cat("input '", input.name, "' has ", shape[axis], " along axis ", axis, "; expected ", expected, why));
  }
  return absl::OkStatus();
}

absl::Status Instance::set_shapes(std::span<const ShapeView> shapes,
                                  std::span<const std::optional<std::int64_t>> given) {
  State& state = *state_;
  const std::vector<PlanVariable>& vars = state.wire().vars;
  HEARTH_RETURN_IF_ERROR(check_count(shapes.size(), state.inputs_in_order.size(), "shapes"));
  if (!given.empty()) {
    HEARTH_RETURN_IF_ERROR(check_count(given.size(), vars.size(), "values"));
  }
  if (!state.sources) state.find_sources();
  const auto left_out = [&](std::size_t input) {
    return shapes[input].data() == nullptr && !state.wire().buffers[state.inputs_in_order[input]].shape.empty();
  };
  constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::min();
  state.wanted.resize(vars.size());
  for (std::size_t v = 0; v < vars.size(); ++v) {
    const bool is_said = !given.empty() && given[v];
    if (is_said) {
      HEARTH_RETURN_IF_ERROR(state.set_var(v, *given[v]));
    }
    state.wanted[v] = is_said ? *given[v] : vars[v].min == vars[v].max ? vars[v].min : kOpen;
  }
  for (const State::LengthSource& source : *state.sources) {
    if (state.wanted[source.variable] != kOpen || left_out(source.input)) continue;
    const auto is_open = [&](std::size_t variable) { return state.wanted[variable] == kOpen; };
    if (std::any_of(source.needs.begin(), source.needs.end(), is_open)) continue;
    const ShapeView shape = shapes[source.input];
    if (shape.size() != state.wire().buffers[state.inputs_in_order[source.input]].shape.size())
      return state.check_shape(source.input, shape);
    HEARTH_RETURN_IF_ERROR(state.read_value(source, shape[source.axis]));
  }
  for (std::size_t v = 0; v < vars.size(); ++v) {
    if (state.wanted[v] != kOpen) continue;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::vector<Expr>& expected = state.wire().buffers[state.inputs_in_order[i]].shape;
      if (!left_out(i) && shapes[i].size() != expected.size()) return state.check_shape(i, shapes[i]);
    }
    return absl::InvalidArgumentError(str_cat("variable '", vars[v].name, "' is the length of no input that is given; ",
                                              "say its value, ", vars[v].min, " to ", vars[v].max));
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (left_out(i)) continue;
    HEARTH_RETURN_IF_ERROR(state.check_shape(i, shapes[i]));
  }
  return set_vars(state.wanted);
}

std::size_t Instance::num_outputs() const { return state_->outputs_in_order.size(); }

void Instance::output_shape(std::size_t index, std::vector<std::int64_t>* shape) const {
  shape->clear();
  for (const Expr& length : state_->wire().buffers[state_->outputs_in_order.at(index)].shape)
    shape->push_back(length.evaluate(state_->values.data()));
}

std::size_t Instance::output_bytes(std::size_t index) const {
  return state_->wire().buffers[state_->outputs_in_order.at(index)].size_bytes(state_->values.data());
}

absl::Status Instance::execute(std::span<const InputArray> inputs, std::span<const OutputArray> outputs) {
  HEARTH_RETURN_IF_ERROR(check_count(inputs.size(), state_->inputs_in_order.size(), "inputs"));
  HEARTH_RETURN_IF_ERROR(check_count(outputs.size(), state_->outputs_in_order.size(), "outputs"));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == nullptr) continue;
    absl::Status bound =
        state_->bind(state_->inputs_in_order[i], const_cast<void*>(inputs[i].data), inputs[i].size_bytes, nullptr);
    if (!bound.ok()) return bound;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data == nullptr) continue;
    absl::Status bound = state_->bind(state_->outputs_in_order[i], outputs[i].data, outputs[i].size_bytes, nullptr);
    if (!bound.ok()) return bound;
  }
  return execute();
}

absl::StatusOr<ConstView> Instance::output(std::size_t index) const {
  if (index >= state_->outputs_in_order.size())
    return absl::OutOfRangeError(str_cat("output ", index, " of ", state_->outputs_in_order.size()));
  return buffer(state_->outputs_in_order[index]);
}

void Instance::State::unbind(std::uint32_t buffer) {
  Slot& slot = slots[buffer];
  if ((!slot.is_bound() && slot.on_device == nullptr) || carry_of(buffer) != nullptr) return;
  slot.host = slot.own;
  slot.on_device = nullptr;
  slot.size_bytes = wire().buffers[buffer].max_bytes;
  slot.owner = nullptr;
  rows->memory[buffer] = address_of(buffer);
  slots_stale = true;
}

void Instance::unbind() {
  for (std::uint32_t i = 0; i < state_->slots.size(); ++i) state_->unbind(i);
}

}  // namespace hearth::runtime
