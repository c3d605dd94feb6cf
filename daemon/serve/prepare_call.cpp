#include "daemon/serve/prepare_call.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "daemon/log_fields.h"
#include "daemon/log_limit.h"
#include "daemon/store/artifact_grants.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxPendingProgress = 64;
constexpr std::size_t kMaxModelBytes = 256;      // of the model's name in the log
constexpr std::size_t kMaxMessageBytes = 4'096;  // likewise, of an error's message
constexpr std::uint64_t kArtifactBytes = 512;    // of an answer, for each artifact that it names
constexpr std::uint64_t kSpanBytes = 128;        // likewise, for each span of a trace

// Unique in a daemon's life.
std::int64_t next_number() {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

// For the log: whose calls these are, and which lines are of one.
std::string name_of_call(std::int64_t number, const ClientId& client) {
  return fmt::format("call {} of user {}{}", number, client.uid,
                     client.pid > 0 ? fmt::format(", process {}", client.pid) : "");
}

const char* word(PrepareOutcome outcome) {
  return outcome == PrepareOutcome::kMiss ? "miss" : outcome == PrepareOutcome::kHit ? "hit" : "joined";
}

v1::PrepareEvent to_event(const Prepared& prepared, std::uint64_t lease, ResultStore& store, bool by_path) {
  v1::PrepareEvent event;
  v1::PrepareResult& result = *event.mutable_result();
  const BuiltPlan& built = *prepared.built;
  const bool compiled_here = prepared.outcome == PrepareOutcome::kMiss;
  result.set_plan_key(to_bytes(prepared.plan_key));
  result.set_plan(*built.plan.plan);
  for (const cache::ArtifactRef& artifact : built.plan.artifacts) {
    v1::ArtifactRef& ref = *result.add_artifacts();
    ref.set_digest(to_bytes(artifact.digest));
    ref.set_size(artifact.size_bytes);
    if (by_path) ref.set_path(store.artifact_path(artifact.digest));
  }
  result.set_lease_id(lease);
  result.set_compiled_kernels(compiled_here ? built.compiled_kernels : 0);
  result.set_cache_hits(built.found ? static_cast<std::uint32_t>(built.plan.artifacts.size()) : built.kernel_hits);
  result.set_plan_hit(prepared.outcome == PrepareOutcome::kHit);
  result.set_joined(prepared.outcome == PrepareOutcome::kJoined);
  return event;
}

}  // namespace

PrepareCall::PrepareCall(const CallServices& services, grpc::CallbackServerContext* context,
                         const grpc::ByteBuffer* request)
    : RequestStream(services, context, request),
      services_(services),
      number_(next_number()),
      name_(name_of_call(number_, client())),
      counted_(services.metrics->arrived(RequestKind::kPrepare)) {
  start();
}

void PrepareCall::begin() {
  Preparer::Caller caller;
  caller.client = client();
  caller.done = callback(&PrepareCall::answer);
  if (request().want_progress()) caller.progress = callback(&PrepareCall::report);
  auto ticket = std::make_shared<PlanFlights::Ticket>(services_.preparer->prepare(shared_request(), std::move(caller)));
  on_cancel([ticket] { ticket->leave(); });
  if (request().want_progress()) std::invoke(callback(&PrepareCall::report_queued));
}

void PrepareCall::report_queued() {
  if (std::exchange(told_queued_, true)) return;
  v1::PrepareEvent event;
  event.mutable_progress()->set_state(v1::PrepareProgress::QUEUED);
  send(std::move(event));
}

void PrepareCall::report(const BuildProgress& progress) {
  report_queued();  // always the first word, though a large request's progress may come before begin() tells it
  if (num_pending() >= kMaxPendingProgress) return;
  // Kernels that are ready at once may be told in any order.
  if (progress.kernels_done < kernels_told_) return;
  kernels_told_ = progress.kernels_done;
  v1::PrepareEvent event;
  v1::PrepareProgress& told = *event.mutable_progress();
  told.set_state(progress.lowering ? v1::PrepareProgress::LOWERING : v1::PrepareProgress::COMPILING);
  told.set_kernels_done(progress.kernels_done);
  told.set_kernels_total(progress.kernels_total);
  send(std::move(event));
}

