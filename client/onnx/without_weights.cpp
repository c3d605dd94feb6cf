#include "client/onnx/without_weights.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::size_t kMinFileBytes = std::size_t{1} << 20;  // a smaller file is read
constexpr std::uint32_t kMinWeightBytes = 1 << 16;           // a smaller weight is copied

enum class Level { kModel, kGraph, kNode, kAttribute, kTensor };

// The message that a field holds, where large weights may be in it.
std::optional<Level> level_of_field(Level level, int field) {
  switch (level) {
    case Level::kModel:
      if (field == ::hearth_onnx::ModelProto::kGraphFieldNumber) return Level::kGraph;
      return std::nullopt;
    case Level::kGraph:
      if (field == ::hearth_onnx::GraphProto::kInitializerFieldNumber) return Level::kTensor;
      if (field == ::hearth_onnx::GraphProto::kNodeFieldNumber) return Level::kNode;
      return std::nullopt;
    case Level::kNode:
      if (field == ::hearth_onnx::NodeProto::kAttributeFieldNumber) return Level::kAttribute;
      return std::nullopt;
    case Level::kAttribute:
      if (field == ::hearth_onnx::AttributeProto::kTFieldNumber) return Level::kTensor;
      return std::nullopt;
    case Level::kTensor:
      return std::nullopt;
  }
  return std::nullopt;
}

// Copies a message field by field, without the bytes of large weights. Functions return false on what protobuf may
// understand otherwise: a field that is no list and comes twice is merged by it.
class LeanReader {
 public:
  LeanReader(CodedInputStream& in, std::string_view file) : in_(in), file_(file) {}

  bool copy(Level level, std::string* out) {
    google::protobuf::io::StringOutputStream stream(out);
    CodedOutputStream coded(&stream);
    bool has_single = false;  // the graph of a model, the tensor of an attribute, the bytes of a tensor
    place_.entered(level);
    while (const std::uint32_t tag = in_.ReadTag()) {
      const int field = WireFormatLite::GetTagFieldNumber(tag);
      const bool is_bytes = level == Level::kTensor && field == ::hearth_onnx::TensorProto::kRawDataFieldNumber;
      const std::optional<Level> inner = level_of_field(level, field);
      const bool is_delimited =
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && (is_bytes || inner);
      if (!is_delimited) {
        if (!WireFormatLite::SkipField(&in_, tag, &coded)) return false;
        continue;
      }
      const bool is_list = level == Level::kGraph || level == Level::kNode;
      if (!is_list && std::exchange(has_single, true)) return false;
      if (inner) place_.met(level, *inner);
      coded.WriteTag(tag);
      if (!(is_bytes ? copy_bytes(coded) : copy_inner(*inner, coded))) return false;
    }
    return in_.ConsumedEntireMessage();
  }

  std::vector<LargeWeight> take_weights() { return std::move(weights_); }

 private:
  // Where in the graph the reader is, counted as protobuf counts.
  struct Place {
    int initializer = -1, node = -1, attribute = -1;
    bool is_initializer = false;
    void entered(Level level) {
      if (level == Level::kNode) attribute = -1;
    }
    void met(Level level, Level inner) {
      is_initializer = level == Level::kGraph && inner == Level::kTensor;
      if (inner == Level::kNode) ++node;
      if (inner == Level::kAttribute) ++attribute;
      if (is_initializer) ++initializer;
    }
  };

  bool read_length(std::uint32_t* length) {
    const int left = in_.BytesUntilLimit();  // -1 at the top, where the file is the limit
    if (!in_.ReadVarint32(length)) return false;
    const std::size_t rest = file_.size() - static_cast<std::size_t>(in_.CurrentPosition());
    return *length <= rest && (left < 0 || std::cmp_less_equal(*length, left));
  }

  static bool write(std::string_view bytes, CodedOutputStream& coded) {
    coded.WriteVarint32(static_cast<std::uint32_t>(bytes.size()));
    if (!bytes.empty()) coded.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
    return !coded.HadError();
  }

  bool copy_bytes(CodedOutputStream& coded) {
    std::uint32_t length = 0;
    if (!read_length(&length)) return false;
    if (length < kMinWeightBytes) {
      std::string bytes;
      return in_.ReadString(&bytes, static_cast<int>(length)) && write(bytes, coded);
    }
    LargeWeight weight;
    (place_.is_initializer ? weight.initializer : weight.node) =
        place_.is_initializer ? place_.initializer : place_.node;
    if (!place_.is_initializer) weight.attribute = place_.attribute;
    weight.bytes = file_.substr(static_cast<std::size_t>(in_.CurrentPosition()), length);
    weights_.push_back(weight);
    return in_.Skip(static_cast<int>(length)) && write({}, coded);
  }

  bool copy_inner(Level inner, CodedOutputStream& coded) {
    std::uint32_t length = 0;
    if (!read_length(&length)) return false;
    std::string message;
    if (length < kMinWeightBytes) {  // nothing large is in it
      return in_.ReadString(&message, static_cast<int>(length)) && write(message, coded);
    }
    const CodedInputStream::Limit limit = in_.PushLimit(static_cast<int>(length));
    if (!copy(inner, &message) || in_.BytesUntilLimit() != 0) return false;
    in_.PopLimit(limit);
    return write(message, coded);
  }

  CodedInputStream& in_;
  const std::string_view file_;
  Place place_;
  std::vector<LargeWeight> weights_;
};

std::optional<ModelWithoutWeights> read_open(int fd, const std::string& path) {
  absl::StatusOr<std::shared_ptr<const runtime::MappedFile>> file = runtime::MappedFile::map(fd, path);
  if (!file.ok()) return std::nullopt;
  const std::string_view bytes = (*file)->bytes();
  if (bytes.size() < kMinFileBytes || bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return std::nullopt;
  }
  // The mapping itself is not read: a file that becomes shorter meanwhile is an error then, and no signal.
  constexpr int kBlockBytes = 1 << 16;
  google::protobuf::io::FileInputStream stream(fd, kBlockBytes);
  CodedInputStream in(&stream);
  LeanReader reader(in, bytes);
  ModelWithoutWeights model;
  if (!reader.copy(Level::kModel, &model.message)) return std::nullopt;
  model.weights = reader.take_weights();
  model.file = *std::move(file);
  return model;
}

}  // namespace

std::optional<ModelWithoutWeights> read_without_weights(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  std::optional<ModelWithoutWeights> model = read_open(fd, path);
  ::close(fd);
  return model;
}

}  // namespace hearth::onnx
