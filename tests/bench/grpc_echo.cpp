#include "tests/bench/grpc_echo.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace hearth::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Answers every method with what it was sent.
class Echo : public grpc::CallbackGenericService {
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor() { StartRead(&buffer_); }
    void OnReadDone(bool ok) override {
      if (ok) {
        StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
      } else {
        Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no message"));
      }
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer buffer_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override { return new Reactor; }
};

[[noreturn]] void serve(const std::string& socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server) server->Wait();
  ::_exit(1);
}

struct Child {
  pid_t pid;
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

}  // namespace

std::vector<double> measure_echo(const std::string& socket, std::size_t bytes, int count) {
  const Child server{::fork()};
  if (server.pid < 0) throw std::runtime_error("echo: cannot fork");
  if (server.pid == 0) serve(socket);
  const auto channel = grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) {
    throw std::runtime_error("echo: no connection to " + socket);
  }
  const std::string payload(bytes, 'x');
  const grpc::Slice slice(payload);
  const grpc::ByteBuffer request(&slice, 1);
  const grpc::internal::RpcMethod method("/hearth.bench.Echo/Call", grpc::internal::RpcMethod::NORMAL_RPC);
  std::vector<double> times_us;
  for (int i = -count; i < count; ++i) {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    const auto start = Clock::now();
    const grpc::Status status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        channel.get(), method, &context, request, &reply);
    const double time_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!status.ok()) throw std::runtime_error("echo: " + status.error_message());
    if (reply.Length() != bytes) throw std::runtime_error("echo: another length came back");
    if (i >= 0) times_us.push_back(time_us);
  }
  return times_us;
}

}  // namespace hearth::bench
