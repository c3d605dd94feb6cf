#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/status_macros.h"
#include "compiler/ir/kind_names.h"
#include "compiler/ir/text.h"
#include "fmt/format.h"

namespace hearth::ir {
namespace {

using absl::InvalidArgumentError;

const std::unordered_map<std::string_view, Op>& op_table() {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, Op>();
    for (int i = 0; i < kNumOps; ++i) map->emplace(op_name(static_cast<Op>(i)), static_cast<Op>(i));
    return map;
  }();
  return *table;
}

std::vector<std::string_view> split(std::string_view text, char separator, bool keep_empty) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(separator, begin), text.size());
    if (keep_empty || end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
bool to_number(std::string_view text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool unescape(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    unsigned code = 0;
    if (text.size() - i < 3) return false;
    auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
    if (error != std::errc() || end != text.data() + i + 3) return false;
    out.push_back(static_cast<char>(code));
    i += 2;
  }
  return true;
}

bool to_list(std::string_view text, std::vector<std::int64_t>& out) {
  for (std::string_view part : split(text, ',', true)) {
    std::int64_t v;
    if (!to_number(part, v)) return false;
    out.push_back(v);
  }
  return true;
}

template <std::size_t N>
int word_index(const char* const (&words)[N], std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) return static_cast<int>(i);
  }
  return -1;
}

// Payload words: "key=value" fields and flags.
class Fields {
 public:
  explicit Fields(std::string_view text) {
    for (std::string_view word : split(text, ' ', false)) words_.push_back(word);
  }
  template <class T>
  bool number(std::string_view key, T& out) const {
    std::string_view v = value(key);
    return !v.empty() && to_number(v, out);
  }
  std::string_view value(std::string_view key) const {
    for (std::string_view w : words_) {
      if (w.size() > key.size() && w.substr(0, key.size()) == key && w[key.size()] == '=')
        return w.substr(key.size() + 1);
    }
    return {};
  }
  std::string_view flag() const {
    for (std::string_view w : words_) {
      if (w.find('=') == std::string_view::npos) return w;
    }
    return {};
  }

 private:
  std::vector<std::string_view> words_;
};

bool parse_const(DType dtype, std::string_view text, ConstValue& out) {
  if (is_float(dtype)) {
    out.is_float = true;
    if (text == "nan") return out.f = std::nan(""), true;
    if (text == "inf" || text == "-inf") return out.f = text[0] == '-' ? -INFINITY : INFINITY, true;
    return to_number(text, out.f);
  }
  if (is_bool(dtype)) {
    out.i = text == "true";
    return text == "true" || text == "false";
  }
  if (dtype.scalar == Scalar::U64) {
    std::uint64_t v;
    if (!to_number(text, v)) return false;
    out.i = static_cast<std::int64_t>(v);
    return true;
  }
  return to_number(text, out.i) && out.i >= int_min(dtype) && out.i <= int_max(dtype);
}

bool parse_wmma(const Fields& f, WmmaInfo& v) {
  bool ok = f.number("m", v.m) && f.number("n", v.n) && f.number("k", v.k) && f.number("group", v.group) &&
            v.group > 0 && v.k % v.group == 0;
  std::uint16_t layout = 0;
  if (!f.value("layout").empty())
    ok = ok && f.number("layout", layout) && layout <= static_cast<int>(MatrixLayout::Mfma8);
  v.layout = static_cast<MatrixLayout>(layout);
  const bool is_cooperative = v.layout == MatrixLayout::Cooperative;
  if (f.value("subgroup").empty()) return ok && !is_cooperative;
  return ok && is_cooperative && f.number("subgroup", v.subgroup) && is_cooperative_shape(v.m, v.n, v.k, v.subgroup);
}

