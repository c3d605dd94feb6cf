#include "daemon/remote/remote_address.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMostAddresses = 2;

bool is_host_with_port(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 1 || port > 65535) return false;
  const absl::string_view host = text.substr(0, colon);
  const bool is_ipv6 = host.front() == '[' && host.back() == ']' && host.size() > 2;
  return is_ipv6 || (host.find(':') == absl::string_view::npos &&
                     std::ranges::all_of(host, [](char c) { return c > ' ' && c < 127 && c != '/' && c != ','; }));
}

}  // namespace

absl::StatusOr<RemoteAddress> parse_remote_address(const std::string& text) {
  RemoteAddress address{text, text, false};
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (!rest.empty() && rest.front() == '/' && rest.find(',') == absl::string_view::npos) return address;
  } else {
    address.is_tls = absl::ConsumePrefix(&rest, "grpcs://");
    if ((address.is_tls || absl::ConsumePrefix(&rest, "grpc://")) && is_host_with_port(rest)) {
      address.target = str_cat("dns:///", rest);
      return address;
    }
  }
  return absl::InvalidArgumentError("expected unix:/PATH, grpc://HOST:PORT or grpcs://HOST:PORT");
}

absl::Status parse_remote_addresses(const std::string& text, std::vector<RemoteAddress>* addresses) {
  addresses->clear();
  if (text.empty()) return absl::OkStatus();
  for (const std::string& part : static_cast<std::vector<std::string>>(absl::StrSplit(text, ','))) {
    HEARTH_ASSIGN_OR_RETURN(RemoteAddress address, parse_remote_address(std::string(absl::StripAsciiWhitespace(part))));
    addresses->push_back(std::move(address));
  }
  if (addresses->size() > kMostAddresses)
    return absl::InvalidArgumentError("expected two addresses at most: that of a cache and of another one");
  return absl::OkStatus();
}

}  // namespace hearth::daemon
