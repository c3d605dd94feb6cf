#include "client/onnx/node_context.h"

#include <utility>

#include "base/text.h"
#include "client/onnx/constant_values.h"
#include "client/onnx/model_file.h"
#include "client/onnx/narrow_weights.h"
#include "client/onnx/operators.h"
#include "client/onnx/reject.h"
#include "client/onnx/stored_values.h"
#include "client/ops/support.h"
#include "client/trace/graph_inputs.h"
#include "hearth/ops/elementwise.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Attribute = ::hearth_onnx::AttributeProto;

// The error for a value that no input's elements decide, and yet is not known.
[[noreturn]] void reject_undecided(const std::string& place, const client::Tensor& tensor) {
  if (is_constant(tensor)) {
    reject_unsupported(str_cat(place, " is a constant that takes more than ", kMaxConstantWork,
                               " elements and products to compute; one that is not stored in the file"));
  }
  reject_unsupported(
      str_cat(place,
              " depends on lengths that are given as ranges; give them as numbers (--dim NAME=N); a value not "
              "known while importing"));
}

}  // namespace

client::Tensor widened(const client::Tensor& x) {
  const bool narrow = is_float(x.dtype()) && dtype_bytes(x.dtype()) < 4;
  const client::OpScope scope("widen", client::Loc::current());
  return narrow ? client::cast_to(x, DType::kF32) : x;
}

NodeContext::NodeContext(const ::hearth_onnx::NodeProto& proto, int opset, Values inputs,
                         std::shared_ptr<const ModelFile> model, ImportScope& scope)
    : proto_(proto), opset_(opset), inputs_(std::move(inputs)), model_(std::move(model)), scope_(scope) {}

const Value& NodeContext::input(std::size_t index) const {
  if (!has_input(index)) reject(str_cat("input ", index, " is missing"));
  if (inputs_[index].is_bounded() && !bounded_allowed_) {
    reject_unsupported(str_cat("input ", index, " ('", proto_.input(static_cast<int>(index)),
                               "'), whose length depends on the data and is known only after a replay,"));
  }
  return inputs_[index];
}

client::Tensor NodeContext::tensor_or_empty(std::size_t index) const {
  return has_input(index) ? tensor(index) : client::Tensor();
}

client::Tensor NodeContext::wide(std::size_t index) const { return widened(tensor(index)); }

client::Tensor NodeContext::rounded(const client::Tensor& result, std::size_t like) const {
  const client::OpScope scope("round", client::Loc::current());
  return client::cast_to(result, input(like).dtype());
}

StoredWeight NodeContext::weight(std::size_t index, std::int64_t channel_axis) const {
  return scope_.narrow_weights().store(input(index), channel_axis,
                                       [&](const std::string& base) { return scope_.unique_name(base); });
}

StoredWeight NodeContext::unscaled_weight(const Value& value) const {
  const auto unique_name = [&](const std::string& base) { return scope_.unique_name(base); };
  return scope_.narrow_weights().store_unscaled(value, unique_name);
}

bool NodeContext::is_narrow_weight(const Value& value) const { return scope_.narrow_weights().applies_to(value); }

const HostTensor& NodeContext::known(std::size_t index, std::string_view what) const {
  const Value& value = input(index);
  if (value.is_lengths()) {
    reject_unsupported(str_cat(what, " (input ", index, ", '", proto_.input(static_cast<int>(index)), "') is ",
                               client::to_string(value.lengths()->elements), "; a symbolic value"));
  }
  if (value.is_host()) return value.host();
  value.dtype();  // not a tensor at all is another error
  if (std::optional<HostTensor> constant = constant_value(value.tensor())) {
    value.set_known(*std::move(constant));
    return value.host();
  }
  const std::string place = str_cat(what, " (input ", index, ", '", proto_.input(static_cast<int>(index)), "')");
  if (client::graph_inputs({{"", value.tensor()}}).empty()) reject_undecided(place, value.tensor());
  const std::string need = scope_.need_value(value.tensor());
  reject_unsupported(str_cat(place, " is computed from the model's inputs", need.empty() ? "" : "; ", need,
                             "; a value not known while importing"));
}

Lengths NodeContext::known_lengths(std::size_t index, std::string_view what) const {
  if (input(index).is_lengths() && !is_float(input(index).dtype())) return *input(index).lengths();
  const HostTensor& x = known(index, what);
  const Ints values = x.integers();
  return {x.dtype(), x.shape(), {values.begin(), values.end()}, {}};
}

std::size_t NodeContext::num_outputs() const { return static_cast<std::size_t>(proto_.output_size()); }

bool NodeContext::wants_output(std::size_t index) const {
  return index < num_outputs() && !proto_.output(static_cast<int>(index)).empty();
}

const Attribute* NodeContext::find(std::string_view name) const {
  for (const Attribute& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    return attribute.ref_attr_name().empty() ? &attribute : scope_.function_attribute(attribute.ref_attr_name());
  }
  return nullptr;
}

std::vector<std::pair<std::string, const Attribute*>> NodeContext::all_attributes() {
  std::vector<std::pair<std::string, const Attribute*>> given;
  for (const Attribute& attribute : proto_.attribute()) {
    read_.emplace(attribute.name());
    if (const Attribute* found = find(attribute.name())) given.emplace_back(attribute.name(), found);
  }
  return given;
}

