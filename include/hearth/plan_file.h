// Plan files: a prepared plan with its kernels, and its parameters unless told otherwise, in one self-checking file
// that is loaded with no daemon (format: docs/plan_file.md). It holds machine code: load only what you would run.
// Thread-safe. Errors: one line that begins with the path and names the section. DataLoss: damaged or cut off;
// FailedPrecondition: another version, or a CPU or device without the features it was compiled for; InvalidArgument: no
// plan file, wrong parameters, or a trusted key that is none; PermissionDenied: not signed by a trusted key, where keys
// are named; NotFound, PermissionDenied, ResourceExhausted: the file system.
//
//   absl::Status saved = plan->export_to("model.hearth");
//   absl::StatusOr<PreparedPlan> loaded = load_plan("model.hearth", {.threads = 4});
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/prepare.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct LoadPlanConfig {
  int threads = 0;          // 0: as when the plan was prepared
  std::string device = "";  // as PrepareConfig::device; empty: the first of the kind that the plan was prepared for
  std::optional<Subnormals> subnormals = {};  // nothing: as when the plan was prepared
  // Parameters that the file leaves out, by name; must be the bytes the plan was exported with.
  std::map<std::string, ParameterData> parameters = {};
  // Public keys, as hearth remote keygen prints them: a file that none of their owners signed is refused. Empty: those of
  // HEARTH_TRUSTED_KEYS, with ',' between them; where that is not set, or empty, any file is loaded.
  std::vector<std::string> trusted_keys = {};
};

// Parameters in the file are used where it is mapped: the file must stay as it is while the plan lives.
absl::StatusOr<PreparedPlan> load_plan(const std::string& path, const LoadPlanConfig& config = {});
// Loads a plan file's bytes (PreparedPlan::export_bytes); errors begin with "the plan". Without `owner` they are copied
// and may go afterwards; with one, which keeps them alive and unchanged, they are used where they lie when that is
// aligned to 64 bytes.
absl::StatusOr<PreparedPlan> load_plan_bytes(std::string_view bytes, const LoadPlanConfig& config = {},
                                             std::shared_ptr<const void> owner = nullptr);

// Whether a regular file begins as plan files do.
bool is_plan_file(const std::string& path);

}  // namespace hearth::client
#pragma GCC visibility pop
