// Value: what an ONNX name stands for while importing: elements known on the host, or lengths known up to symbolic
// dimensions (client/onnx/lengths.h), or a recorded Tensor, or a sequence of Values, or an optional without a value
// (one with a value is that value), or codes of an element type that is only stored (storage_type.h), or nothing (an
// omitted input). What is known becomes a Tensor on first use: scalars
// and small integers travel with the graph as constants, everything else is a parameter whose bytes stay in this
// process. A bounded value's length along one axis depends on the data: its tensor has the greatest length there can
// be. Handles share state; single-threaded (one import). Errors: JitError, e.g. where a sequence is used as a tensor.
//
//   Value shape = Value::host(HostTensor::of_i64({2}, {3, 4}), "shape");
//   Tensor t = shape.tensor();
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/onnx/host_tensor.h"
#include "client/onnx/lengths.h"
#include "hearth/tensor.h"

namespace hearth::onnx {

struct StorageType;

// A tensor of strings, which only casts to numbers read.
struct Text {
  Ints shape;
  std::vector<std::string> elements;
};

class Value {
 public:
  Value() = default;
  explicit Value(client::Tensor tensor);
  // `name` is the parameter's name and unique in the model; may be given later with set_name.
  static Value host(HostTensor data, std::string name = "");
  // A host value when all are constants.
  static Value of_lengths(Lengths lengths, std::string name = "");
  // JitError when the elements are not tensors of one dtype.
  static Value sequence(std::vector<Value> elements);
  static Value absent();
  // A tensor with its axes in another order, which remembers what it is made of.
  static Value permuted(const Value& tensor, Ints order);
  static Value of_text(Text text);
  // `codes`: a tensor of u8.
  static Value stored(Value codes, const StorageType& type);

  // Only the first `length` (i64 scalar) positions along `axis` count.
  static Value bounded(client::Tensor tensor, std::int64_t axis, client::Tensor length);

  bool empty() const { return !state_; }
  bool is_host() const { return state_ && state_->kind == Kind::kHost; }
  bool is_sequence() const { return state_ && state_->kind == Kind::kSequence; }
  bool is_absent() const { return state_ && state_->kind == Kind::kAbsent; }
  bool is_text() const { return state_ && state_->kind == Kind::kText; }
  bool is_stored() const { return state_ && state_->kind == Kind::kStored; }
  // Known or recorded, of a type that operators compute with.
  bool is_tensor() const { return state_ && !is_sequence() && !is_absent() && !is_text() && !is_stored(); }
  const StorageType& storage() const { return *state_->storage; }
  const Value& codes() const { return state_->elements[0]; }
  const Text& text() const { return state_->text; }
  const HostTensor& host() const { return state_->data; }
  // Some elements are symbolic.
  bool is_lengths() const { return state_ && state_->kind == Kind::kLengths; }
  // Integers known while importing, symbolic or not; nothing for anything else.
  std::optional<Lengths> lengths() const;
  const std::vector<Value>& elements() const;  // of a sequence
  DType dtype() const;
  client::Shape dims() const;  // of stored codes, too
  Ints shape() const;          // JitError (Unimplemented) naming a symbolic shape
  std::int64_t rank() const { return static_cast<std::int64_t>(dims().size()); }
  const client::Tensor& tensor() const;

  // What a permuted tensor was, null for any other value, and its axis at each place.
  const Value* permuted_from() const { return state_ ? state_->base.get() : nullptr; }
  const Ints& order() const { return state_->order; }

  bool is_bounded() const { return state_ && !state_->length.empty(); }
  std::int64_t bounded_axis() const { return state_->bounded_axis; }
  const client::Tensor& length() const { return state_->length; }

  // What a recorded tensor turned out to be: known from now on, for all handles.
  void set_known(HostTensor data) const;

  const std::string& name() const { return state_->name; }  // of a host value
  bool needs_name() const { return is_host() && state_->name.empty(); }
  void set_name(std::string name) const { state_->name = std::move(name); }

 private:
  enum class Kind { kTensor, kHost, kLengths, kSequence, kAbsent, kText, kStored };
  struct State {
    Kind kind = Kind::kTensor;
    HostTensor data;
    Lengths lengths;
    std::string name;
    client::Tensor tensor;
    std::vector<Value> elements;
    Text text;
    const StorageType* storage = nullptr;
    std::int64_t bounded_axis = 0;
    client::Tensor length;
    std::shared_ptr<const Value> base;
    Ints order;
  };
  void check_tensor() const;
  std::shared_ptr<State> state_;
};

}  // namespace hearth::onnx
