// Tune over the socket, with a compiler whose times are known: what is found is used by everybody after.
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/unit/daemon/tune_calls.h"

namespace hearth::daemon {
namespace {

using namespace std::chrono_literals;

v1::ExplainedKernel explained(DaemonFixture& fixture, const std::vector<std::string>& names) {
  v1::ExplainRequest request;
  request.set_protocol_version(kProtocolVersion);
  *request.mutable_graph() = test_graph(names);
  *request.mutable_target() = test_target();
  grpc::ClientContext context;
  v1::ExplainResponse response;
  REQUIRE(fixture.compiler().Explain(&context, request, &response).ok());
  REQUIRE(response.kernels_size() > 0);
  return response.kernels(0);
}

std::uint64_t artifact_size(const std::string& ast) {
  return ("artifact of " + ast + " for fake-unknown-linux-gnu").size();
}

}  // namespace

TEST_CASE("tune: what is found is in every later plan, of other models, after a restart, until the cache is cleared") {
  DaemonFixture fixture;
  const Answer before = fixture.prepare(test_request({"kernel:a"}));
  REQUIRE(before.status.ok());
  CHECK_FALSE(explained(fixture, {"kernel:a"}).tuned());
  CHECK(explained(fixture, {"kernel:a"}).opts(0).amount() == 4);

  const Tuned tuned = tune(fixture, {"kernel:a", "kernel:flatline"});
  INFO(tuned.status.error_message());
  REQUIRE(tuned.status.ok());
  REQUIRE(tuned.result.kernels_size() == 2);
  const v1::TunedKernel& a = tuned.result.kernels(0);
  CHECK(a.symbol() == "a");
  CHECK(a.outcome() == v1::TunedKernel::TUNED);
  CHECK((a.heuristic(0).amount() == 4 && a.best(0).amount() == 7));
  CHECK((a.heuristic_ns() == 130 && a.best_ns() == 100));
  CHECK(tuned.result.kernels(1).outcome() == v1::TunedKernel::HEURISTIC);
  REQUIRE_FALSE(tuned.progress.empty());
  CHECK(tuned.progress.back().kernels_total() == 2);

  const Answer after = fixture.prepare(test_request({"kernel:a"}));
  REQUIRE(after.status.ok());
  CHECK(after.result.plan_key() != before.result.plan_key());
  CHECK(after.result.compiled_kernels() == 1);
  CHECK(after.result.artifacts(0).size() == artifact_size("(kernel a unrolled by 7)"));
  const v1::ExplainedKernel shown = explained(fixture, {"kernel:a"});
  CHECK((shown.tuned() && shown.opts(0).amount() == 7 && shown.cached()));
  // A kernel without a record is found as it was: another plan costs a lowering.
  REQUIRE(fixture.prepare(test_request({"kernel:flatline"})).result.compiled_kernels() == 1);
  const Answer both = fixture.prepare(test_request({"kernel:flatline", "kernel:a"}));
  CHECK((both.result.compiled_kernels() == 0 && both.result.cache_hits() == 2));

  const Tuned again = tune(fixture, {"kernel:a"});
  CHECK(again.result.kernels(0).outcome() == v1::TunedKernel::KNOWN);
  fixture.stop();
  fixture.start();
  CHECK(fixture.prepare(test_request({"kernel:a"})).result.plan_hit());
  CHECK(tune(fixture, {"kernel:a"}).result.kernels(0).outcome() == v1::TunedKernel::KNOWN);

  v1::CacheClearRequest request;
  v1::CacheClearResponse cleared;
  {
    grpc::ClientContext context;
    REQUIRE(fixture.admin().CacheClear(&context, request, &cleared).ok());
    CHECK(cleared.kept_tuning() == 2);  // what was found, and that nothing was
    CHECK(fixture.prepare(test_request({"kernel:a"})).result.plan_key() == after.result.plan_key());
  }
  request.set_tuning(true);
  grpc::ClientContext context;
  REQUIRE(fixture.admin().CacheClear(&context, request, &cleared).ok());
  CHECK(cleared.kept_tuning() == 0);
  const Answer fresh = fixture.prepare(test_request({"kernel:a"}));
  CHECK(fresh.result.plan_key() == before.result.plan_key());
  CHECK(fresh.result.compiled_kernels() == 1);
}

TEST_CASE("tune: a record changes the plans with its kernel, of its target and options, and no others") {
  DaemonFixture fixture;
  const v1::PrepareRequest plain = test_request({"kernel:a"}), other = test_request({"kernel:b"}),
                           both = test_request({"kernel:b", "kernel:a"});
  v1::PrepareRequest threads = plain, fast = plain;
  threads.mutable_target()->set_threads(3);
  fast.mutable_options()->set_fast_math(true);
  std::map<const v1::PrepareRequest*, std::string> keys;
  using Requests = std::vector<const v1::PrepareRequest*>;
  for (const v1::PrepareRequest* request : Requests{&plain, &other, &both, &threads, &fast}) {
    const Answer answer = fixture.prepare(*request);
    REQUIRE(answer.status.ok());
    keys[request] = answer.result.plan_key();
  }
  const Tuned tuned = tune(fixture, {"kernel:a"});
  REQUIRE(tuned.result.kernels(0).outcome() == v1::TunedKernel::TUNED);
  CHECK(tuned.result.changed_plans() == 2);  // plain and both
  for (int i = 0; i < 2; ++i) {
    for (const v1::PrepareRequest* request : Requests{&other, &threads, &fast}) {
      const Answer answer = fixture.prepare(*request);
      CHECK((answer.result.plan_hit() && answer.result.plan_key() == keys[request]));
    }
    fixture.stop();  // what plans read is on the disk, too
    fixture.start();
  }
  v1::PrepareRequest sealed = both;  // what was right before is right still where nothing is compiled
  sealed.set_sealed(true);
  const Answer older = fixture.prepare(sealed);
  CHECK((older.result.plan_hit() && older.result.plan_key() == keys[&both]));
  const Answer now = fixture.prepare(both);
  CHECK(now.result.plan_key() != keys[&both]);
  CHECK((now.result.compiled_kernels() == 1 && now.result.cache_hits() == 1));  // b itself is as it was
  CHECK(fixture.prepare(sealed).result.plan_key() == now.result.plan_key());
}

TEST_CASE("tune: a candidate that crashes its worker loses only itself") {
  DaemonFixture fixture;
  for (const char* name : {"badcode", "badrun"}) {
    INFO(name);
    const std::uint64_t crashes = fixture.stats().worker_crashes();
    const Tuned tuned = tune(fixture, {std::string("kernel:") + name});
    REQUIRE(tuned.status.ok());
    CHECK(tuned.result.kernels(0).outcome() == v1::TunedKernel::TUNED);
    CHECK(tuned.result.kernels(0).best(0).amount() == 7);
    CHECK(tuned.result.kernels(0).failed_candidates() == 1);
    CHECK(fixture.stats().worker_crashes() == crashes + 1);
  }
  CHECK(fixture.prepare(test_request({"kernel:after"})).status.ok());
}

TEST_CASE("tune: two callers at once: one searches, the other finds what was found") {
  DaemonFixture fixture;
  std::atomic<int> tuned{0}, known{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      auto stub = v1::CompilerService::NewStub(fixture.channel());
      grpc::ClientContext context;
      const Tuned answer = tune(*stub, tune_request({"kernel:a"}), context);
      if (answer.result.kernels_size() != 1) return;
      tuned += answer.result.kernels(0).outcome() == v1::TunedKernel::TUNED;
      known += answer.result.kernels(0).outcome() == v1::TunedKernel::KNOWN;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(tuned == 1);
  CHECK(known == 3);
}

TEST_CASE("tune: budget, shares and refusals") {
  DaemonFixture fixture;
  v1::TuneRequest request = tune_request({"kernel:a", "kernel:slow"});
  request.set_budget_ms(1);
  {
    grpc::ClientContext context;
    const Tuned tuned = tune(fixture.compiler(), request, context);
    REQUIRE(tuned.result.kernels_size() == 2);
    CHECK(tuned.result.kernels(1).outcome() == v1::TunedKernel::SKIPPED);
    CHECK(tuned.result.kernels(1).detail().find("budget") != std::string::npos);
  }
  std::vector<std::string> many;
  for (int i = 0; i < 150; ++i) many.push_back("kernel:k" + std::to_string(i));
  const Tuned shared = tune(fixture, many);
  CHECK(shared.result.kernels(0).outcome() == v1::TunedKernel::SKIPPED);
  CHECK(shared.result.kernels(0).detail().find("1 %") != std::string::npos);

  request = tune_request({"kernel:a"});
  request.mutable_target()->set_device("null");
  grpc::ClientContext null_device;
  CHECK(tune(fixture.compiler(), request, null_device).status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
  request = tune_request({});
  grpc::ClientContext empty;
  CHECK(tune(fixture.compiler(), request, empty).status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(tune(fixture, {"lower:error"}).status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("tune: runs of a small budget get on: each goes on where the last one ended") {
  DaemonFixture fixture([](Config& config) { config.workers = 1; });  // two candidates a wave
  const std::vector<std::string> names = {"kernel:slowflatline1", "kernel:slowflatline2"};
  const std::string plan_key = fixture.prepare(test_request(names)).result.plan_key();
  const auto run = [&](bool again) {
    v1::TuneRequest request = tune_request(names);
    request.set_budget_ms(1);
    request.set_again(again);
    grpc::ClientContext context;
    const Tuned tuned = tune(fixture.compiler(), request, context);
    REQUIRE(tuned.result.kernels_size() == 2);
    return tuned.result;
  };
  using Outcome = v1::TunedKernel::Outcome;
  const auto check = [](const v1::TuneResult& result, Outcome first, Outcome second) {
    INFO(result.ShortDebugString());
    CHECK(result.kernels(0).outcome() == first);
    CHECK(result.kernels(1).outcome() == second);
  };
  // There are four candidates of each, none of them faster.
  const v1::TuneResult cut = run(false);
  check(cut, v1::TunedKernel::UNFINISHED, v1::TunedKernel::SKIPPED);
  CHECK(cut.kernels(0).candidates() == 2);
  CHECK(cut.kernels(0).detail().find("after 2 candidates; the next run goes on") != std::string::npos);
  fixture.stop();
  fixture.start();  // what is remembered is on disk
  check(run(false), v1::TunedKernel::HEURISTIC, v1::TunedKernel::SKIPPED);
  check(run(false), v1::TunedKernel::SEARCHED, v1::TunedKernel::UNFINISHED);
  check(run(false), v1::TunedKernel::SEARCHED, v1::TunedKernel::HEURISTIC);
  const v1::TuneResult done = run(false);
  check(done, v1::TunedKernel::SEARCHED, v1::TunedKernel::SEARCHED);
  CHECK(done.kernels(1).detail().find("tried 4 candidates") != std::string::npos);
  check(run(true), v1::TunedKernel::UNFINISHED, v1::TunedKernel::SKIPPED);
  // What was not found changes no plan.
  CHECK(fixture.prepare(test_request(names)).result.plan_key() == plan_key);
  CHECK(fixture.prepare(test_request(names)).result.plan_hit());
}

TEST_CASE("tune: a run that times nothing more keeps the time that the last one found") {
  DaemonFixture fixture([](Config& config) { config.workers = 1; });  // two candidates a wave, the second two fail
  v1::TuneRequest request = tune_request({"kernel:slowflatlinebadfar"});
  request.set_budget_ms(1);
  const auto run = [&] {
    grpc::ClientContext context;
    const Tuned tuned = tune(fixture.compiler(), request, context);
    REQUIRE(tuned.result.kernels_size() == 1);
    return tuned.result.kernels(0);
  };
  const v1::TunedKernel first = run(), second = run(), third = run();
  CHECK(first.outcome() == v1::TunedKernel::UNFINISHED);
  CHECK(first.heuristic_ns() > 0);
  CHECK(second.failed_candidates() == 2);
  CHECK(second.heuristic_ns() == first.heuristic_ns());
  CHECK(third.outcome() == v1::TunedKernel::SEARCHED);
  CHECK(third.heuristic_ns() == first.heuristic_ns());
}

TEST_CASE("tune: a caller that leaves ends its run; a daemon that leaves ends them all") {
  DaemonFixture fixture;
  grpc::ClientContext context;
  auto stub = v1::CompilerService::NewStub(fixture.channel());
  auto stream = stub->Tune(&context, tune_request({"kernel:slow"}));
  v1::TuneEvent event;
  REQUIRE(stream->Read(&event));
  context.TryCancel();
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == grpc::StatusCode::CANCELLED);
  CHECK(tune(fixture, {"kernel:a"}).status.ok());  // the next in line is served

  grpc::ClientContext last;
  auto leaving = stub->Tune(&last, tune_request({"kernel:slow2"}));
  REQUIRE(leaving->Read(&event));
  std::thread reader([&] {
    v1::TuneEvent more;
    while (leaving->Read(&more)) {
    }
  });
  CHECK(fixture.daemon().drain());
  reader.join();
  CHECK_FALSE(leaving->Finish().ok());
}

}  // namespace hearth::daemon
