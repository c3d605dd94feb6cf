#include "client/connection/rpc_format.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "base/text.h"

namespace hearth::client {
namespace {

constexpr std::size_t kHeadBytes = 5;

// gRPC's percent-encoding of messages; what is no code stays as it is.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) && absl::ascii_isxdigit(text[i + 2]);
    if (is_code) {
      decoded += absl::HexStringToBytes(as_alpha(text.substr(i + 1, 2)));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

void append_rpc_message(std::string_view message, std::string* bytes) {
  const auto size = static_cast<std::uint32_t>(message.size());
  const char head[kHeadBytes] = {0, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                                 static_cast<char>(size >> 8), static_cast<char>(size)};
  bytes->append(head, kHeadBytes).append(message);
}

std::string rpc_timeout(std::chrono::nanoseconds left) {
  constexpr std::int64_t kMax = 99'999'999;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  if (milliseconds <= kMax) return str_cat(std::max<std::int64_t>(0, milliseconds), "m");
  return str_cat(std::min<std::int64_t>(kMax, std::chrono::ceil<std::chrono::seconds>(left).count()), "S");
}

absl::Status RpcMessages::add(std::string_view chunk, std::size_t max_bytes) {
  while (!chunk.empty()) {
    if (head_.size() < kHeadBytes) {
      const std::size_t count = std::min(chunk.size(), kHeadBytes - head_.size());
      head_.append(chunk.substr(0, count));
      chunk.remove_prefix(count);
      if (head_.size() < kHeadBytes) return absl::OkStatus();
      if (head_[0] != 0) return absl::InternalError("the daemon's answer is compressed, which was not asked for");
      wanted_ = 0;
      for (std::size_t i = 1; i < kHeadBytes; ++i) wanted_ = wanted_ << 8 | static_cast<unsigned char>(head_[i]);
      if (wanted_ > max_bytes) {
        return absl::ResourceExhaustedError(
            str_cat("the daemon's answer has a message of ", wanted_, " bytes; at most ", max_bytes, " are taken"));
      }
    }
    const std::size_t count = std::min(chunk.size(), wanted_ - body_.size());
    body_.append(chunk.substr(0, count));
    chunk.remove_prefix(count);
    if (body_.size() < wanted_) return absl::OkStatus();
    whole_.push_back(std::move(body_));
    body_ = {};
    head_.clear();
  }
  return absl::OkStatus();
}

bool RpcMessages::take(std::string* message) {
  if (whole_.empty()) return false;
  *message = std::move(whole_.front());
  whole_.pop_front();
  return true;
}

void RpcTrailers::add(std::string_view name, std::string_view value) {
  int number = 0;
  if (name == ":status" && absl::SimpleAtoi(as_alpha(value), &number)) http_status_ = number;
  if (name == "grpc-status") code_ = absl::SimpleAtoi(as_alpha(value), &number) ? number : -1;
  if (name == "grpc-message") message_ = percent_decoded(value);
}

absl::Status RpcTrailers::status() const {
  constexpr int kGreatestCode = 16;
  if (code_ == 0) return absl::OkStatus();
  if (code_ && *code_ > 0 && *code_ <= kGreatestCode) {
    const auto code = static_cast<absl::StatusCode>(*code_);
    if (!message_.empty()) return absl::Status(code, message_);
    return absl::Status(code,
                        str_cat("the daemon ended the call with ", absl::StatusCodeToString(code), " and no message"));
  }
  if (code_) return absl::UnknownError(str_cat("the daemon's answer has an unknown status: ", message_));
  if (http_status_ != 0 && http_status_ != 200) {
    return absl::UnavailableError(str_cat("what listens there is no daemon: HTTP status ", http_status_));
  }
  return absl::InternalError("the daemon ended the call without a status");
}

}  // namespace hearth::client
