#include "tests/fuzz/bytes/mutate.h"

#include <cstring>
#include <limits>
#include <string_view>

namespace hearth::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::size_t position(const std::string& bytes, Random& random) {
  return static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(bytes.size())));
}

void change_once(std::string& bytes, Random& random) {
  const std::size_t at = position(bytes, random);
  const std::size_t length = static_cast<std::size_t>(random.in(1, 16));
  switch (random.in(0, 8)) {
    case 0:
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.in(0, 7)));
      return;
    case 2:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random.next());
      return;
    case 3:
      bytes.resize(at);
      return;
    case 4:
      bytes.erase(at, length);
      return;
    case 5:
      bytes.insert(at, bytes.substr(position(bytes, random), length));
      return;
    case 6: {
      std::string noise(length, '\0');
      for (char& byte : noise) byte = static_cast<char>(random.next());
      bytes.insert(at, noise);
      return;
    }
    case 7: {  // a number of 1, 2, 4 or 8 bytes
      const std::int64_t number = odd_number(random);
      const std::size_t width = std::size_t{1} << random.in(0, 3);
      if (at + width <= bytes.size()) std::memcpy(bytes.data() + at, &number, width);
      return;
    }
    default:
      bytes.insert(at, odd_text(random));
  }
}

void set_scalar(Message& message, const FieldDescriptor* field, int index, Random& random) {
  const Reflection& r = *message.GetReflection();
  const std::int64_t number = odd_number(random);
  const auto put = [&](auto set, auto set_one, auto value) {
    if (field->is_repeated()) {
      (r.*set_one)(&message, field, index, value);
    } else {
      (r.*set)(&message, field, value);
    }
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, static_cast<std::int32_t>(number));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, number);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, static_cast<std::uint32_t>(number));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, static_cast<std::uint64_t>(number));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, static_cast<double>(number));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, static_cast<float>(number));
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&Reflection::SetBool, &Reflection::SetRepeatedBool, number % 2 == 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, static_cast<int>(random.in(-1, 150)));
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      std::string text = field->is_repeated() ? r.GetRepeatedStringReference(message, field, index, &scratch)
                                              : r.GetStringReference(message, field, &scratch);
      text = random.one_in(2) ? odd_text(random) : mutated_bytes(std::move(text), random);
      return field->is_repeated() ? r.SetRepeatedString(&message, field, index, text)
                                  : r.SetString(&message, field, text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return;
  }
}

void change_repeated(Message& message, const FieldDescriptor* field, Random& random) {
  const Reflection& r = *message.GetReflection();
  const int size = r.FieldSize(message, field);
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  const int some = size > 0 ? static_cast<int>(random.in(0, size - 1)) : 0;
  switch (random.in(0, 4)) {
    case 0:
      if (size > 0) r.RemoveLast(&message, field);
      return;
    case 1:
      if (size > 0) r.SwapElements(&message, field, some, static_cast<int>(random.in(0, size - 1)));
      return;
    case 2:
      if (is_message) {
        Message* added = r.AddMessage(&message, field);
        if (size > 0) added->CopyFrom(r.GetRepeatedMessage(message, field, some));
      } else if (size > 0 && !field->is_map()) {
        set_scalar(message, field, some, random);
      }
      return;
    default:
      if (size == 0) return;
      if (is_message) {
        mutate_message(*r.MutableRepeatedMessage(&message, field, some), random);
      } else {
        set_scalar(message, field, some, random);
      }
  }
}

void change_field(Message& message, Random& random) {
  const auto& descriptor = *message.GetDescriptor();
  if (descriptor.field_count() == 0) return;
  const Reflection& r = *message.GetReflection();
  const FieldDescriptor* field = descriptor.field(static_cast<int>(random.in(0, descriptor.field_count() - 1)));
  if (random.one_in(12)) return r.ClearField(&message, field);
  if (field->is_repeated()) return change_repeated(message, field, random);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    // What is absent mostly stays absent: changes are to meet something.
    if (r.HasField(message, field) || random.one_in(4)) mutate_message(*r.MutableMessage(&message, field), random);
    return;
  }
  set_scalar(message, field, 0, random);
}

// ---- Messages without a schema -----------------------------------------------------------------------------------

struct WireField {
  std::uint64_t tag = 0;  // number << 3 | wire type
  std::string payload;    // varint: its bytes; fixed: 4 or 8; length-delimited: what it holds
};

