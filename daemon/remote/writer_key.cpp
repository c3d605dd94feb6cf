#include "daemon/remote/writer_key.h"

#include "base/ed25519_text.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/trusted_file.h"

namespace hearth::daemon {

absl::StatusOr<Ed25519Secret> read_writer_key(const std::string& path) {
  if (absl::Status status = check_private_file("remote_writer_key", path); !status.ok())
    return absl::FailedPreconditionError(status.message());
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  absl::StatusOr<Ed25519Secret> secret = parse_secret(text);
  if (secret.ok()) return secret;
  return absl::FailedPreconditionError(
      str_cat("remote_writer_key: '", path, "' holds no key; make one with hearth remote keygen"));
}

}  // namespace hearth::daemon
