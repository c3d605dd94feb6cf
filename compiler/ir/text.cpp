#include "compiler/ir/text.h"

#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "compiler/ir/kind_names.h"

namespace hearth::ir {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    bool plain = std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == ':' || c == '-';
    if (plain) {
      out.push_back(static_cast<char>(c));
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02x", c);
      out += code;
    }
  }
  return out;
}

std::string join(const std::vector<std::int64_t>& values) {
  std::string out;
  for (auto v : values) out += (out.empty() ? "" : ",") + std::to_string(v);
  return out;
}

std::string value_text(const ConstValue& v, DType dtype) {
  if (!v.is_float) {
    if (is_bool(dtype)) return v.i ? "true" : "false";
    if (dtype.scalar == Scalar::U64) return std::to_string(static_cast<std::uint64_t>(v.i));
    return std::to_string(v.i);
  }
  if (std::isnan(v.f)) return "nan";
  if (std::isinf(v.f)) return v.f < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v.f);
  for (int digits = 6; digits < 17; ++digits) {  // shortest of few that reads back
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, v.f);
    if (std::strtod(shorter, nullptr) == v.f) return shorter;
  }
  return text;
}

struct PayloadText {
  DType dtype;
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const ConstValue& v) const { return value_text(v, dtype); }
  std::string operator()(const VarInfo& v) const {
    return "name=" + escape(v.name) + " min=" + std::to_string(v.min) + " max=" + std::to_string(v.max) +
           " slot=" + std::to_string(v.slot);
  }
  std::string operator()(const BufferInfo& v) const {
    return std::string("kind=") + kBufferKinds[static_cast<int>(v.kind)] + " id=" + std::to_string(v.id);
  }
  std::string operator()(const ParamInfo& v) const { return "slot=" + std::to_string(v.slot); }
  std::string operator()(const AllocationInfo& v) const {
    const std::string text = "id=" + std::to_string(v.id) + " elements=" + std::to_string(v.elements);
    return v.memory == v.id ? text : text + " memory=" + std::to_string(v.memory);
  }
  std::string operator()(const RangeInfo& v) const {
    return "axis=" + std::to_string(v.axis) + " " + kRangeKinds[static_cast<int>(v.kind)];
  }
  std::string operator()(const Axes& v) const { return "axes=" + join(v.axes); }
  std::string operator()(const ReduceInfo& v) const {
    return std::string(kReduceKinds[static_cast<int>(v.kind)]) + (v.axes.empty() ? "" : " axes=" + join(v.axes));
  }
  std::string operator()(const StageInfo& v) const {
    return "id=" + std::to_string(v.id) + (v.forced ? " forced" : "") + (v.kept ? " kept" : "") +
           (v.choice ? " choice" : "");
  }
  std::string operator()(const AccInfo& v) const { return "id=" + std::to_string(v.id); }
  std::string operator()(const BarrierInfo& v) const { return "id=" + std::to_string(v.id); }
  std::string operator()(const LaneInfo& v) const { return "lane=" + std::to_string(v.lane); }
  std::string operator()(const WmmaInfo& v) const {
    return "m=" + std::to_string(v.m) + " n=" + std::to_string(v.n) + " k=" + std::to_string(v.k) +
           " group=" + std::to_string(v.group) +
           (v.layout == MatrixLayout::Whole ? "" : " layout=" + std::to_string(static_cast<int>(v.layout))) +
           (v.subgroup == 0 ? "" : " subgroup=" + std::to_string(v.subgroup));
  }
  std::string operator()(const MatrixAccess& v) const {
    return (*this)(v.unit) + " operand=" + std::to_string(static_cast<int>(v.operand)) +
           " row_stride=" + std::to_string(v.row_stride) + " column_stride=" + std::to_string(v.column_stride);
  }
  std::string operator()(const AttentionInfo& v) const {
    return (v.causal ? "causal " : "") + ("past=" + std::to_string(v.past)) +
           " scale=" + value_text({.is_float = true, .i = 0, .f = v.scale}, Scalar::F64);
  }
  std::string operator()(const BlobInfo& v) const {
    return "id=" + std::to_string(v.id) + " values=" + std::to_string(v.num_values);
  }
  std::string operator()(const LoopInfo& v) const {
    return "id=" + std::to_string(v.id) + " result=" + std::to_string(v.result) +
           " values=" + std::to_string(v.num_values);
  }
  std::string operator()(const ScatterInfo& v) const {
    return std::string(v.combines ? kReduceKinds[static_cast<int>(*v.combines)] : "replace") +
           " row_axes=" + std::to_string(v.row_axes);
  }
  std::string operator()(const KernelInfo& v) const { return "symbol=" + escape(v.symbol); }
};

std::string const_text(UOpRef node) {
  return value_text(node->as<ConstValue>(), node->dtype) + ":" + to_string(node->dtype);
}

}  // namespace

std::string print_list(std::span<const UOpRef> list) {
  std::unordered_map<UOpRef, std::size_t> names;
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    UOpRef node = list[i];
    if (node->is_const() && i + 1 != list.size()) continue;
    std::size_t name = names.size();
    names[node] = name;
    out += "%" + std::to_string(name) + " = ";
    out += op_name(node->op);
    out += " " + to_string(node->dtype);
    for (UOpRef s : node->sources) out += s->is_const() ? " " + const_text(s) : " %" + std::to_string(names.at(s));
    std::string payload = std::visit(PayloadText{node->dtype}, node->payload);
    if (!payload.empty()) out += " [" + payload + "]";
    out += "\n";
  }
  return out;
}

std::string print(UOpRef root) { return print_list(toposort(root)); }

std::string describe(UOpRef node, int depth) {
  if (node->is_const()) return const_text(node);
  std::string out(op_name(node->op));
  std::string payload = std::visit(PayloadText{node->dtype}, node->payload);
  if (!payload.empty()) out += "[" + payload + "]";
  if (node->sources.empty()) return out;
  if (depth == 0) return out + "(…)";
  out += "(";
  for (std::size_t i = 0; i < node->sources.size(); ++i) {
    if (i) out += ", ";
    if (i == 8) {
      out += "…";
      break;
    }
    out += describe(node->sources[i], depth - 1);
  }
  return out + ")";
}

}  // namespace hearth::ir
