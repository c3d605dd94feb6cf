#include "client/connection/blob_client.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/blob_file.h"
#include "client/connection/daemon_channel.h"

namespace {

using Json = nlohmann::json;
using hearth::client::BlobFile;
using hearth::client::DaemonChannel;

// Longer than any compile is allowed to take.
constexpr std::int64_t kDefaultTimeoutMs = 3'600'000;

absl::Status bad(const std::string& what) {
  return absl::InvalidArgumentError("hearth_blob_acquire: the request " + what);
}

absl::Status take_text(const Json& request, const char* name, bool needed, std::string* out) {
  const auto value = request.find(name);
  if (value == request.end() && !needed) return absl::OkStatus();
  if (value == request.end() || !value->is_string()) return bad(hearth::str_cat("has no text \"", name, "\""));
  *out = value->get<std::string>();
  return absl::OkStatus();
}

absl::Status take_list(const Json& request, const char* name, google::protobuf::RepeatedPtrField<std::string>* out) {
  const auto list = request.find(name);
  if (list == request.end()) return absl::OkStatus();
  if (!list->is_array()) return bad(hearth::str_cat("has \"", name, "\" that is no list"));
  for (const Json& item : *list) {
    if (!item.is_string()) return bad(hearth::str_cat("has \"", name, "\" with an item that is no text"));
    *out->Add() = item.get<std::string>();
  }
  return absl::OkStatus();
}

struct Request {
  hearth::v1::CompileBlobRequest proto;
  std::string socket;
  DaemonChannel::Deadline deadline;
};

absl::StatusOr<Request> parse(const char* text) {
  if (text == nullptr) return bad("is null");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad("is no JSON object");
  Request request;
  hearth::v1::BlobSpec& spec = *request.proto.mutable_blob();
  for (const absl::Status& status :
       {take_text(json, "stem", true, spec.mutable_stem()),
        take_text(json, "toolchain", true, spec.mutable_toolchain()),
        take_text(json, "root", true, spec.mutable_root()), take_text(json, "source", true, spec.mutable_source()),
        take_text(json, "glue", false, spec.mutable_glue()), take_text(json, "socket", false, &request.socket),
        take_list(json, "flags", spec.mutable_flags()), take_list(json, "archs", spec.mutable_archs()),
        take_list(json, "exports", spec.mutable_exports())}) {
    if (!status.ok()) return status;
  }
  std::int64_t timeout_ms = kDefaultTimeoutMs;
  if (const auto value = json.find("timeout_ms"); value != json.end()) {
    if (!value->is_number_integer() || value->get<std::int64_t>() < 0) return bad("has a \"timeout_ms\" below 0");
    if (value->get<std::int64_t>() > 0) timeout_ms = std::min(timeout_ms, value->get<std::int64_t>());
  }
  request.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  return request;
}

absl::StatusOr<BlobFile> acquire(const char* text) {
  HEARTH_ASSIGN_OR_RETURN(Request request, parse(text));
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<DaemonChannel> channel, DaemonChannel::get({.socket = request.socket}));
  absl::StatusOr<BlobFile> file = absl::InternalError("not tried");
  // Twice: between answer and fetch the daemon may have evicted the blob, or found its file damaged and put it aside.
  for (int attempt = 0; attempt < 2; ++attempt) {
    HEARTH_ASSIGN_OR_RETURN(const hearth::v1::BlobResult result,
                            channel->compile_blob(request.proto, request.deadline));
    file = hearth::client::open_blob(*channel, result.artifact(), request.deadline);
    if (!absl::IsNotFound(file.status()) && !absl::IsDataLoss(file.status())) break;
  }
  return file;
}

int answer(const Json& reply, int code, char** reply_json) {
  const std::string text = reply.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (reply_json != nullptr) *reply_json = ::strdup(text.c_str());
  return code;
}

}  // namespace

int hearth_blob_acquire(const char* request_json, char** reply_json) {
  constexpr int kInternal = static_cast<int>(absl::StatusCode::kInternal);
  try {
    const absl::StatusOr<BlobFile> file = acquire(request_json);
    if (file.ok()) return answer({{"path", file->path}, {"sha256", file->sha256_hex}}, 0, reply_json);
    const int code = static_cast<int>(file.status().code());
    return answer({{"code", code}, {"message", std::string(file.status().message())}}, code, reply_json);
  } catch (const std::exception& error) {
    return answer({{"code", kInternal}, {"message", error.what()}}, kInternal, reply_json);
  }
}

void hearth_blob_free(char* reply_json) { std::free(reply_json); }
