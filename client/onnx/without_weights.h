// A model file without its large weights: they stay in the file, which is mapped, and only the rest is read. One pass
// over the wire format, as far down as the tensors of the main graph (initializers and attributes of nodes); what it
// does not understand, and files without large weights, are left to protobuf as a whole. Nothing in the file is
// trusted: lengths lie within the message that holds them and within the file. Stateless; thread-safe.
//
//   if (std::optional<ModelWithoutWeights> lean = read_without_weights("model.onnx")) proto.ParseFromString(lean->message);
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace hearth::onnx {

// Whose bytes they are: graph.initializer[initializer], or graph.node[node].attribute[attribute].t where that is -1.
struct LargeWeight {
  int initializer = -1;
  int node = -1;
  int attribute = -1;
  std::string_view bytes;  // of the file
};

struct ModelWithoutWeights {
  std::string message;  // the model, in which the raw_data of each large weight is empty
  std::vector<LargeWeight> weights;
  std::shared_ptr<const runtime::MappedFile> file;
};

// Nothing when the file is small, cannot be opened, is larger than protobuf reads or is not as expected.
std::optional<ModelWithoutWeights> read_without_weights(const std::string& path);

}  // namespace hearth::onnx
