// The body of a kernel flight: look again, compile in a worker, assemble what is PTX, store.
#include <absl/strings/str_cat.h>

#include <atomic>
#include <utility>

#include "daemon/prepare/plan_build.h"
#include "daemon/prepare/remote_tier.h"
#include "daemon/remote/remote_race.h"

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
                  const v1::WorkerReply& reply, uid_t user, bool sends, const Flight& flight) {
  const v1::Artifact& artifact = reply.compiled().artifact();
  services.metrics->kernel_compiled();
  services.accounts->compiled(user, artifact.data().size());
  BuiltKernel built;
  add_job_spans(what, "compile", reply.times(), reply.compiled().passes(), &built.trace);
  built.empty = artifact.format() == v1::Artifact::NONE;
  built.user = user;
  if (!built.empty) built.kernel = services.store->put_kernel(material, artifact.data(), user);
  if (sends && !built.empty && services.remote->is_writer(user))
    services.remote->send_kernel(material, artifact.data());
  flight->complete(std::make_shared<const BuiltKernel>(std::move(built)));
}

void complete_found(KernelResult kernel, const Flight& flight) {
  BuiltKernel built;
  built.kernel = std::move(kernel);
  built.found = true;
  flight->complete(std::make_shared<const BuiltKernel>(std::move(built)));
}

// What a compile is of.
struct KernelJob {
  v1::KernelSpec spec;
  v1::Target target;
  v1::CompileOptions options;
  ClientId client;
  cache::KeyMaterial material;
};

// Compiles in a worker, assembles what is PTX, stores. `sends`: beyond this node, too. `compiled` is called, where it is
// not null, once the worker has answered. The job's number; 0 where there is none.
std::uint64_t compile(const BuildServices& services, const KernelJob& kernel, bool sends, const Flight& flight,
                      std::function<void()> compiled = nullptr) {
  CompileJob job;
  *job.request.mutable_compile() = kernel.spec;
  *job.request.mutable_target() = kernel.target;
  *job.request.mutable_options() = kernel.options;
  job.request.mutable_options()->set_pass_times(true);
  job.client = kernel.client;
  job.what = absl::StrCat("kernel '", kernel.spec.symbol(), "'");
  job.done = [services, material = kernel.material, symbol = kernel.spec.symbol(), target = kernel.target,
              client = kernel.client, sends, flight,
              compiled = std::move(compiled)](absl::StatusOr<v1::WorkerReply> reply) {
    if (compiled) compiled();
    if (!reply.ok()) return flight->complete(reply.status());
    if (reply->compiled().artifact().data().empty() && reply->compiled().artifact().format() != v1::Artifact::NONE) {
      return flight->complete(absl::InternalError(absl::StrCat("kernel '", symbol, "' compiled to nothing")));
    }
    auto shared = std::make_shared<v1::WorkerReply>(std::move(*reply));
    const auto store = [services, material, symbol, shared, user = client.uid, sends, flight] {
      services.executor->post([services, material, symbol, shared, user, sends, flight] {
        store_kernel(services, material, symbol, *shared, user, sends, flight);
      });
    };
    const bool is_ptx = shared->compiled().artifact().format() == v1::Artifact::PTX;
    if (is_ptx && services.ptx->makes(target)) return assemble(services, target, symbol, client, shared, flight, store);
    store();
  };
  absl::StatusOr<std::uint64_t> id = services.pool->submit(std::move(job));
  if (!id.ok()) {
    flight->complete(id.status());
    return 0;
  }
  flight->on_cancel([pool = services.pool, id = *id] { pool->cancel(id); });
  flight->on_join([pool = services.pool, id = *id](const ClientId& other) { pool->share(id, other); });
  return *id;
}

// Compiles it unless another node does, whose result is waited for.
void lease(const BuildServices& services, const std::shared_ptr<const KernelJob>& kernel, const Flight& flight) {
  services.remote->entries().lease(
      kernel->material, "kernel",
      {.look_up =
           [services, kernel, flight](const std::function<void(bool)>& then) {
             services.remote->find_kernel(kernel->material, kernel->client.uid,
                                          [flight, then](RemoteFound<KernelResult> found) {
                                            if (found.result) complete_found(*std::move(found.result), flight);
                                            then(found.result.has_value() || flight->cancelled());
                                          });
           },
       .waits = [services, flight] { services.executor->post([flight] { flight->report({}); }); },
       .ended =
           [services, kernel, flight](bool compiles) {
             if (!compiles || flight->cancelled()) return;
             services.executor->post([services, kernel, flight] { (void)compile(services, *kernel, true, flight); });
           }});
}

// Asks for it beyond this node, and compiles it where that takes long or has nothing; who is first wins.
void race(const BuildServices& services, KernelJob kernel, const Flight& flight) {
  auto shared = std::make_shared<const KernelJob>(std::move(kernel));
  auto job = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto own = std::make_shared<std::weak_ptr<RemoteRace>>();
  auto race = std::make_shared<RemoteRace>(RemoteRace::Runner{
      .ask =
          [services, shared, job, flight](const std::function<void(RemoteOutcome)>& ended) {
            return services.remote->find_kernel(shared->material, shared->client.uid,
                                                [services, job, flight, ended](RemoteFound<KernelResult> found) {
                                                  ended(found.outcome);
                                                  if (!found.result) return;
                                                  complete_found(*std::move(found.result), flight);
                                                  if (const std::uint64_t id = *job) services.pool->cancel(id);
                                                });
          },
      .work =
          [services, shared, job, own, flight](RemoteRace::Reason reason) {
            const bool is_writer = services.remote->is_writer(shared->client.uid);
            if (reason == RemoteRace::Reason::kMissing && is_writer) return lease(services, shared, flight);
            *job = compile(services, *shared, reason != RemoteRace::Reason::kNotAnswered, flight, [own] {
              if (const std::shared_ptr<RemoteRace> race = own->lock()) race->finish();
            });
          },
      .post = [executor = services.executor](std::function<void()> task) { executor->post(std::move(task)); }});
  *own = race;
  flight->on_cancel([race] { race->finish(); });
  race->begin(services.remote->head_start());
}

}  // namespace

void build_kernel(const BuildServices& services, const v1::KernelSpec& spec, const v1::Target& target,
                  const v1::CompileOptions& options, const ClientId& client, cache::KeyMaterial material,
                  bool asks_remote, Flight flight) {
  // Another flight may have stored it between the caller's look-up and this flight's start.
  if (std::optional<KernelResult> found = services.store->find_kernel(material))
    return complete_found(*std::move(found), flight);
  KernelJob kernel{spec, target, options, client, std::move(material)};
  if (asks_remote && services.remote->is_asked()) return race(services, std::move(kernel), flight);
  (void)compile(services, kernel, asks_remote, flight);
}

}  // namespace hearth::daemon
