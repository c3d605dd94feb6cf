#include "daemon/serve/wire_cost.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth::daemon {
namespace {

namespace pb = google::protobuf;
using Wire = pb::internal::WireFormatLite;

constexpr std::uint64_t kAllocation = 16;                    // malloc's own, of each object
constexpr std::uint64_t kString = sizeof(std::string) + 16;  // allocated, with the pointer to it
constexpr std::uint64_t kInlineString = 15;                  // characters that need no allocation of their own
constexpr std::uint64_t kUnknown = 2 * 16;  // a field that the message does not know, in a vector that doubles
constexpr std::uint64_t kGrowth = 2;        // of arrays that double when they are full

struct Kind;

struct Field {
  const pb::FieldDescriptor* descriptor = nullptr;  // null: no such field
  std::uint64_t element_bytes = 0;                  // of a scalar
  bool is_text = false;
  Kind* message = nullptr;
  std::size_t place = 0;  // among all fields, for counting
};

// A message type, its fields by number.
struct Kind {
  std::uint64_t object_bytes = 0;
  std::vector<Field> fields;
};

std::uint64_t element_bytes(const pb::FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return sizeof(bool);
    case pb::FieldDescriptor::CPPTYPE_INT64:
    case pb::FieldDescriptor::CPPTYPE_UINT64:
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

// All types that a message can hold, and how many fields they have together.
class Kinds {
 public:
  const Kind& of(const pb::Descriptor& message) {
    std::lock_guard lock(mutex_);
    return *add(message);
  }
  // Of a field's place.
  std::size_t num_fields() {
    std::lock_guard lock(mutex_);
    return all_.size();
  }
  std::string name(std::size_t place) {
    std::lock_guard lock(mutex_);
    return all_[place]->full_name();
  }

 private:
  static constexpr int kMostNumber = 4'096;  // of a field; ours have small ones

  Kind* add(const pb::Descriptor& message) {
    std::unique_ptr<Kind>& slot = kinds_[&message];
    if (slot) return slot.get();
    slot = std::make_unique<Kind>();
    Kind* kind = slot.get();
    const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(&message);
    kind->object_bytes = (prototype != nullptr ? prototype->SpaceUsedLong() : 64) + kAllocation;
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      if (field.number() > kMostNumber) continue;
      const auto number = static_cast<std::size_t>(field.number());
      if (kind->fields.size() <= number) kind->fields.resize(number + 1);
      Field known;
      known.descriptor = &field;
      known.place = all_.size();
      all_.push_back(&field);
      known.is_text = field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
      known.element_bytes = element_bytes(field);
      if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) known.message = add(*field.message_type());
      kind->fields[number] = known;
    }
    return kind;
  }

  std::mutex mutex_;
  std::map<const pb::Descriptor*, std::unique_ptr<Kind>> kinds_;
  std::vector<const pb::FieldDescriptor*> all_;
};

Kinds& kinds() {
  static Kinds& all = *new Kinds();
  return all;
}

class Scan {
 public:
  Scan(pb::io::ZeroCopyInputStream& stream, std::size_t num_fields) : input_(&stream), per_field_(num_fields) {
    input_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }

  bool message(const Kind& kind, int depth) {
    if (depth > WireCost::kDeepest) return false;
    while (const std::uint32_t tag = input_.ReadTag()) {
      const auto number = static_cast<std::size_t>(Wire::GetTagFieldNumber(tag));
      const Field* field =
          number < kind.fields.size() && kind.fields[number].descriptor != nullptr ? &kind.fields[number] : nullptr;
      if (!value(field, tag, depth)) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  std::uint64_t bytes = 0;
  struct Count {
    std::uint64_t bytes = 0, values = 0;
  };
  const std::vector<Count>& per_field() const { return per_field_; }

 private:
  bool value(const Field* field, std::uint32_t tag, int depth) {
    const Wire::WireType type = Wire::GetTagWireType(tag);
    if (type == Wire::WIRETYPE_START_GROUP || type == Wire::WIRETYPE_END_GROUP)
      return false;  // no message of ours has any
    if (type != Wire::WIRETYPE_LENGTH_DELIMITED) {
      charge(field, field != nullptr ? scalar_bytes(*field, 1) : kUnknown, 1);
      return Wire::SkipField(&input_, tag);
    }
    std::uint32_t length = 0;
    if (!input_.ReadVarint32(&length) || length > static_cast<std::uint32_t>(std::numeric_limits<int>::max()))
      return false;
    if (field != nullptr && field->message != nullptr) {
      charge(field, field->message->object_bytes + sizeof(void*) * kGrowth, 1);
      const int left = input_.BytesUntilLimit();
      if (left >= 0 && length > static_cast<std::uint32_t>(left)) return false;
      const auto limit = input_.PushLimit(static_cast<int>(length));
      const bool read = message(*field->message, depth + 1) && input_.BytesUntilLimit() == 0;
      input_.PopLimit(limit);
      return read;
    }
    if (field != nullptr && !field->is_text) {
      charge(field, scalar_bytes(*field, length), length);  // packed: a value has at least a byte
    } else {
      const std::uint64_t text = kString + (length > kInlineString ? length + kAllocation : 0);
      charge(field, field != nullptr ? text : text + kUnknown, 1);
    }
    return input_.Skip(static_cast<int>(length));
  }

  static std::uint64_t scalar_bytes(const Field& field, std::uint64_t count) {
    return field.descriptor->is_repeated() ? field.element_bytes * kGrowth * count : 0;
  }

  void charge(const Field* field, std::uint64_t cost, std::uint64_t values) {
    bytes += cost;
    if (field == nullptr) return;
    per_field_[field->place].bytes += cost;
    per_field_[field->place].values += values;
  }

  pb::io::CodedInputStream input_;
  std::vector<Count> per_field_;
};

}  // namespace

absl::StatusOr<WireCost> wire_cost(pb::io::ZeroCopyInputStream& stream, const pb::Descriptor& message) {
  const Kind& kind = kinds().of(message);
  Scan scan(stream, kinds().num_fields());
  if (!scan.message(kind, 0))
    return absl::InvalidArgumentError("the request cannot be read: it is no " + message.full_name());
  WireCost cost;
  cost.bytes = scan.bytes + kind.object_bytes;
  std::size_t most = 0;
  const std::vector<Scan::Count>& counts = scan.per_field();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i].bytes > counts[most].bytes) most = i;
  if (most < counts.size() && counts[most].bytes > 0) {
    cost.most = kinds().name(most);
    cost.most_values = counts[most].values;
  }
  return cost;
}

}  // namespace hearth::daemon