bool parse_payload(Op op, DType dtype, std::string_view text, Payload& out) {
  Fields f(text);
  switch (op) {
    case Op::Const: {
      ConstValue v;
      if (!parse_const(dtype, text, v)) return false;
      out = v;
      return true;
    }
    case Op::Var: {
      VarInfo v;
      bool ok = unescape(f.value("name"), v.name) && f.number("min", v.min) && f.number("max", v.max) &&
                f.number("slot", v.slot);
      out = v;
      return ok && v.min <= v.max;
    }
    case Op::Buffer: {
      BufferInfo v;
      int kind = word_index(kBufferKinds, f.value("kind"));
      v.kind = static_cast<BufferKind>(kind);
      bool ok = kind >= 0 && f.number("id", v.id);
      out = v;
      return ok;
    }
    case Op::Param: {
      ParamInfo v;
      bool ok = f.number("slot", v.slot);
      out = v;
      return ok;
    }
    case Op::Allocate: {
      AllocationInfo v;
      bool ok = f.number("id", v.id) && f.number("elements", v.elements) && v.elements >= 0;
      v.memory = v.id;
      ok = ok && (f.value("memory").empty() || f.number("memory", v.memory));
      out = v;
      return ok;
    }
    case Op::Range: {
      RangeInfo v;
      int kind = word_index(kRangeKinds, f.flag());
      v.kind = static_cast<RangeKind>(kind);
      bool ok = kind >= 0 && f.number("axis", v.axis);
      out = v;
      return ok;
    }
    case Op::Iota:
    case Op::Permute:
    case Op::Flip:
    case Op::Unfold:
    case Op::Cat:
    case Op::Gather: {
      Axes v;
      bool ok = f.value("axes").empty() || to_list(f.value("axes"), v.axes);
      out = v;
      return ok;
    }
    case Op::ReduceAxis:
    case Op::Reduce:
    case Op::AccUpdate:
    case Op::Horizontal: {
      ReduceInfo v;
      int kind = word_index(kReduceKinds, f.flag());
      v.kind = static_cast<ReduceKind>(kind);
      bool ok = kind >= 0 && (f.value("axes").empty() || to_list(f.value("axes"), v.axes));
      out = v;
      return ok;
    }
    case Op::Stage: {
      StageInfo v;
      v.forced = f.flag() == "forced";
      v.kept = f.flag() == "kept";
      v.choice = f.flag() == "choice";
      bool ok = f.number("id", v.id);
      out = v;
      return ok;
    }
    case Op::Acc: {
      AccInfo v;
      bool ok = f.number("id", v.id);
      out = v;
      return ok;
    }
    case Op::Barrier: {
      BarrierInfo v;
      bool ok = f.number("id", v.id);
      out = v;
      return ok;
    }
    case Op::Extract:
    case Op::Exchange: {
      LaneInfo v;
      bool ok = f.number("lane", v.lane);
      out = v;
      return ok;
    }
    case Op::Wmma: {
      WmmaInfo v;
      bool ok = parse_wmma(f, v);
      out = v;
      return ok;
    }
    case Op::Load:
    case Op::Store: {
      if (text.empty()) return true;
      MatrixAccess v;
      std::uint16_t operand = 0;
      bool ok = parse_wmma(f, v.unit) && v.unit.layout == MatrixLayout::Cooperative && f.number("operand", operand) &&
                operand <= static_cast<int>(MatrixOperand::Sum) && f.number("row_stride", v.row_stride) &&
                f.number("column_stride", v.column_stride);
      v.operand = static_cast<MatrixOperand>(operand);
      out = v;
      return ok;
    }
    case Op::Attention: {
      AttentionInfo v;
      v.causal = f.flag() == "causal";
      ConstValue scale;
      bool ok = f.number("past", v.past) && parse_const(Scalar::F64, f.value("scale"), scale);
      v.scale = scale.f;
      out = v;
      return ok;
    }
    case Op::Blob: {
      BlobInfo v;
      bool ok = f.number("id", v.id) && f.number("values", v.num_values);
      out = v;
      return ok;
    }
    case Op::Scatter: {
      ScatterInfo v;
      const std::string_view how = f.flag();
      const int kind = word_index(kReduceKinds, how);
      if (kind >= 0) v.combines = static_cast<ReduceKind>(kind);
      bool ok = (kind >= 0 || how == "replace") && f.number("row_axes", v.row_axes);
      out = v;
      return ok;
    }
    case Op::Loop: {
      LoopInfo v;
      bool ok = f.number("id", v.id) && f.number("result", v.result) && f.number("values", v.num_values);
      out = v;
      return ok;
    }
    case Op::Sink: {
      if (text.empty()) return true;
      KernelInfo v;
      bool ok = unescape(f.value("symbol"), v.symbol);
      out = v;
      return ok;
    }
    default:
      return text.empty();
  }
}

}  // namespace

