#include "tests/unit/client/fake_service.h"

#include <grpcpp/grpcpp.h>

#include <thread>

#include "hearth/v1/admin_service.grpc.pb.h"
#include "hearth/v1/compiler_service.grpc.pb.h"

namespace hearth::testing {

namespace {

struct FakeAdmin final : v1::AdminService::Service {
  grpc::Status Stats(grpc::ServerContext*, const v1::StatsRequest*, v1::StatsResponse*) override {
    return grpc::Status::OK;
  }
};

}  // namespace

struct FakeService::State final : v1::CompilerService::Service {
  SaxpyPlan plan;
  Behaviour behaviour;
  FakeAdmin admin;
  std::unique_ptr<grpc::Server> server;

  grpc::Status Prepare(grpc::ServerContext* context, const v1::PrepareRequest* request,
                       grpc::ServerWriter<v1::PrepareEvent>* writer) override {
    ++behaviour.prepares;
    behaviour.last_session = request->session_id();
    if (behaviour.unavailable.fetch_sub(1) > 0) return {grpc::StatusCode::UNAVAILABLE, "going away"};
    behaviour.unavailable = 0;
    using Point = FakeService::Behaviour::Point;
    const bool is_cancelled = behaviour.cancelled.fetch_sub(1) > 0;
    if (!is_cancelled) behaviour.cancelled = 0;
    const grpc::Status cancelled(grpc::StatusCode::CANCELLED, "CANCELLED");
    if (is_cancelled && behaviour.cancelled_at == Point::kBeforeEvents) return cancelled;
    if (behaviour.out_of_time) {
      std::this_thread::sleep_until(context->deadline() - std::chrono::milliseconds(5));
      return {grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"};
    }
    v1::PrepareEvent event;
    if (request->want_progress()) {
      event.mutable_progress()->set_state(v1::PrepareProgress::COMPILING);
      event.mutable_progress()->set_kernels_total(3);
      writer->Write(event);
    }
    if (is_cancelled && behaviour.cancelled_at == Point::kAfterProgress) return cancelled;
    v1::PrepareResult* result = event.mutable_result();
    result->set_plan_key(std::string(behaviour.padding > 0 ? behaviour.padding.load() : 32, 'k'));
    result->set_plan(plan.plan.SerializeAsString());
    result->set_compiled_kernels(3);
    result->set_lease_id(7);
    for (const runtime::ArtifactSource& artifact : plan.artifacts) {
      v1::ArtifactRef* ref = result->add_artifacts();
      ref->set_digest(artifact.digest);
      ref->set_size(artifact.bytes.size());
      if (behaviour.send_paths) ref->set_path(behaviour.damage_paths ? artifact.path + ".gone" : artifact.path);
    }
    writer->Write(event);
    if (is_cancelled) return cancelled;
    return grpc::Status::OK;
  }

  grpc::Status FetchArtifact(grpc::ServerContext*, const v1::FetchArtifactRequest* request,
                             grpc::ServerWriter<v1::FetchArtifactChunk>* writer) override {
    ++behaviour.fetches;
    for (const runtime::ArtifactSource& artifact : plan.artifacts) {
      if (behaviour.lose_bytes || artifact.digest != request->digest()) continue;
      for (std::size_t at = 0; at < artifact.bytes.size(); at += 1000) {
        v1::FetchArtifactChunk chunk;
        chunk.set_data(artifact.bytes.substr(at, 1000));
        writer->Write(chunk);
      }
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "no such artifact"};
  }

  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::SessionResponse, v1::SessionRequest>* stream) override {
    v1::SessionRequest request;
    if (!stream->Read(&request)) return grpc::Status::OK;
    v1::SessionResponse response;
    response.set_session_id(static_cast<std::uint64_t>(++behaviour.sessions) + 40);
    stream->Write(response);
    while (stream->Read(&request)) behaviour.released += request.release_lease_ids_size();
    return grpc::Status::OK;
  }
};

FakeService::FakeService(const std::string& socket, SaxpyPlan plan) : state_(std::make_unique<State>()) {
  state_->plan = std::move(plan);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(state_.get());
  builder.RegisterService(&state_->admin);
  state_->server = builder.BuildAndStart();
}

FakeService::~FakeService() { state_->server->Shutdown(std::chrono::system_clock::now()); }

FakeService::Behaviour& FakeService::behaviour() { return state_->behaviour; }

}  // namespace hearth::testing
