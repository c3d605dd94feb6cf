// AdminService's calls of packs: entries of this node's cache for other nodes, and theirs for this one.
#include <absl/strings/str_cat.h>

#include <ctime>
#include <limits>
#include <memory>
#include <utility>

#include "base/printable.h"
#include "daemon/packs/pack_exporter.h"
#include "daemon/packs/pack_importer.h"
#include "daemon/remote/compiler_flavour.h"
#include "daemon/serve/admin_answer.h"

namespace hearth::daemon {

template <class Request, class Response>
grpc::ServerUnaryReactor* AdminServiceImpl::answer_by_flavour(
    const Call& call, const char* what,
    std::function<absl::StatusOr<Response>(const Request&, const Digest& flavour)> work) {
  auto* const reactor = new UnaryCall(services_.calls, call.context, call.response);
  auto request = std::make_shared<Request>();
  absl::Status status = check_owner(what);
  if (status.ok())
    status = read_small_request(*const_cast<Bytes*>(call.bytes), *request, std::numeric_limits<std::size_t>::max());
  if (!status.ok()) {
    reactor->finish(status);
    return reactor;
  }
  const auto then = [reactor, request, work = std::move(work),
                     executor = services_.executor](const std::optional<Digest>& flavour) {
    executor->post([reactor, request, work, flavour] {
      if (!flavour) {
        return reactor->finish(absl::FailedPreconditionError(
            "the compiler's files were replaced on disk while it ran; restart the daemon (hearth daemon restart)"));
      }
      const absl::StatusOr<Response> response = work(*request, *flavour);
      response.ok() ? reactor->finish(*response) : reactor->finish(response.status());
    });
  };
  // Without keys nothing looks at the flavour, and `work` says what is missing.
  services_.remote_settings->has_keys() ? services_.flavour->when_known(then) : then(Digest{});
  return reactor;
}

grpc::ServerUnaryReactor* AdminServiceImpl::ExportPack(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                       Bytes* response) {
  return answer_by_flavour<v1::ExportPackRequest, v1::ExportPackResponse>(
      {context, bytes, response}, "ExportPack",
      [services = services_](const v1::ExportPackRequest& request, const Digest& flavour) {
        const PackExporter exporter(
            {services.cache, services.remote_settings, services.build_id, std::int64_t{std::time(nullptr)}});
        return exporter.entries_of(request.contents(), flavour);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::ImportEntry(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                        Bytes* response) {
  return answer_by_flavour<v1::ImportEntryRequest, v1::ImportEntryResponse>(
      {context, bytes, response}, "ImportEntry",
      [services = services_](const v1::ImportEntryRequest& request, const Digest& flavour) {
        const PackImporter importer(
            {services.cache, services.tuning, services.plan_reads, services.remote_settings, services.build_id});
        return importer.import(request, flavour);
      });
}

grpc::ServerUnaryReactor* AdminServiceImpl::ListPacks(grpc::CallbackServerContext* context, const Bytes* bytes,
                                                      Bytes* response) {
  return answer<v1::ListPacksRequest, v1::ListPacksResponse>(
      {context, bytes, response}, services_.executor, nullptr,
      [cache = services_.cache](const v1::ListPacksRequest&, v1::ListPacksResponse& list) {
        for (v1::ImportedPack& pack : imported_packs(*cache)) {
          pack.set_name(printable(pack.name()));
          *list.add_packs() = std::move(pack);
        }
      });
}

}  // namespace hearth::daemon
