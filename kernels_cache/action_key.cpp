#include "kernels_cache/action_key.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/tuning.pb.h"
#include "hearth/v1/worker.pb.h"
#include "kernels_cache/canonical_bytes.h"

namespace hearth::cache {
namespace {

constexpr char kTuningDomain[] = "hearth.tuning.v1";
constexpr char kScopePart[] = "scope";

std::string number_bytes(std::uint64_t value) { return Writer().u64(value).take(); }

void write_expr(Writer& out, const v1::Expr& expr) {
  out.u64(static_cast<std::uint64_t>(expr.tokens_size()));
  for (const v1::ExprToken& token : expr.tokens()) {
    out.u32(static_cast<std::uint32_t>(token.kind())).i64(token.value());
  }
}

std::string vars_bytes(const v1::Graph& graph) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(graph.vars_size()));
  for (const v1::Variable& var : graph.vars()) out.bytes(var.name()).i64(var.min()).i64(var.max());
  return out.take();
}

// Which values are compiled for themselves; false where there is one plan for all.
bool write_parts(Writer& out, const v1::Graph& graph) {
  bool any = false;
  for (const v1::Variable& var : graph.vars()) {
    any |= var.unit() != 0;
    out.i64(var.unit());
    for (const auto* values : {&var.ends(), &var.points()}) {
      any |= !values->empty();
      out.u64(static_cast<std::uint64_t>(values->size()));
      for (const std::int64_t value : *values) out.i64(value);
    }
  }
  for (const v1::Loop& loop : graph.loops()) any |= write_parts(out, loop.body());
  return any;
}

constexpr std::size_t kMaxData = 64;

// Constants that are longer stand there by their digest and size, in hexadecimal and more bytes than any that stand
// there themselves: the index must not hold what clients send by the megabyte.
void write_data(Writer& out, const std::string& data) {
  if (data.size() <= kMaxData) {
    out.bytes(data);
  } else {
    out.bytes(Writer().fixed(to_hex(sha256(data))).u64(data.size()).take());
  }
}

void write_node(Writer& out, const v1::Node& node) {
  out.u32(static_cast<std::uint32_t>(node.op())).u32(static_cast<std::uint32_t>(node.dtype()));
  out.u64(static_cast<std::uint64_t>(node.inputs_size()));
  for (std::uint32_t input : node.inputs()) out.u32(input);
  out.u64(static_cast<std::uint64_t>(node.axes_size()));
  for (std::int64_t axis : node.axes()) out.i64(axis);
  out.u64(static_cast<std::uint64_t>(node.args_size()));
  for (const v1::Expr& arg : node.args()) write_expr(out, arg);
  write_data(out, node.data());
  out.bytes(node.name());
}

std::string nodes_bytes(const v1::Graph& graph) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(graph.nodes_size()));
  for (const v1::Node& node : graph.nodes()) write_node(out, node);
  return out.take();
}

std::string outputs_bytes(const v1::Graph& graph) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(graph.outputs_size()));
  for (const v1::GraphOutput& output : graph.outputs()) out.bytes(output.name()).u32(output.node());
  return out.take();
}

std::string carried_bytes(const v1::Graph& graph) {
  Writer out;
  out.u64(static_cast<std::uint64_t>(graph.carried_size()));
  for (const v1::CarriedInput& carried : graph.carried()) {
    out.bytes(carried.output()).bytes(carried.input()).u64(static_cast<std::uint64_t>(carried.storage_size()));
    for (const std::int64_t length : carried.storage()) out.i64(length);
  }
  return out.take();
}

std::string loops_bytes(const v1::Graph& graph) {
  Writer out;
  for (const v1::Loop& loop : graph.loops()) {
    const v1::Graph& body = loop.body();
    out.u32(body.version()).u64(static_cast<std::uint64_t>(body.loops_size()));
    out.bytes(vars_bytes(body)).bytes(nodes_bytes(body)).bytes(outputs_bytes(body));
    write_expr(out, loop.count());
    out.u32(loop.carried()).u32(loop.sliced()).u8(loop.reverse());
    out.u64(static_cast<std::uint64_t>(loop.collected_size()));
    for (const bool collected : loop.collected()) out.u8(collected);
  }
  return out.take();
}

void add_number(KeyMaterial& material, std::string name, std::uint64_t value) {
  material.add(std::move(name), number_bytes(value), absl::StrCat(value));
}

void add_text(KeyMaterial& material, std::string name, std::string_view value) {
  material.add(std::move(name), std::string(value), std::string(value));
}