// One line a client and minute: each is as long as the client likes, and its caller has been told.
void PrepareCall::tell_failure(const absl::Status& why, const std::string& of_model, double took_ms,
                               LogFields::Fields fields) const {
  static LogLimit& limit = *new LogLimit();
  const std::uint64_t key = std::uint64_t{client().uid} << 32 | static_cast<std::uint32_t>(client().pid);
  const std::optional<std::uint64_t> times = limit.count(key);
  if (!times) return;
  const LogFields told(std::move(fields));
  spdlog::info("{}: prepare{} failed after {:.1f} ms{}: {}", name_, of_model, took_ms,
               *times > 1 ? fmt::format(" ({} times in a minute)", *times) : "",
               shortened(std::string_view(why.message().data(), why.message().size()), kMaxMessageBytes));
}

void PrepareCall::answer(absl::StatusOr<Prepared> prepared) {
  const double took_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began_).count();
  LogFields::Fields told = {{"call", number_}, {"user", std::int64_t{client().uid}}, {"ms", took_ms}};
  const std::string model = printable(request().model(), kMaxModelBytes);
  const std::string of_model = model.empty() ? "" : " of " + model;
  if (!model.empty()) told.emplace_back("model", model);
  if (!prepared.ok()) {
    told.emplace_back("outcome", "error");
    told.emplace_back("error", std::string(absl::StatusCodeToString(prepared.status().code())));
    tell_failure(prepared.status(), of_model, took_ms, std::move(told));
    services_.preparer->services().accounts->count(client().uid, PrepareOutcome::kError);
    return fail(prepared.status());
  }
  services_.preparer->services().accounts->count(client().uid, prepared->outcome);
  const BuiltPlan& built = *prepared->built;
  const std::string key = to_hex(prepared->plan_key).substr(0, 12);
  const bool is_miss = prepared->outcome == PrepareOutcome::kMiss;
  if (is_miss || spdlog::should_log(spdlog::level::debug)) {
    const char* const outcome = word(prepared->outcome);
    told.emplace_back("plan", to_hex(prepared->plan_key));
    told.emplace_back("outcome", outcome);
    told.emplace_back("kernels_compiled", std::int64_t{is_miss ? built.compiled_kernels : 0});
    told.emplace_back("cache_hits", std::int64_t{built.kernel_hits});
    const LogFields fields(std::move(told));
    if (is_miss) {
      spdlog::info("{}: prepare {}{}: miss, {:.1f} ms, {} kernels compiled and {} in the cache", name_, key, of_model,
                   took_ms, built.compiled_kernels, built.kernel_hits);
    } else {
      spdlog::debug("{}: prepare {}{}: {}, {:.1f} ms", name_, key, of_model, outcome, took_ms);
    }
  }
  std::uint64_t lease = 0;
  if (request().session_id() != 0) {
    // A session that ended meanwhile (a draining daemon, a client on its way out) costs the lease, not the plan.
    lease = services_.leases->add(request().session_id(), prepared->built->plan.hold).value_or(0);
  }
  services_.metrics->count(prepared->outcome, std::chrono::steady_clock::now() - began_);
  BuildTrace trace;
  if (request().want_trace()) {
    trace = built.trace;
    const auto now = std::chrono::steady_clock::now();
    const auto ns = [](auto time) {
      return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
    };
    add_span(absl::StrCat("prepare: ", word(prepared->outcome)), "call", ns(began_), ns(now), 0, &trace);
  }
  const std::uint64_t bytes =
      built.plan.plan->size() + kArtifactBytes * (1 + built.plan.artifacts.size()) + kSpanBytes * trace.size();
  for (const cache::ArtifactRef& artifact : built.plan.artifacts)
    services_.grants->grant(client().uid, artifact.digest);
  const bool by_path = ArtifactGrants::is_trusted(client().uid);
  finish(bytes, [prepared = *std::move(prepared), lease, store = services_.store, by_path, trace = std::move(trace)] {
    v1::PrepareEvent event = to_event(prepared, lease, *store, by_path);
    event.mutable_result()->mutable_trace()->Assign(trace.begin(), trace.end());
    return event;
  });
}

}  // namespace hearth::daemon