bool read_varint(std::string_view& in, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// False when the bytes are no message.
bool read_fields(std::string_view in, std::vector<WireField>& fields) {
  while (!in.empty()) {
    WireField field;
    std::uint64_t size = 0;
    if (!read_varint(in, field.tag) || field.tag >> 3 == 0) return false;
    switch (field.tag & 7) {
      case 0: {
        const std::string_view begin = in;
        if (!read_varint(in, size)) return false;
        field.payload = begin.substr(0, begin.size() - in.size());
        break;
      }
      case 1:
      case 5:
        size = (field.tag & 7) == 1 ? 8 : 4;
        if (in.size() < size) return false;
        field.payload = in.substr(0, size);
        in.remove_prefix(size);
        break;
      case 2:
        if (!read_varint(in, size) || in.size() < size) return false;
        field.payload = in.substr(0, size);
        in.remove_prefix(size);
        break;
      default:
        return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

std::string write_fields(const std::vector<WireField>& fields) {
  std::string bytes;
  for (const WireField& field : fields) {
    bytes += varint(field.tag);
    if ((field.tag & 7) == 2) bytes += varint(field.payload.size());
    bytes += field.payload;
  }
  return bytes;
}

void change_payload(WireField& field, Random& random) {
  switch (field.tag & 7) {
    case 0:
      field.payload = varint(static_cast<std::uint64_t>(odd_number(random)));
      return;
    case 2: {
      std::vector<WireField> inner;
      if (!field.payload.empty() && read_fields(field.payload, inner)) {
        field.payload = mutated_wire(field.payload, random);
      } else {
        field.payload = random.one_in(3) ? odd_text(random) : mutated_bytes(std::move(field.payload), random);
      }
      return;
    }
    default:
      field.payload[0] = static_cast<char>(random.next());
  }
}

}  // namespace

std::string mutated_wire(const std::string& bytes, Random& random) {
  std::vector<WireField> fields;
  if (random.one_in(8) || !read_fields(bytes, fields) || fields.empty()) return mutated_bytes(bytes, random);
  const auto some = [&] {
    return static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(fields.size()) - 1));
  };
  for (std::int64_t changes = random.in(1, 2); changes > 0 && !fields.empty(); --changes) {
    const std::size_t k = some();
    switch (random.in(0, 9)) {
      case 0:
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      case 1:
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(k), WireField(fields[some()]));
        break;
      case 2:
        std::swap(fields[k], fields[some()]);
        break;
      case 3:
        fields[k].tag += static_cast<std::uint64_t>(random.in(-2, 3)) << 3;
        break;
      default:
        change_payload(fields[k], random);
    }
  }
  return write_fields(fields);
}

std::string mutated_bytes(std::string bytes, Random& random) {
  for (std::int64_t changes = random.in(1, 4); changes > 0; --changes) change_once(bytes, random);
  return bytes;
}

void mutate_message(Message& message, Random& random) {
  for (std::int64_t changes = random.in(1, 3); changes > 0; --changes) change_field(message, random);
}

std::int64_t odd_number(Random& random) {
  switch (random.in(0, 3)) {
    case 0:
      return random.in(-2, 9);
    case 1: {
      const std::int64_t power = std::int64_t{1} << random.in(0, 62);
      return (random.one_in(2) ? power : -power) + random.in(-1, 1);
    }
    case 2: {
      static const std::vector<std::int64_t> kEnds = {std::numeric_limits<std::int64_t>::min(),
                                                      std::numeric_limits<std::int64_t>::max(),
                                                      std::numeric_limits<std::int32_t>::min(),
                                                      std::numeric_limits<std::int32_t>::max(),
                                                      0xffffffffLL,
                                                      -1};
      return random.pick(kEnds);
    }
    default:
      return static_cast<std::int64_t>(random.next());
  }
}

std::string odd_text(Random& random) {
  static const std::vector<std::string> kTexts = {"",         std::string(3, '\0'), "\x1b[2J\x07", "\xff\xfe\xc0\x80",
                                                  "../../up", "/dev/zero",          "a\nb",        "%s%n{}",
                                                  "\"\\u0000"};
  return random.one_in(6) ? std::string(static_cast<std::size_t>(random.in(300, 5000)), 'x') : random.pick(kTexts);
}

}  // namespace hearth::fuzz