absl::StatusOr<std::vector<UOpRef>> parse_list(Graph& graph, std::string_view text) {
  std::unordered_map<std::string_view, UOpRef> names;
  std::vector<UOpRef> list;
  int line_number = 0;
  std::vector<UOpRef> sources;
  for (std::string_view line : split(text, '\n', true)) {
    ++line_number;
    line = line.substr(0, line.find("//"));
    auto fail = [&](std::string_view why) {
      return InvalidArgumentError(fmt::format("UOp text line {}: {}", line_number, why));
    };
    std::string_view payload_text;
    if (std::size_t open = line.find('['); open != std::string_view::npos) {
      std::size_t close = line.rfind(']');
      if (close == std::string_view::npos || close < open) return fail("payload without ']'");
      payload_text = line.substr(open + 1, close - open - 1);
      line = line.substr(0, open);
    }
    std::vector<std::string_view> words = split(line, ' ', false);
    if (words.empty()) continue;
    if (words.size() < 4 || words[0][0] != '%' || words[1] != "=")
      return fail("expected '%name = op dtype sources... [payload]'");
    auto op = op_table().find(words[2]);
    if (op == op_table().end()) return fail(fmt::format("unknown op '{}'", words[2]));
    std::optional<DType> dtype = parse_dtype(words[3]);
    if (!dtype) return fail(fmt::format("unknown dtype '{}'", words[3]));
    sources.clear();
    for (std::size_t i = 4; i < words.size(); ++i) {
      if (words[i][0] == '%') {
        auto found = names.find(words[i]);
        if (found == names.end()) return fail(fmt::format("undefined {}", words[i]));
        sources.push_back(found->second);
        continue;
      }
      std::size_t colon = words[i].rfind(':');
      std::optional<DType> type =
          colon == std::string_view::npos ? std::nullopt : parse_dtype(words[i].substr(colon + 1));
      ConstValue value;
      if (!type || !parse_const(*type, words[i].substr(0, colon), value))
        return fail(fmt::format("bad constant '{}'", words[i]));
      sources.push_back(value.is_float ? graph.constant(*type, value.f) : graph.constant(*type, value.i));
    }
    int count = static_cast<int>(sources.size());
    int most = max_sources(op->second);
    if (count < min_sources(op->second) || (most >= 0 && count > most))
      return fail(fmt::format("'{}' with {} sources", words[2], count));
    Payload payload;
    if (!parse_payload(op->second, *dtype, payload_text, payload)) {
      return fail(fmt::format("bad payload [{}] of '{}'", payload_text, words[2]));
    }
    list.push_back(graph.make(op->second, *dtype, sources, std::move(payload)));
    if (!names.emplace(words[0], list.back()).second) return fail(fmt::format("{} is defined twice", words[0]));
  }
  if (list.empty()) return InvalidArgumentError("UOp text holds no node");
  return list;
}

absl::StatusOr<UOpRef> parse(Graph& graph, std::string_view text) {
  HEARTH_ASSIGN_OR_RETURN(std::vector<UOpRef> list, parse_list(graph, text));
  return list.back();
}

}  // namespace hearth::ir
