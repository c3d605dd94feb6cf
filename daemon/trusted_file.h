// Files that the daemon obeys (its configuration, the programs it starts) must be this user's or root's, and nobody
// else may write them. Stateless. Errors: NOT_FOUND, PERMISSION_DENIED, naming the file and the setting. Example:
//   if (absl::Status status = check_trusted_program("the compiler worker", path, "--worker"); !status.ok()) return
//   status;
#pragma once
#include <absl/status/status.h>

#include <string>

namespace hearth::daemon {

// `what` begins the message, `setting` names how to choose another file.
absl::Status check_trusted_file(const std::string& what, const std::string& path, const std::string& setting);
// A secret: a file of this user's or root's that no other user can read. A group that reads a file of root's may: that is
// how secrets are mounted for a service. `setting` begins the message.
absl::Status check_private_file(const std::string& setting, const std::string& path);
// A file that can be executed, too.
absl::Status check_trusted_program(const std::string& what, const std::string& path, const std::string& setting);

}  // namespace hearth::daemon