// Features are a set: order and repetition do not matter to the compiler, so they do not matter here.
void add_target(KeyMaterial& material, const v1::Target& target) {
  add_text(material, "target.device", target.device());
  add_text(material, "target.triple", target.triple());
  add_text(material, "target.arch", target.arch());
  std::set<std::string> features(target.features().begin(), target.features().end());
  Writer bytes;
  bytes.u64(features.size());
  for (const std::string& feature : features) bytes.bytes(feature);
  material.add("target.features", bytes.take(), absl::StrJoin(features, ","));
  add_number(material, "target.vector_bits", target.vector_bits());
  add_number(material, "target.threads", target.threads());
  add_number(material, "target.abi_version", target.abi_version());
  add_number(material, "target.l2_bytes", target.l2_bytes());
  // What a record may leave out is a part only where it is there, so that older keys stay.
  const auto add_known = [&](const char* name, std::uint64_t value) {
    if (value > 0) add_number(material, name, value);
  };
  add_known("target.fork_work", target.fork_work());
  add_known("target.gpu.subgroup_size", target.gpu().subgroup_size());
  add_known("target.gpu.max_workgroup_invocations", target.gpu().max_workgroup_invocations());
  add_known("target.gpu.workgroup_size", target.gpu().workgroup_size());
  add_known("target.gpu.shared_bytes", target.gpu().shared_bytes());
  add_known("target.gpu.max_buffer_bytes", target.gpu().max_buffer_bytes());
  add_known("target.gpu.max_loop_rounds", target.gpu().max_loop_rounds());
  add_known("target.gpu.max_invocation_ms", target.gpu().max_invocation_ms());
  add_known("target.gpu.register_values", target.gpu().register_values());
  add_known("target.gpu.wanted_invocations", target.gpu().wanted_invocations());
  add_known("target.gpu.load_cost", target.gpu().load_cost());
  add_known("target.gpu.single_loads", target.gpu().single_loads() ? 1 : 0);
  add_known("target.gpu.shared_load_cost", target.gpu().shared_load_cost());
  add_known("target.gpu.cooperative_matrix.m", target.gpu().cooperative_matrix().m());
  add_known("target.gpu.cooperative_matrix.n", target.gpu().cooperative_matrix().n());
  add_known("target.gpu.cooperative_matrix.k", target.gpu().cooperative_matrix().k());
  add_known("target.gpu.cooperative_byte_matrix.m", target.gpu().cooperative_byte_matrix().m());
  add_known("target.gpu.cooperative_byte_matrix.n", target.gpu().cooperative_byte_matrix().n());
  add_known("target.gpu.cooperative_byte_matrix.k", target.gpu().cooperative_byte_matrix().k());
}

void add_options(KeyMaterial& material, const v1::CompileOptions& options) {
  add_number(material, "options.opt_level", options.opt_level());
  add_number(material, "options.fast_math", options.fast_math() ? 1 : 0);
  if (options.direct_convolutions()) add_number(material, "options.direct_convolutions", 1);
}

}  // namespace

void KeyMaterial::add(std::string name, std::string bytes, std::string detail) {
  parts_.push_back({std::move(name), std::move(bytes), std::move(detail)});
}

std::string KeyMaterial::encode() const {
  Writer out;
  out.bytes(domain_).u64(parts_.size());
  for (const KeyPart& part : parts_) out.bytes(part.name).bytes(part.bytes);
  return out.take();
}

absl::StatusOr<KeyMaterial> KeyMaterial::decode(std::string_view bytes) {
  Reader in(bytes);
  KeyMaterial material{std::string(in.bytes())};
  std::uint64_t num_parts = in.u64();
  for (std::uint64_t i = 0; in.ok() && i < num_parts; ++i) {
    std::string name(in.bytes());
    material.add(std::move(name), std::string(in.bytes()));
  }
  if (!in.ok() || !in.at_end()) return absl::InvalidArgumentError("not the canonical bytes of a key");
  return material;
}

Digest key(const KeyMaterial& material) { return sha256(material.encode()); }

std::vector<std::string> differing_parts(const KeyMaterial& wanted, const KeyMaterial& other) {
  auto find = [](const KeyMaterial& in, const std::string& name) {
    return std::find_if(in.parts().begin(), in.parts().end(), [&](const KeyPart& part) { return part.name == name; });
  };
  std::vector<std::string> names;
  if (wanted.domain() != other.domain()) names.push_back("domain");
  for (const KeyPart& part : wanted.parts()) {
    auto same = find(other, part.name);
    if (same == other.parts().end() || same->bytes != part.bytes) names.push_back(part.name);
  }
  for (const KeyPart& part : other.parts()) {
    if (find(wanted, part.name) == wanted.parts().end()) names.push_back(part.name);
  }
  return names;
}

