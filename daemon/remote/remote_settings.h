// RemoteSettings: what hearthd is told of a cache beyond its node. Plain value.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "daemon/remote/remote_address.h"
#include "daemon/remote/result_statement.h"

namespace hearth::daemon {

struct RemoteSettings {
  std::vector<RemoteAddress> addresses;  // none: no remote cache
  std::string instance;                  // of the server; mostly empty
  std::string salt;                      // separates fleets that share a server
  std::string ca_file;                   // of TLS, PEM; empty: the system's
  std::string certificate_file;          // this node's, where the server asks for one
  std::string key_file;                  // of that certificate
  std::string token_file;                // what "authorization: Bearer" says; read again when it changes
  std::string writer_key_file;           // empty: what is built here is not sent
  bool sends_private = false;            // also results whose graph holds constant data
  TrustedKeys trusted;

  std::chrono::milliseconds call_limit{2000};  // of one call

  bool is_used() const { return !addresses.empty(); }
  // For packs, too.
  bool has_keys() const { return !trusted.keys.empty() || !writer_key_file.empty(); }
};

}  // namespace hearth::daemon
