#include "daemon/serve/wire_cost.h"

#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstddef>
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
  bool is_repeated = false;
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
  // How many fields have a place.
  std::size_t num_fields() {
    std::lock_guard lock(mutex_);
    return all_.size();
  }
  std::string name(std::size_t place) {
    std::lock_guard lock(mutex_);
    return all_[place]->full_name();
  }

 private:
  static constexpr int kMaxNumber = 4'096;  // of a field; ours have small ones

  Kind* add(const pb::Descriptor& message) {
    std::unique_ptr<Kind>& slot = kinds_[&message];
    if (slot) return slot.get();
    slot = std::make_unique<Kind>();
    Kind* kind = slot.get();
    const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(&message);
    kind->object_bytes = (prototype != nullptr ? prototype->SpaceUsedLong() : 64) + kAllocation;
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      if (field.number() > kMaxNumber) continue;
      const auto number = static_cast<std::size_t>(field.number());
      if (kind->fields.size() <= number) kind->fields.resize(number + 1);
      Field known;
      known.descriptor = &field;
      known.place = all_.size();
      all_.push_back(&field);
      known.is_text = field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
      known.is_repeated = field.is_repeated();
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
  explicit Scan(std::size_t num_fields) : per_field_(num_fields) {}

  // Counts all bytes up to `end`; false where they are no such message.
  bool message(const Kind& kind, const char* at, const char* end, int depth) {
    if (depth > WireCost::kDeepest) return false;
    while (at < end) {
      std::uint64_t tag = 0;
      if (!take_varint(at, end, &tag) || tag >> 32 != 0) return false;
      const std::uint64_t number = tag >> 3;
      if (number == 0) return false;
      const Field* field =
          number < kind.fields.size() && kind.fields[number].descriptor != nullptr ? &kind.fields[number] : nullptr;
      if (!value(field, static_cast<Wire::WireType>(tag & 7), at, end, depth)) return false;
    }
    return true;
  }

  std::uint64_t bytes = 0;
  struct Count {
    std::uint64_t bytes = 0, values = 0;
  };
  const std::vector<Count>& per_field() const { return per_field_; }

 private:
  static bool take_varint(const char*& at, const char* end, std::uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at++);
      *value |= shift < 64 ? static_cast<std::uint64_t>(byte & 127) << shift : 0;
      if (byte < 128) return true;
    }
    return false;
  }
  static bool skip(const char*& at, const char* end, std::uint64_t count) {
    if (count > static_cast<std::uint64_t>(end - at)) return false;
    at += count;
    return true;
  }

  bool value(const Field* field, Wire::WireType type, const char*& at, const char* end, int depth) {
    if (type == Wire::WIRETYPE_LENGTH_DELIMITED) return delimited(field, at, end, depth);
    charge(field, field != nullptr ? scalar_bytes(*field, 1) : kUnknown, 1);
    std::uint64_t ignored = 0;
    switch (type) {
      case Wire::WIRETYPE_VARINT:
        return take_varint(at, end, &ignored);
      case Wire::WIRETYPE_FIXED64:
        return skip(at, end, 8);
      case Wire::WIRETYPE_FIXED32:
        return skip(at, end, 4);
      default:  // groups, which no message of ours has, and what is none
        return false;
    }
  }

  bool delimited(const Field* field, const char*& at, const char* end, int depth) {
    std::uint64_t length = 0;
    if (!take_varint(at, end, &length)) return false;
    const char* const begin = at;
    if (!skip(at, end, length)) return false;
    if (field != nullptr && field->message != nullptr) {
      charge(field, field->message->object_bytes + sizeof(void*) * kGrowth, 1);
      return message(*field->message, begin, at, depth + 1);
    }
    if (field != nullptr && !field->is_text) {
      charge(field, scalar_bytes(*field, length), length);  // packed: a value has at least a byte
    } else {
      const std::uint64_t text = kString + (length > kInlineString ? length + kAllocation : 0);
      charge(field, field != nullptr ? text : text + kUnknown, 1);
    }
    return true;
  }

  static std::uint64_t scalar_bytes(const Field& field, std::uint64_t count) {
    return field.is_repeated ? field.element_bytes * kGrowth * count : 0;
  }

  void charge(const Field* field, std::uint64_t cost, std::uint64_t values) {
    bytes += cost;
    if (field == nullptr) return;
    per_field_[field->place].bytes += cost;
    per_field_[field->place].values += values;
  }

  std::vector<Count> per_field_;
};

}  // namespace

absl::StatusOr<WireCost> wire_cost(std::string_view bytes, const pb::Descriptor& message) {
  const Kind& kind = kinds().of(message);
  Scan scan(kinds().num_fields());
  if (!scan.message(kind, bytes.data(), bytes.data() + bytes.size(), 0))
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
