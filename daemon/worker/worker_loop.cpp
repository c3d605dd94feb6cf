#include "daemon/worker/worker_loop.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "daemon/framing.h"
#include "daemon/worker/guardian.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/trial_load.h"
#include "daemon/worker_usage.h"
#include "proto/versions.h"
#include "runtime/build_id.h"
#include "runtime/printable.h"

namespace hearth::daemon {
namespace {

struct Arguments {
  int socket = -1;
  std::string replay;
  SandboxLimits limits;
  std::int64_t programs_ms = 0;
};

bool take(absl::string_view argument, absl::string_view name, absl::string_view* value) {
  if (argument.substr(0, name.size()) != name) return false;
  *value = argument.substr(name.size());
  return true;
}

bool parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    absl::string_view value;
    bool ok = false;
    if (take(argument, "--socket-fd=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->socket);
    } else if (take(argument, "--parent=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->limits.parent);
    } else if (take(argument, "--memory=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->limits.memory_bytes);
    } else if (take(argument, "--output=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->limits.output_bytes);
    } else if (take(argument, "--programs-ms=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->programs_ms) && arguments->programs_ms > 0;
      arguments->limits.programs = true;
    } else if (argument == "--replay" && i + 1 < argc) {
      arguments->replay = argv[++i];
      ok = true;
    }
    if (!ok) return false;
  }
  return arguments->socket >= 0 || !arguments->replay.empty();
}

int replay(const std::string& path, CompilerBackend& backend) {
  std::ifstream file(path, std::ios::binary);
  v1::WorkerRequest request;
  if (!file || !request.ParseFromIstream(&file)) {
    std::fprintf(stderr, "hearth-worker: '%s' is not a repro bundle\n", printable(path).c_str());
    return 2;
  }
  ProgramLimits limits;
  std::error_code ignored;
  limits.folder = std::filesystem::temp_directory_path(ignored).string();
  const v1::WorkerReply reply = perform(request, backend, limits);
  if (reply.has_error()) {
    std::fprintf(stderr, "hearth-worker: %s\n", printable(reply.error().message()).c_str());
    return 1;
  }
  std::printf("%s\n", reply.has_lowered() ? "lowered" : reply.has_timing() ? "timed" : "compiled");
  return 0;
}

absl::StatusOr<v1::CompiledKernel> compile(const v1::WorkerRequest& request, CompilerBackend& backend) {
  absl::StatusOr<v1::CompiledKernel> kernel =
      backend.compile_kernel(request.compile(), request.target(), request.options());
  if (!kernel.ok() || !is_loadable_here(request.target(), kernel->artifact())) return kernel;
  if (absl::Status status = trial_load(kernel->artifact().data(), request.compile().symbol()); !status.ok()) {
    return status;
  }
  return kernel;
}

void set_error(const absl::Status& status, v1::WorkerReply* reply) {
  reply->mutable_error()->set_code(static_cast<int>(status.code()));
  reply->mutable_error()->set_message(std::string(status.message()));
}

v1::WorkerReply perform_or_throw(const v1::WorkerRequest& request, CompilerBackend& backend,
                                 const ProgramLimits& limits) {
  v1::WorkerReply reply;
  reply.set_id(request.id());
  auto answer = [&](auto result, auto* place) {
    result.ok() ? place->Swap(&*result) : set_error(result.status(), &reply);
  };
  switch (request.work_case()) {
    case v1::WorkerRequest::kLower:
      answer(backend.lower(request), reply.mutable_lowered());
      break;
    case v1::WorkerRequest::kCompile:
      answer(compile(request, backend), reply.mutable_compiled());
      break;
    case v1::WorkerRequest::kCandidate:
      answer(backend.candidate(request.candidate(), request.target(), request.options()), reply.mutable_candidate());
      break;
    case v1::WorkerRequest::kNeighbours:
      answer(backend.neighbours(request.neighbours(), request.target()), reply.mutable_neighbours());
      break;
    case v1::WorkerRequest::kTime:
      answer(backend.time(request.time(), request.target()), reply.mutable_timing());
      break;
    case v1::WorkerRequest::kBlob:
      answer(backend.compile_blob(request.blob(), limits), reply.mutable_blob());
      break;
    case v1::WorkerRequest::kToolchain:
      answer(backend.find_toolchain(request.toolchain(), limits), reply.mutable_toolchain());
      break;
    case v1::WorkerRequest::WORK_NOT_SET:
      set_error(absl::InvalidArgumentError("the request holds no work"), &reply);
      break;
  }
  return reply;
}

}  // namespace

v1::WorkerReply perform(const v1::WorkerRequest& request, CompilerBackend& backend, const ProgramLimits& limits) {
  v1::WorkerReply reply;
  reply.set_id(request.id());
  try {
    return perform_or_throw(request, backend, limits);
  } catch (const std::bad_alloc&) {
    set_error(absl::ResourceExhaustedError("the compiler ran out of memory"), &reply);
  } catch (const std::exception& error) {
    set_error(absl::InternalError(absl::StrCat("the compiler failed: ", error.what())), &reply);
  }
  return reply;
}

int worker_main(int argc, char** argv, CompilerBackend& backend) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "hearth-worker is started by hearthd; by hand: hearth-worker --replay BUNDLE.worker_request\n");
    return 2;
  }
  if (!arguments.replay.empty()) return replay(arguments.replay, backend);
  if (!enter_sandbox(arguments.limits)) return 3;  // the daemon is gone
  // A program that had it would keep the daemon from noticing this worker's end.
  ::fcntl(arguments.socket, F_SETFD, FD_CLOEXEC);
  if (arguments.limits.programs) start_guardian(arguments.socket);
  const char* folder = std::getenv("TMPDIR");
  ProgramLimits limits;
  limits.folder = folder != nullptr ? folder : "/tmp";
  limits.wall_limit = std::chrono::milliseconds(arguments.programs_ms);
  if (arguments.limits.memory_bytes > 0) limits.memory_bytes = arguments.limits.memory_bytes;
  if (arguments.limits.output_bytes > 0) limits.output_bytes = arguments.limits.output_bytes;

  v1::WorkerReply hello;
  hello.mutable_hello()->set_version(kWorkerVersion);
  hello.mutable_hello()->set_build_id(std::string(build_id()));
  absl::Status status = write_frame(arguments.socket, hello, wait_for_ever);
  while (status.ok()) {
    v1::WorkerRequest request;
    status = read_frame(arguments.socket, request, kMaxFrameBytes, wait_for_ever);
    if (!status.ok()) break;
    v1::WorkerReply reply = perform(request, backend, limits);
    status = write_frame(arguments.socket, reply, wait_for_ever);
    if (absl::IsResourceExhausted(status)) {
      set_error(absl::ResourceExhaustedError(absl::StrCat("the result is too large: ", status.message())), &reply);
      status = write_frame(arguments.socket, reply, wait_for_ever);
    }
  }
  // As the guardian does, who may be in the middle of it: this thread's return would end the guardian too.
  if (arguments.limits.programs) kill_descendants(::getpid());
  return absl::IsOutOfRange(status) ? 0 : 1;
}

}  // namespace hearth::daemon
