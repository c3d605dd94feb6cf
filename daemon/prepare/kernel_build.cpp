// The body of a kernel flight: look again, compile in a worker, assemble what is PTX, store.
#include <absl/strings/str_cat.h>

#include <utility>

#include "daemon/prepare/plan_build.h"

namespace hearth::daemon {
namespace {

using Flight = std::shared_ptr<KernelFlights::Flight>;

// Makes a cubin of the PTX that was compiled; then store().
void assemble(const BuildServices& services, const v1::Target& target, const std::string& symbol,
              const ClientId& client, const std::shared_ptr<v1::WorkerReply>& reply, const Flight& flight,
              std::function<void()> store) {
  v1::Artifact& artifact = *reply->mutable_compiled()->mutable_artifact();
  absl::StatusOr<std::uint64_t> id = services.ptx->assemble(
      {.symbol = symbol, .ptx = std::move(*artifact.mutable_data()), .arch = target.arch()}, client,
      [&artifact, reply, flight, store = std::move(store)](absl::StatusOr<v1::Artifact> assembled) {
        if (!assembled.ok()) return flight->complete(assembled.status());
        artifact = *std::move(assembled);
        store();
      });
  if (!id.ok()) return flight->complete(id.status());
  flight->on_cancel([ptx = services.ptx, id = *id] { ptx->cancel(id); });
  flight->on_join([ptx = services.ptx, id = *id](const ClientId& other) { ptx->share(id, other); });
}

void store_kernel(const BuildServices& services, const cache::KeyMaterial& material, const std::string& what,
                  const v1::WorkerReply& reply, uid_t user, const Flight& flight) {
  const v1::Artifact& artifact = reply.compiled().artifact();
  services.metrics->kernel_compiled();
  services.accounts->compiled(user, artifact.data().size());
  BuiltKernel built;
  add_job_spans(what, "compile", reply.times(), reply.compiled().passes(), &built.trace);
  built.empty = artifact.format() == v1::Artifact::NONE;
  if (!built.empty) built.kernel = services.store->put_kernel(material, artifact.data(), user);
  flight->complete(std::make_shared<const BuiltKernel>(std::move(built)));
}

}  // namespace

void build_kernel(const BuildServices& services, const v1::KernelSpec& spec, const v1::Target& target,
                  const v1::CompileOptions& options, const ClientId& client, cache::KeyMaterial material,
                  Flight flight) {
  // Another flight may have stored it between the caller's look-up and this flight's start.
  if (std::optional<KernelResult> found = services.store->find_kernel(material)) {
    BuiltKernel built;
    built.kernel = std::move(*found);
    built.found = true;
    flight->complete(std::make_shared<const BuiltKernel>(std::move(built)));
    return;
  }
  CompileJob job;
  *job.request.mutable_compile() = spec;
  *job.request.mutable_target() = target;
  *job.request.mutable_options() = options;
  job.request.mutable_options()->set_pass_times(true);
  job.client = client;
  job.what = absl::StrCat("kernel '", spec.symbol(), "'");
  job.done = [services, material = std::move(material), symbol = spec.symbol(), target, client,
              flight](absl::StatusOr<v1::WorkerReply> reply) {
    if (!reply.ok()) return flight->complete(reply.status());
    if (reply->compiled().artifact().data().empty() && reply->compiled().artifact().format() != v1::Artifact::NONE) {
      return flight->complete(absl::InternalError(absl::StrCat("kernel '", symbol, "' compiled to nothing")));
    }
    auto shared = std::make_shared<v1::WorkerReply>(std::move(*reply));
    const auto store = [services, material, symbol, shared, user = client.uid, flight] {
      services.executor->post([services, material, symbol, shared, user, flight] {
        store_kernel(services, material, symbol, *shared, user, flight);
      });
    };
    const bool is_ptx = shared->compiled().artifact().format() == v1::Artifact::PTX;
    if (is_ptx && services.ptx->makes(target)) return assemble(services, target, symbol, client, shared, flight, store);
    store();
  };
  absl::StatusOr<std::uint64_t> id = services.pool->submit(std::move(job));
  if (!id.ok()) return flight->complete(id.status());
  flight->on_cancel([pool = services.pool, id = *id] { pool->cancel(id); });
  flight->on_join([pool = services.pool, id = *id](const ClientId& other) { pool->share(id, other); });
}

}  // namespace hearth::daemon
