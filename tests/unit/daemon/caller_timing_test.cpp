// Tune where whoever asks times the candidates (TuneRequest.caller_times, AnswerTiming): for devices that no worker has.
#include <algorithm>
#include <functional>
#include <limits>

#include "tests/unit/daemon/tune_calls.h"

namespace hearth::daemon {
namespace {

// Tunes "kernel:a" of a device that no worker has; `answer` is what the caller says of a candidate.
Tuned tune_by_caller(DaemonFixture& fixture, const std::function<v1::TimingAnswer(const v1::TimingTask&)>& answer,
                     std::vector<grpc::StatusCode>* told = nullptr) {
  v1::TuneRequest request = tune_request({"kernel:a"});
  request.mutable_target()->set_device("vulkan");
  request.mutable_target()->mutable_gpu()->set_subgroup_size(8);
  request.set_caller_times(true);
  request.set_again(true);
  Tuned tuned;
  grpc::ClientContext context;
  auto stream = fixture.compiler().Tune(&context, request);
  v1::TuneEvent event;
  while (stream->Read(&event)) {
    if (event.has_result()) tuned.result = event.result();
    if (!event.has_timing()) continue;
    grpc::ClientContext other;
    v1::TimingAnswered answered;
    const grpc::Status status = fixture.compiler().AnswerTiming(&other, answer(event.timing()), &answered);
    if (told != nullptr) told->push_back(status.error_code());
  }
  tuned.status = stream->Finish();
  return tuned;
}

v1::TimingAnswer timed(const v1::TimingTask& task, double baseline, double candidate) {
  v1::TimingAnswer answer;
  answer.set_id(task.id());
  for (std::uint32_t round = 0; round < task.spec().rounds(); ++round) {
    answer.mutable_timing()->add_baseline_ns(baseline);
    answer.mutable_timing()->add_candidate_ns(candidate);
  }
  return answer;
}

}  // namespace

TEST_CASE("tune: of a device that no worker has, the caller times the candidates, and what it finds is kept") {
  DaemonFixture fixture;
  const auto of_amount = [](const v1::Candidate& candidate) { return candidate.opts(0).amount(); };
  std::vector<grpc::StatusCode> told;
  const Tuned tuned = tune_by_caller(
      fixture,
      [&](const v1::TimingTask& task) {
        REQUIRE(task.spec().candidate().launches_size() > 0);
        CHECK_FALSE(task.spec().candidate().launches(0).artifact().empty());
        return timed(task, 500, of_amount(task.spec().candidate()) == 3 ? 250 : 600);
      },
      &told);
  INFO(tuned.status.error_message());
  REQUIRE(tuned.status.ok());
  REQUIRE(tuned.result.kernels_size() == 1);
  CHECK(tuned.result.kernels(0).outcome() == v1::TunedKernel::TUNED);
  CHECK(tuned.result.kernels(0).best(0).amount() == 3);
  CHECK((tuned.result.kernels(0).heuristic_ns() == 500 && tuned.result.kernels(0).best_ns() == 250));
  CHECK(std::all_of(told.begin(), told.end(), [](grpc::StatusCode code) { return code == grpc::StatusCode::OK; }));
  // Of another device nothing was found.
  grpc::ClientContext context;
  CHECK(tune(fixture.compiler(), tune_request({"kernel:a"}), context).result.kernels(0).outcome() !=
        v1::TunedKernel::KNOWN);
}

TEST_CASE("tune: times that are none, and errors, lose a candidate; an answer that nobody waits for is refused") {
  DaemonFixture fixture;
  for (const double wrong :
       {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    INFO(wrong);
    const Tuned tuned = tune_by_caller(fixture, [&](const v1::TimingTask& task) { return timed(task, 500, wrong); });
    REQUIRE(tuned.status.ok());
    CHECK(tuned.result.kernels(0).outcome() != v1::TunedKernel::TUNED);
  }
  std::vector<grpc::StatusCode> told;
  int asked = 0;
  const Tuned tuned = tune_by_caller(
      fixture,
      [&](const v1::TimingTask& task) {
        v1::TimingAnswer stranger = timed(task, 500, 1);
        stranger.set_id(std::string(16, 'x'));
        grpc::ClientContext context;
        v1::TimingAnswered answered;
        CHECK(fixture.compiler().AnswerTiming(&context, stranger, &answered).error_code() ==
              grpc::StatusCode::NOT_FOUND);
        v1::TimingAnswer answer;
        answer.set_id(task.id());
        answer.set_error("the device is gone " + std::to_string(++asked));
        return answer;
      },
      &told);
  REQUIRE(tuned.status.ok());
  CHECK(asked > 0);
  v1::TimingAnswer late;
  late.set_id(std::string(16, 'y'));
  grpc::ClientContext context;
  v1::TimingAnswered answered;
  CHECK(fixture.compiler().AnswerTiming(&context, late, &answered).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("tune: a caller that leaves instead of timing a candidate ends its run") {
  DaemonFixture fixture;
  v1::TuneRequest request = tune_request({"kernel:a"});
  request.mutable_target()->set_device("vulkan");
  request.mutable_target()->mutable_gpu()->set_subgroup_size(8);
  request.set_caller_times(true);
  grpc::ClientContext context;
  auto stream = fixture.compiler().Tune(&context, request);
  v1::TuneEvent event;
  while (stream->Read(&event) && !event.has_timing()) {
  }
  REQUIRE(event.has_timing());
  context.TryCancel();
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == grpc::StatusCode::CANCELLED);
  grpc::ClientContext next;
  CHECK(tune(fixture.compiler(), tune_request({"kernel:a"}), next).status.ok());  // the next in line is served
}

}  // namespace hearth::daemon
