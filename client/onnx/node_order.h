// The order in which a graph's nodes are imported: each after those whose results it reads, however the file lists
// them, and only those that an output needs. (ONNX wants nodes sorted; converters to half precision append casts.)
// Errors: JitError for a name that two nodes define, and for a cycle, naming its nodes.
//
//   for (const NodeProto* node : needed_nodes(graph.node(), {"y"}).nodes) ...
#pragma once
#include <set>
#include <string>
#include <vector>

namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}
namespace hearth_onnx {
class NodeProto;
}

namespace hearth::onnx {

struct NodeOrder {
  std::vector<const ::hearth_onnx::NodeProto*> nodes;
  std::set<std::string> reads;  // names that these nodes, or graphs nested in them, and the outputs read
};

// Nodes that the file lists in a possible order keep it.
NodeOrder needed_nodes(const google::protobuf::RepeatedPtrField<::hearth_onnx::NodeProto>& nodes,
                       const std::vector<std::string>& outputs);

}  // namespace hearth::onnx
