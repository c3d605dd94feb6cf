// The operators the importer knows: name, opsets it is valid for, handler. One file per family (ops_*.cpp), each
// giving its part of the table; handlers turn a node's Values into its result Values, folding on the host what is
// known. Errors: JitError.
//
//   Values outputs = find_operator("", "Conv", 13).import(node);
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/onnx/node_context.h"

namespace hearth::onnx {

inline constexpr int kFirstOpset = 1;
inline constexpr int kLastOpset = 28;
// Handlers know the meaning of this opset, and of later versions of an operator those that their entry says.
inline constexpr int kCommonOpset = 19;

// What an operator does with an input whose length depends on the data (Value::is_bounded).
enum class BoundedInputs {
  kRefused,
  kElementwise,  // one input, and each element of the result from its own: the result is bounded alike
  kHandled,      // the handler looks at it
};

struct OperatorEntry {
  std::string_view name;
  Values (*import)(NodeContext&);
  int since = 1;  // first opset whose meaning the handler implements
  // The last version of the operator that it implements: that stays in force until the next one (operator_versions.h).
  // Below kCommonOpset: the operator ends there.
  int until = kCommonOpset;
  BoundedInputs bounded = BoundedInputs::kRefused;
};

std::span<const OperatorEntry> elementwise_operators();    // ops_elementwise.cpp
std::span<const OperatorEntry> activation_operators();     // ops_activation.cpp
std::span<const OperatorEntry> shape_operators();          // ops_shape.cpp
std::span<const OperatorEntry> movement_operators();       // ops_movement.cpp
std::span<const OperatorEntry> split_operators();          // ops_split.cpp
std::span<const OperatorEntry> cast_operators();           // ops_cast.cpp
std::span<const OperatorEntry> indexing_operators();       // ops_indexing.cpp
std::span<const OperatorEntry> scatter_operators();        // ops_scatter.cpp
std::span<const OperatorEntry> compaction_operators();     // ops_compaction.cpp
std::span<const OperatorEntry> random_operators();         // ops_random.cpp
std::span<const OperatorEntry> linear_operators();         // ops_linear.cpp
std::span<const OperatorEntry> convolution_operators();    // ops_convolution.cpp
std::span<const OperatorEntry> pool_operators();           // ops_pool.cpp
std::span<const OperatorEntry> reduction_operators();      // ops_reduction.cpp
std::span<const OperatorEntry> normalization_operators();  // ops_normalization.cpp
std::span<const OperatorEntry> recurrent_operators();      // ops_recurrent.cpp
std::span<const OperatorEntry> loss_operators();           // ops_loss.cpp
std::span<const OperatorEntry> quantization_operators();   // ops_quantization.cpp
std::span<const OperatorEntry> resize_operators();         // ops_resize.cpp
std::span<const OperatorEntry> image_operators();          // ops_image.cpp
std::span<const OperatorEntry> signal_operators();         // ops_signal.cpp
std::span<const OperatorEntry> control_operators();        // ops_control.cpp
std::span<const OperatorEntry> sequence_operators();       // ops_sequence.cpp
std::span<const OperatorEntry> attention_operators();      // ops_attention.cpp
// The domain com.microsoft:
std::span<const OperatorEntry> microsoft_operators();               // ops_microsoft.cpp
std::span<const OperatorEntry> microsoft_attention_operators();     // ops_microsoft_attention.cpp
std::span<const OperatorEntry> microsoft_quantization_operators();  // ops_microsoft_quantization.cpp
std::span<const OperatorEntry> microsoft_qlinear_operators();       // ops_microsoft_qlinear.cpp
std::span<const OperatorEntry> microsoft_recurrent_operators();     // ops_recurrent.cpp
// The domain ai.onnx.ml:
std::span<const OperatorEntry> ml_operators();  // ops_ml.cpp
// The domain ai.onnx.preview:
std::span<const OperatorEntry> preview_operators();  // ops_attention.cpp
// The domain ai.onnx.preview.training:
std::span<const OperatorEntry> training_operators();  // ops_training.cpp
// [B, S, heads * size] -> [B, heads, S, size], and back.
client::Tensor split_heads(const client::Tensor& x, std::int64_t heads);
client::Tensor join_heads(const client::Tensor& x);
// x / sqrt(mean(x²) + epsilon) * scale; of both domains.
Values simplified_layer_normalization(NodeContext& node);

// `domain` is "" for ONNX's own operators, else one of those above. JitError (Unimplemented) naming the domain or the
// opsets that are known.
const OperatorEntry& find_operator(std::string_view domain, std::string_view name, int opset);
// All operators, sorted; "domain::name" for those that are not ONNX's own.
std::vector<std::string> operator_names();

}  // namespace hearth::onnx
