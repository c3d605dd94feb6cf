// A server with a race in its code, at will: hearth-planted-races KIND. The code stands where the daemon's stands:
// in handlers and reactors that gRPC calls on its threads.
//   counter     two handlers count without a lock
//   started     what the starting thread writes after the server's start is read by a handler
//   done        a call's end (its OnDone) and a thread of the daemon's own write one variable
//   written     likewise its OnWriteDone
//   none        the same with locks, and a reactor that needs none since gRPC orders its own reactions
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/serve/event_stream.h"
#include "hearth/v1/admin_service.grpc.pb.h"
#include "hearth/v1/compiler_service.grpc.pb.h"

namespace hearth {
namespace {

constexpr int kThreads = 4, kCalls = 50;

// What calls share. `lock()` locks unless this kind of race is planted.
struct Shared {
  std::string kind;
  std::mutex mutex;
  long counter = 0, started = 0, done = 0, written = 0;
  daemon::Activity activity;
  daemon::Executor executor{1};
  daemon::ConnectedClients clients;
  daemon::MemoryBudget answers{{.total_bytes = 1 << 20, .of_client_bytes = 1 << 20}, &executor};
  std::vector<std::thread> pool;

  daemon::CallServices services() { return {.activity = &activity, .clients = &clients, .answers = &answers}; }

  std::unique_lock<std::mutex> lock(const char* race) {
    std::unique_lock guard(mutex, std::defer_lock);
    if (kind != race) guard.lock();
    return guard;
  }
};

class Counting : public grpc::ServerUnaryReactor {
 public:
  explicit Counting(Shared* shared) {
    {
      auto guard = shared->lock("counter");
      ++shared->counter;
    }
    {
      auto guard = shared->lock("started");
      seen_ = shared->started;
    }
    Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  long seen_ = 0;
};

class Admin final : public v1::AdminService::CallbackService {
 public:
  explicit Admin(Shared* shared) : shared_(shared) {}
  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext*, const v1::StatsRequest*, v1::StatsResponse*) override {
    return new Counting(shared_);
  }

 private:
  Shared* const shared_;
};

// Answered by a thread of our own, as the daemon's calls are; its end is told to `shared`.
class Streaming final : public daemon::EventStream<v1::TuneEvent> {
 public:
  Streaming(Shared* shared, grpc::CallbackServerContext* context) : EventStream(shared->services(), context) {
    shared_ = shared;
    auto answer = callback(&Streaming::answer);
    std::lock_guard lock(shared->mutex);
    shared->pool.emplace_back([shared, answer] {
      answer();
      auto guard = shared->lock("done");
      ++shared->done;
    });
  }
  ~Streaming() override {
    auto guard = shared_->lock("done");
    ++shared_->done;
  }

 private:
  void answer() {
    v1::TuneEvent event;
    event.mutable_result();
    finish(event);
  }
  Shared* shared_ = nullptr;
};

// Members without a lock: gRPC starts a reaction after the operation that it reacts to.
class Chunks final : public grpc::ServerWriteReactor<v1::FetchArtifactChunk> {
 public:
  explicit Chunks(Shared* shared) : shared_(shared) {
    std::lock_guard lock(shared->mutex);
    shared->pool.emplace_back([shared] {
      auto guard = shared->lock("written");
      ++shared->written;
    });
    next();
  }
  void OnWriteDone(bool) override {
    {
      auto guard = shared_->lock("written");
      ++shared_->written;
    }
    next();
  }
  void OnDone() override {
    if (sent_ == 0) std::abort();
    delete this;
  }

 private:
  void next() {
    if (sent_ == 3) return Finish(grpc::Status::OK);
    chunk_.set_data(std::string(100, static_cast<char>('a' + sent_)));
    ++sent_;
    StartWrite(&chunk_);
  }
  Shared* const shared_;
  v1::FetchArtifactChunk chunk_;
  int sent_ = 0;
};

using CompilerService = v1::CompilerService::WithRawCallbackMethod_Tune<
    v1::CompilerService::WithCallbackMethod_FetchArtifact<v1::CompilerService::Service>>;

class Compiler final : public CompilerService {
 public:
  explicit Compiler(Shared* shared) : shared_(shared) {}
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Tune(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer*) override {
    return new Streaming(shared_, context);
  }
  grpc::ServerWriteReactor<v1::FetchArtifactChunk>* FetchArtifact(grpc::CallbackServerContext*,
                                                                  const v1::FetchArtifactRequest*) override {
    return new Chunks(shared_);
  }

 private:
  Shared* const shared_;
};

void call(const std::string& address) {
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  v1::AdminService::Stub admin(channel);
  v1::CompilerService::Stub compiler(channel);
  for (int i = 0; i < kCalls; ++i) {
    grpc::ClientContext stats, tune, fetch;
    v1::StatsResponse response;
    v1::TuneEvent event;
    v1::FetchArtifactChunk chunk;
    bool fine = admin.Stats(&stats, {}, &response).ok();
    auto events = compiler.Tune(&tune, {});
    while (events->Read(&event)) {
    }
    auto chunks = compiler.FetchArtifact(&fetch, {});
    while (chunks->Read(&chunk)) {
    }
    fine = events->Finish().ok() && chunks->Finish().ok() && fine;
    if (!fine) std::abort();
  }
}

void run(const std::string& kind) {
  const std::string address = "unix-abstract:hearth-planted-races-" + std::to_string(getpid());
  Shared shared;
  shared.kind = kind;
  Admin admin(&shared);
  Compiler compiler(&shared);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&admin);
  builder.RegisterService(&compiler);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) std::abort();
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) clients.emplace_back(call, address);
  for (int i = 0; i < kCalls; ++i) {
    auto guard = shared.lock("started");
    ++shared.started;
    guard = {};
    std::this_thread::yield();
  }
  for (std::thread& client : clients) client.join();
  shared.activity.wait_until_idle(std::chrono::minutes(1));
  server->Shutdown();
  server->Wait();
  for (std::thread& thread : shared.pool) thread.join();
  std::printf("%ld calls\n", shared.counter);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  hearth::run(argv[1]);
  return 0;
}