namespace {

std::string number_text(std::string_view bytes) {
  Reader in(bytes);
  const std::uint64_t value = in.u64();
  return in.ok() && in.at_end() ? absl::StrCat(value) : "";
}

// "batch 1 to 8, time 16"
std::string vars_text(std::string_view bytes) {
  constexpr std::uint64_t kShown = 4;
  Reader in(bytes);
  const std::uint64_t count = in.u64();
  std::vector<std::string> all;
  for (std::uint64_t i = 0; in.ok() && i < std::min(count, kShown); ++i) {
    const std::string name = printable(in.bytes(), 40);
    const auto least = static_cast<std::int64_t>(in.u64()), most = static_cast<std::int64_t>(in.u64());
    all.push_back(least == most ? absl::StrCat(name, " ", least) : absl::StrCat(name, " ", least, " to ", most));
  }
  if (!in.ok()) return "";
  if (count > kShown) all.push_back("...");
  return all.empty() ? "no lengths that vary" : absl::StrJoin(all, ", ");
}

std::string value_text(const KeyMaterial& material, const std::string& part) {
  for (const KeyPart& one : material.parts()) {
    if (one.name != part) continue;
    if (part == "graph.vars") return vars_text(one.bytes);
    if (part == "target.device" || part == "target.arch" || part == "target.triple") return printable(one.bytes, 40);
    const bool is_number = part == "target.threads" || part == "target.vector_bits" || part.starts_with("options.");
    return is_number ? number_text(one.bytes) : "";
  }
  return "";
}

}  // namespace

std::string part_values(const KeyMaterial& wanted, const KeyMaterial& other, const std::string& part) {
  const std::string here = value_text(wanted, part), there = value_text(other, part);
  return here.empty() || there.empty() ? "" : absl::StrCat(here, " here, ", there, " there");
}

KeyMaterial plan_key_material(const v1::Graph& graph, const v1::Target& target, const v1::CompileOptions& options,
                              std::string_view build_id, std::string_view blobs) {
  KeyMaterial material("hearth.plan.v3");
  add_number(material, "graph.version", graph.version());
  material.add("graph.vars", vars_bytes(graph), absl::StrCat(graph.vars_size(), " variables"));
  if (Writer parts; write_parts(parts, graph))
    material.add("graph.parts", parts.take(), "ranges of variables in parts");
  material.add("graph.nodes", nodes_bytes(graph), absl::StrCat(graph.nodes_size(), " nodes"));
  material.add("graph.outputs", outputs_bytes(graph), absl::StrCat(graph.outputs_size(), " outputs"));
  if (graph.loops_size() > 0)
    material.add("graph.loops", loops_bytes(graph), absl::StrCat(graph.loops_size(), " loops"));
  if (graph.carried_size() > 0)
    material.add("graph.carried", carried_bytes(graph), absl::StrCat(graph.carried_size(), " carried outputs"));
  add_target(material, target);
  add_options(material, options);
  add_text(material, "build_id", build_id);
  if (!blobs.empty()) material.add("blob_libraries", std::string(blobs), std::string(blobs));
  return material;
}

KeyMaterial with_tuning(const KeyMaterial& plan, std::string_view digest) {
  KeyMaterial material = plan;
  if (!digest.empty()) material.add(kTuningPart, std::string(digest), to_hex(digest).substr(0, 16));
  return material;
}

KeyMaterial plan_reads_key_material(const KeyMaterial& plan) {
  KeyMaterial material(kPlanReadsDomain);
  material.add("plan", to_bytes(key(plan)), to_hex(key(plan)).substr(0, 16));
  return material;
}

KeyMaterial kernel_key_material(const v1::KernelSpec& spec, const v1::Target& target, const v1::CompileOptions& options,
                                std::string_view build_id) {
  KeyMaterial material("hearth.kernel.v2");
  add_text(material, "kernel.symbol", spec.symbol());
  material.add("kernel.ast", spec.ast(), absl::StrCat(spec.ast().size(), " bytes"));
  add_target(material, target);
  add_options(material, options);
  add_text(material, "build_id", build_id);
  return material;
}

std::string tuning_scope(const v1::Target& target, const v1::CompileOptions& options, std::string_view build_id) {
  KeyMaterial scope("hearth.tuning_scope.v1");
  add_target(scope, target);
  add_options(scope, options);
  add_text(scope, "build_id", build_id);
  return scope.encode();
}

KeyMaterial tuning_key_material(const v1::FlatKernel& kernel, const v1::Target& target,
                                const v1::CompileOptions& options, std::string_view build_id) {
  KeyMaterial material(kTuningDomain);
  material.add("kernel.flat", kernel.ast(), absl::StrCat(kernel.ast().size(), " bytes"));
  Writer slots;
  slots.u64(static_cast<std::uint64_t>(kernel.slots_size()));
  for (const v1::FlatKernel::Slot& slot : kernel.slots()) slots.u8(slot.once()).u8(slot.constant_shape());
  material.add("kernel.slots", slots.take());
  add_number(material, "kernel.may_pack", kernel.may_pack() ? 1 : 0);
  material.add(kScopePart, tuning_scope(target, options, build_id));
  return material;
}

std::string tuning_scope(const KeyMaterial& material) {
  if (material.domain() != kTuningDomain || material.parts().empty()) return {};
  const KeyPart& last = material.parts().back();
  return last.name == kScopePart ? last.bytes : std::string();
}

}  // namespace hearth::cache
