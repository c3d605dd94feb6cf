#include "compiler/rewrite/pattern.h"

namespace hearth::rewrite {

namespace {
constexpr const char* kCaptureNames[kNumCaptures] = {"x", "y", "z", "w", "p", "q", "r", "?", "c0", "c1", "c2", "c3"};
}  // namespace

std::string to_string(const Pattern& pattern, int from) {
  if (pattern.empty()) return "true";
  const PatternNode& node = pattern[from];
  switch (node.kind) {
    case NodeKind::Capture:
      return kCaptureNames[node.capture];
    case NodeKind::Literal:
      return std::to_string(node.value);
    case NodeKind::VMin:
      return std::string("vmin(") + kCaptureNames[node.capture] + ")";
    case NodeKind::VMax:
      return std::string("vmax(") + kCaptureNames[node.capture] + ")";
    case NodeKind::AnyOf:
      return std::string(ir::op_name(node.op)) + "(...)";
    case NodeKind::Operation:
    case NodeKind::Fold:
      break;
  }
  std::string text = node.kind == NodeKind::Fold                ? "val("
                     : node.op_slot && node.op == ir::Op::Const ? "op("
                                                                : std::string(ir::op_name(node.op)) + "(";
  for (int s = 0; s < node.num_sources; ++s) {
    if (s > 0) text += ", ";
    text += to_string(pattern, node.sources[s]);
  }
  return text + ")";
}

Sort sort_of(const Pattern& pattern, int i) {
  const PatternNode& node = pattern[i];
  switch (node.kind) {
    case NodeKind::Capture:
      return is_bool_capture(node.capture) ? Sort::Bool : Sort::Element;
    case NodeKind::Operation:
      if (ir::op_class(node.op) == ir::OpClass::Compare) return Sort::Bool;
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
