#include "client/onnx/operators.h"

#include <map>

#include "base/text.h"
#include "client/onnx/operator_versions.h"
#include "client/onnx/reject.h"

namespace hearth::onnx {
namespace {

using Table = std::map<std::string_view, const OperatorEntry*>;

using Families = std::initializer_list<std::span<const OperatorEntry>>;

Table make_table(Families families) {
  Table table;
  for (auto family : families) {
    for (const OperatorEntry& entry : family) table.emplace(entry.name, &entry);
  }
  return table;
}

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kMl = "ai.onnx.ml";
constexpr std::string_view kPreview = "ai.onnx.preview";
constexpr std::string_view kTraining = "ai.onnx.preview.training";

const Table& table_of(std::string_view domain) {
  static const Table standard =
      make_table({elementwise_operators(),   activation_operators(),  shape_operators(),      movement_operators(),
                  indexing_operators(),      scatter_operators(),     compaction_operators(), random_operators(),
                  linear_operators(),        convolution_operators(), pool_operators(),       reduction_operators(),
                  normalization_operators(), recurrent_operators(),   loss_operators(),       quantization_operators(),
                  resize_operators(),        image_operators(),       signal_operators(),     control_operators(),
                  sequence_operators(),      attention_operators(),   split_operators(),      cast_operators()});
  static const Table microsoft =
      make_table({microsoft_operators(), microsoft_attention_operators(), microsoft_quantization_operators(),
                  microsoft_qlinear_operators(), microsoft_recurrent_operators()});
  if (domain.empty()) return standard;
  static const Table training = make_table({training_operators()});
  if (domain == kMicrosoft) return microsoft;
  if (domain == kTraining) return training;
  static const Table preview = make_table({preview_operators()});
  if (domain == kPreview) return preview;
  static const Table ml = make_table({ml_operators()});
  if (domain == kMl) return ml;
  reject_unsupported(str_cat("operator domain '", domain, "'"));
}

}  // namespace

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : table_of("")) names.emplace_back(name);
  for (const std::string_view domain : {kMl, kMicrosoft, kPreview, kTraining}) {
    for (const auto& [name, entry] : table_of(domain)) names.push_back(str_cat(domain, "::", name));
  }
  return names;
}

const OperatorEntry& find_operator(std::string_view domain, std::string_view name, int opset) {
  const Table& table = table_of(domain);
  const auto found = table.find(name);
  if (found == table.end()) reject_unsupported("this operator");
  const OperatorEntry& entry = *found->second;
  const bool own = domain.empty();
  const bool has_ended = own && entry.until < kCommonOpset && opset > entry.until;
  if (opset < entry.since || has_ended) {
    const int last = entry.until < kCommonOpset ? entry.until : kLastOpset;
    reject_unsupported(str_cat("this operator is known for opsets ", std::max(entry.since, kFirstOpset), " to ", last,
                               "; opset ", opset));
  }
  if (const OperatorVersion* unknown = own ? unknown_version(name, opset, entry.until) : nullptr) {
    reject_unsupported(str_cat("version ", unknown->version, " of this operator (", unknown->what, "); opset ", opset));
  }
  return entry;
}

}  // namespace hearth::onnx
