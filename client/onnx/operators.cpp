#include "client/onnx/operators.h"

#include <map>

#include "client/onnx/reject.h"
#include "runtime/text.h"

namespace hearth::onnx {
namespace {

using Table = std::map<std::string_view, const OperatorEntry*>;

Table make_table() {
  Table table;
  for (auto family :
       {elementwise_operators(), activation_operators(), shape_operators(), movement_operators(), indexing_operators(),
        linear_operators(), convolution_operators(), reduction_operators(), normalization_operators(),
        recurrent_operators(), loss_operators(), control_operators(), sequence_operators()}) {
    for (const OperatorEntry& entry : family) table.emplace(entry.name, &entry);
  }
  return table;
}

const Table& operator_table() {
  static const Table table = make_table();
  return table;
}

}  // namespace

std::vector<const OperatorEntry*> all_operators() {
  std::vector<const OperatorEntry*> all;
  for (const auto& [name, entry] : operator_table()) all.push_back(entry);
  return all;
}

const OperatorEntry& find_operator(std::string_view domain, std::string_view name, int opset) {
  const Table& table = operator_table();
  if (!domain.empty()) reject_unsupported(str_cat("operator domain '", domain, "'"));
  const auto found = table.find(name);
  if (found == table.end()) reject_unsupported("this operator");
  const OperatorEntry& entry = *found->second;
  if (opset < entry.since || opset > entry.until) {
    reject_unsupported(str_cat("this operator is known for opsets ", std::max(entry.since, kFirstOpset), " to ",
                               entry.until, "; opset ", opset));
  }
  return entry;
}

}  // namespace hearth::onnx
