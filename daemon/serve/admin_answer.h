// How AdminServiceImpl's calls read their requests and answer. For its own files alone.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

#include "daemon/serve/admin_service.h"

namespace hearth::daemon {

inline constexpr std::size_t kOwnersRequestBytes = 4u << 20;  // names of blobs that are to be removed

template <class Request, class Response>
grpc::ServerUnaryReactor* AdminServiceImpl::answer(const Call& call, Executor* executor, const char* owners,
                                                   std::function<void(const Request&, Response&)> work) {
  auto* reactor = new UnaryCall(services_.calls, call.context, call.response);
  Request request;
  absl::Status status =
      owners != nullptr ? check_owner(owners) : check_insight(call, std::is_same_v<Request, v1::StatsRequest>);
  if (status.ok()) {
    status = read_small_request(*const_cast<Bytes*>(call.bytes), request,
                                owners != nullptr ? kOwnersRequestBytes : kSmallRequestBytes);
  }
  if (!status.ok()) {
    reactor->finish(status);
    return reactor;
  }
  const auto perform = [reactor, request = std::move(request), work = std::move(work)] {
    Response response;
    work(request, response);
    reactor->finish(response);
  };
  executor != nullptr ? executor->post(perform) : perform();
  return reactor;
}

}  // namespace hearth::daemon
