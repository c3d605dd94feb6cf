#include "hearth/error_kind.h"

#include <array>

#include "absl/strings/cord.h"
#include "base/text.h"

namespace hearth::client {
namespace {

constexpr char kJitErrorPayload[] = "hearth.v1.JitErrorKind";
constexpr std::array kKinds = {JitErrorKind::kNotPrepared,
                               JitErrorKind::kInputBufferNotFound,
                               JitErrorKind::kDuplicateInputBuffer,
                               JitErrorKind::kBuild,
                               JitErrorKind::kTensor,
                               JitErrorKind::kDevice,
                               JitErrorKind::kRuntime,
                               JitErrorKind::kOutputLayoutMismatch};

}  // namespace

std::string_view to_string(JitErrorKind kind) {
  switch (kind) {
    case JitErrorKind::kNotPrepared:
      return "NotPrepared";
    case JitErrorKind::kInputBufferNotFound:
      return "InputBufferNotFound";
    case JitErrorKind::kDuplicateInputBuffer:
      return "DuplicateInputBuffer";
    case JitErrorKind::kBuild:
      return "Build";
    case JitErrorKind::kTensor:
      return "Tensor";
    case JitErrorKind::kDevice:
      return "Device";
    case JitErrorKind::kOutputLayoutMismatch:
      return "OutputLayoutMismatch";
    case JitErrorKind::kRuntime:
      return "Runtime";
  }
  return "unknown";
}

absl::Status with_kind(JitErrorKind kind, const absl::Status& status) {
  if (status.ok() || jit_error_kind(status)) return status;
  absl::Status tagged(status.code(), str_cat(to_string(kind), ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { tagged.SetPayload(type, payload); });
  tagged.SetPayload(kJitErrorPayload, absl::Cord(as_alpha(to_string(kind))));
  return tagged;
}

absl::Status without_kind(const absl::Status& status) {
  absl::Status plain = status;
  plain.ErasePayload(kJitErrorPayload);
  return plain;
}

std::optional<JitErrorKind> jit_error_kind(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kJitErrorPayload);
  if (!payload) return std::nullopt;
  for (JitErrorKind kind : kKinds) {
    if (*payload == as_alpha(to_string(kind))) return kind;
  }
  return std::nullopt;
}

}  // namespace hearth::client