const Attribute* NodeContext::attribute(std::string_view name, int type) {
  const Attribute* found = find(name);
  if (found == nullptr) return nullptr;
  read_.emplace(name);
  if (found->type() != type) reject(str_cat("attribute '", name, "' has the wrong type"));
  return found;
}

std::int64_t NodeContext::integer(std::string_view name, std::int64_t fallback) {
  const Attribute* found = attribute(name, Attribute::INT);
  return found == nullptr ? fallback : found->i();
}

std::int64_t NodeContext::required_integer(std::string_view name) {
  if (!has(name)) reject(str_cat("attribute '", name, "' is missing"));
  return integer(name, 0);
}

double NodeContext::real(std::string_view name, double fallback) {
  const Attribute* found = attribute(name, Attribute::FLOAT);
  return found == nullptr ? fallback : static_cast<double>(found->f());
}

std::string NodeContext::text(std::string_view name, std::string_view fallback) {
  const Attribute* found = attribute(name, Attribute::STRING);
  return found == nullptr ? std::string(fallback) : found->s();
}

std::optional<Ints> NodeContext::integers(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::INTS);
  if (found == nullptr) return std::nullopt;
  return Ints(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<double>> NodeContext::reals(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::FLOATS);
  if (found == nullptr) return std::nullopt;
  return std::vector<double>(found->floats().begin(), found->floats().end());
}

void NodeContext::expect_no_input(std::size_t index, std::string_view what, int since) const {
  if (opset_ >= since || !has_input(index)) return;
  reject(str_cat("input ", index, " (", what, ") is an input from opset ", since, " on; opset ", opset_,
                 " gives it as an attribute"));
}

std::optional<Ints> NodeContext::integers(std::string_view name, std::size_t index, int input_since) {
  expect_no_input(index, name, input_since);
  if (opset_ < input_since) return integers(name);
  if (!has_input(index)) return std::nullopt;
  return known_integers(index, name);
}

std::optional<client::Shape> NodeContext::lengths(std::string_view name, std::size_t index, int input_since) {
  if (opset_ >= input_since && has_input(index)) return known_lengths(index, name).elements;
  const auto constants = integers(name, index, input_since);
  if (!constants) return std::nullopt;
  return client::Shape(constants->begin(), constants->end());
}

std::vector<std::string> NodeContext::texts(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::STRINGS);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

std::optional<HostTensor> NodeContext::host_tensor(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::TENSOR);
  if (found == nullptr) return std::nullopt;
  return to_host_tensor(found->t(), model_);
}

Value NodeContext::tensor_attribute(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::TENSOR);
  if (found == nullptr) return Value();
  Value value = value_of(found->t(), model_, scope_);
  return value.is_host() ? made(value.host()) : value;
}

const ::hearth_onnx::GraphProto& NodeContext::graph(std::string_view name) {
  const Attribute* found = attribute(name, Attribute::GRAPH);
  if (found == nullptr) reject(str_cat("attribute '", name, "' is missing"));
  return found->g();
}

void NodeContext::expect_integer(std::string_view name, std::int64_t only) {
  const std::int64_t value = integer(name, only);
  if (value != only) reject_unsupported(str_cat("attribute ", name, " = ", value));
}

void NodeContext::check_all_read() const {
  for (const Attribute& attribute : proto_.attribute()) {
    // Before opset 6: which inputs' memory may be reused, nothing that changes a result.
    if (opset_ < 6 && attribute.name() == "consumed_inputs") continue;
    if (read_.count(attribute.name()) == 0 && has(attribute.name()))
      reject_unsupported(str_cat("attribute '", attribute.name(), "'"));
  }
}

std::string NodeContext::name_of(std::string_view part) const {
  const std::string base = proto_.output_size() > 0 ? proto_.output(0) : proto_.name();
  return scope_.unique_name(part.empty() ? base : str_cat(base, "/", part));
}

Value NodeContext::made(HostTensor data, std::string_view part) const {
  return Value::host(std::move(data), name_of(part));
}

Value NodeContext::made(Lengths lengths, std::string_view part) const {
  return Value::of_lengths(std::move(lengths), name_of(part));
}

Value NodeContext::moved(const Value& x, const std::function<HostTensor(const HostTensor&)>& move,
                         std::string_view part) const {
  return x.is_host() ? made(move(x.host()), part) : made(onnx::moved(*x.lengths(), move), part);
}

Values NodeContext::apply(std::string_view op, Values inputs,
                          const std::vector<std::pair<std::string_view, std::int64_t>>& attributes,
                          std::size_t num_outputs) const {
  ::hearth_onnx::NodeProto part;
  part.set_op_type(std::string(op));
  const std::string base = proto_.output_size() > 0 ? proto_.output(0) : proto_.name();
  for (std::size_t i = 0; i < num_outputs; ++i) part.add_output(str_cat(base, "/", op));
  for (std::size_t i = 0; i < inputs.size(); ++i) part.add_input(str_cat("input ", i));
  for (const auto& [name, value] : attributes) {
    Attribute& attribute = *part.add_attribute();
    attribute.set_name(std::string(name));
    attribute.set_type(Attribute::INT);
    attribute.set_i(value);
  }
  NodeContext context(part, kAppliedOpset, std::move(inputs), model_, scope_);
  return find_operator("", op, kAppliedOpset).import(context);
}

}  // namespace hearth::onnx
