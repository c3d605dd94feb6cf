// Finds APIs that host code calls and nothing defines: their generator failed, or was never run. A shared library links
// without them, and its first call ends the process.
//
// Pure but for reading the objects; thread-safe. Errors: FailedPrecondition naming function and object; those of
// reading a file; DataLoss naming the file. Example:
//   absl::Status status = check_host_calls({"mha_fwd.o"}, {"fmha_fwd_api.o"});
#pragma once
#include <absl/status/status.h>

#include <string>
#include <vector>

namespace hearth::blobs {

// Every function fmha_… that a host object needs is defined by one of them or by a dispatcher's object.
absl::Status check_host_calls(const std::vector<std::string>& host_objects,
                              const std::vector<std::string>& dispatcher_objects);

}  // namespace hearth::blobs
