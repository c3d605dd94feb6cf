#include "client/onnx/reject.h"

#include "absl/status/status.h"
#include "base/text.h"
#include "hearth/error.h"

namespace hearth::onnx {

void reject(std::string_view message) { throw client::JitError(absl::InvalidArgumentError(as_alpha(message))); }

void reject_unsupported(std::string_view message) {
  throw client::JitError(absl::UnimplementedError(str_cat(message, " is not supported")));
}

}  // namespace hearth::onnx
