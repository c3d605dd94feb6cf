#include "compiler/rewrite/pattern.h"

namespace hearth::rewrite {

namespace {
constexpr const char* kCaptureNames[kNumCaptures] = {"x", "y", "z", "w", "p", "q", "r", "u", "c0", "c1", "c2", "c3"};

std::string name_of(const PatternNode& node) {
  const char* const capture = kCaptureNames[node.capture];
  switch (node.kind) {
    case NodeKind::Capture:
      return capture;
    case NodeKind::Literal:
      return std::to_string(node.value);
    case NodeKind::Operation:
      return node.op_slot && node.op == ir::Op::Const ? "op" : std::string(ir::op_name(node.op));
    case NodeKind::AnySources:
      return std::string(ir::op_name(node.op)) + "(...)";
    case NodeKind::AnyNode:
      return "any";
    case NodeKind::OneOf:
      return "any_of";
    case NodeKind::Repeat:
      return "repeat";
    case NodeKind::Lanes:
      return "lanes_of";
    case NodeKind::Stacked:
      return "stacked";
    case NodeKind::Through:
      return node.op == ir::Op::Bitcast ? "through_bits" : "through";
    case NodeKind::Rest:
      return "rest";
    case NodeKind::Fold:
      return "val";
    case NodeKind::Log2:
      return std::string("log2(") + capture + ")";
    case NodeKind::VMin:
      return std::string("vmin(") + capture + ")";
    case NodeKind::VMax:
      return std::string("vmax(") + capture + ")";
  }
  return "?";
}

// ":index|bool scalar"; nothing without a filter.
std::string filter_text(DTypeSet dtypes) {
  constexpr std::pair<DTypeSet, const char*> kNames[] = {
      {kSigned, "signed"}, {kUnsigned, "unsigned"}, {kIndex, "index"}, {kBool, "bool"}, {kFloat, "float"}};
  std::string text;
  for (const auto& [dtype, name] : kNames) {
    if (dtypes & dtype) text += (text.empty() ? ":" : "|") + std::string(name);
  }
  return dtypes & kOneLane ? text + " scalar" : text;
}
}  // namespace

std::string to_string(const Pattern& pattern, int from) {
  if (pattern.empty()) return "true";
  const PatternNode& node = pattern[from];
  std::string text = name_of(node);
  for (int s = 0; s < node.num_sources; ++s) text += (s == 0 ? "(" : ", ") + to_string(pattern, node.sources[s]);
  return text + (node.num_sources > 0 ? ")" : "") + filter_text(node.dtypes);
}

Sort sort_of(const Pattern& pattern, int i) {
  const PatternNode& node = pattern[i];
  switch (node.kind) {
    case NodeKind::Capture:
      if (node.capture == kAnyTypeCapture) return Sort::Unknown;
      return is_bool_capture(node.capture) ? Sort::Bool : Sort::Element;
    case NodeKind::Operation:
      if (ir::op_class(node.op) == ir::OpClass::Compare) return Sort::Bool;
      if (node.op == ir::Op::Cast) return Sort::Element;
      [[fallthrough]];
    case NodeKind::OneOf:
    case NodeKind::Repeat:
    case NodeKind::Lanes:
    case NodeKind::Stacked:
      for (int s = node.op == ir::Op::Where ? 1 : 0; s < node.num_sources; ++s) {
        if (Sort sort = sort_of(pattern, node.sources[s]); sort != Sort::Unknown) return sort;
      }
      return Sort::Unknown;
    case NodeKind::Fold:
      return sort_of(pattern, node.sources[0]);
    default:
      return Sort::Unknown;
  }
}

}  // namespace hearth::rewrite
