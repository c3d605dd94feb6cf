#include "kernels_cache/same_model.h"

#include <algorithm>
#include <vector>

#include "hearth/v1/graph.pb.h"
#include "kernels_cache/canonical_bytes.h"

namespace hearth::cache {
namespace {

const std::string* part(const KeyMaterial& material, std::string_view name) {
  for (const KeyPart& part : material.parts()) {
    if (part.name == name) return &part.bytes;
  }
  return nullptr;
}

// What plan_key_material writes of a graph's nodes, read back as far as it tells models apart.
struct GraphOutline {
  std::string nodes;                // without lengths and constants
  std::vector<std::string> leaves;  // inputs by name, parameters by name and shape; sorted
  bool has_parameters = false;
};

GraphOutline outline_of(const std::string& bytes) {
  GraphOutline outline;
  Reader in(bytes);
  Writer nodes;
  for (std::uint64_t left = in.u64(); in.ok() && left > 0; --left) {
    const std::uint32_t op = in.u32(), dtype = in.u32();
    nodes.u32(op).u32(dtype);
    for (std::uint64_t inputs = in.u64(); in.ok() && inputs > 0; --inputs) nodes.u32(in.u32());
    for (std::uint64_t axes = in.u64(); in.ok() && axes > 0; --axes) nodes.u64(in.u64());
    Writer shape;
    for (std::uint64_t args = in.u64(); in.ok() && args > 0; --args) {
      for (std::uint64_t tokens = in.u64(); in.ok() && tokens > 0; --tokens) shape.u32(in.u32()).u64(in.u64());
    }
    in.bytes();  // constant data
    const std::string_view name = in.bytes();
    nodes.bytes(name);
    if (op != v1::INPUT && op != v1::PARAMETER) continue;
    outline.has_parameters |= op == v1::PARAMETER;
    Writer leaf;
    leaf.u32(op).u32(dtype).bytes(name);
    if (op == v1::PARAMETER) leaf.bytes(shape.take());
    outline.leaves.push_back(leaf.take());
  }
  outline.nodes = nodes.take();
  std::sort(outline.leaves.begin(), outline.leaves.end());
  return outline;
}

std::vector<std::string> output_names(const std::string& bytes) {
  std::vector<std::string> names;
  Reader in(bytes);
  for (std::uint64_t left = in.u64(); in.ok() && left > 0; --left) {
    names.emplace_back(in.bytes());
    in.u32();
  }
  return names;
}

}  // namespace

bool is_same_model(const KeyMaterial& a, const KeyMaterial& b) {
  const std::string *a_nodes = part(a, "graph.nodes"), *b_nodes = part(b, "graph.nodes");
  if (a_nodes == nullptr || b_nodes == nullptr) return a_nodes == b_nodes;
  if (*a_nodes == *b_nodes) return true;
  const std::string *a_outputs = part(a, "graph.outputs"), *b_outputs = part(b, "graph.outputs");
  if (a_outputs == nullptr || b_outputs == nullptr || output_names(*a_outputs) != output_names(*b_outputs))
    return false;
  const GraphOutline of_a = outline_of(*a_nodes), of_b = outline_of(*b_nodes);
  if (of_a.nodes == of_b.nodes) return true;
  return of_a.has_parameters && of_a.leaves == of_b.leaves;
}

}  // namespace hearth::cache
