#include "client/onnx/unknown_fields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/text.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {

std::vector<UnknownField> unknown_fields(const std::string& bytes, std::string_view what) {
  using google::protobuf::internal::WireFormatLite;
  std::vector<UnknownField> fields;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  while (const std::uint32_t tag = stream.ReadTag()) {
    UnknownField field{static_cast<std::uint32_t>(WireFormatLite::GetTagFieldNumber(tag)), ""};
    const bool has_bytes = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool is_read =
        has_bytes ? WireFormatLite::ReadBytes(&stream, &field.bytes) : WireFormatLite::SkipField(&stream, tag);
    if (!is_read) reject(str_cat(what, " has a field (number ", field.number, ") that cannot be read"));
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace hearth::onnx
