// RemoteAddress: where a remote cache listens, of the setting `remote`: "unix:/run/casd.sock", "grpc://host:port" or
// "grpcs://host:port" (TLS). Plain value. Errors: INVALID_ARGUMENT that says what is expected.
//
//   absl::StatusOr<RemoteAddress> address = parse_remote_address("grpcs://cache.example:8980");
#pragma once
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::daemon {

struct RemoteAddress {
  std::string text;    // as it was given, for people
  std::string target;  // as gRPC has it
  bool is_tls = false;
};

absl::StatusOr<RemoteAddress> parse_remote_address(const std::string& text);
// Addresses with ',' between them, two at most: the second is asked where the first is slow or gone.
absl::Status parse_remote_addresses(const std::string& text, std::vector<RemoteAddress>* addresses);

}  // namespace hearth::daemon
