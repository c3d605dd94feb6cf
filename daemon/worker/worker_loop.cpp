#include "daemon/worker/worker_loop.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "daemon/worker/mapped_files.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/trial_load.h"
#include "daemon/worker_pool/framing.h"
#include "proto/versions.h"
#include "runtime/build_id.h"

namespace hearth::daemon {
namespace {

constexpr char kUsage[] =
    "hearth-worker is started by hearthd. By hand it performs one request that was kept because it killed workers, in\n"
    "the sandbox that it had there:\n"
    "  hearth-worker --replay BUNDLE.worker_request [--read=PATH]...\n"
    "  --read=PATH   a file or folder that the request needs, such as the root of a blob library\n";

struct Arguments {
  int socket = -1;
  std::string replay;
  SandboxOptions sandbox;
  std::int64_t programs_ms = 0;
};

bool take(absl::string_view argument, absl::string_view name, absl::string_view* value) {
  if (argument.substr(0, name.size()) != name) return false;
  *value = argument.substr(name.size());
  return true;
}

bool parse(int argc, char** argv, Arguments* arguments) {
  SandboxOptions& sandbox = arguments->sandbox;
  const auto add = [](absl::string_view value, std::vector<std::string>* list) {
    list->emplace_back(value);
    return !value.empty() && value[0] == '/';
  };
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    absl::string_view value;
    bool ok = false;
    if (take(argument, "--socket-fd=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->socket);
    } else if (take(argument, "--parent=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.parent);
    } else if (take(argument, "--memory=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.memory_bytes);
    } else if (take(argument, "--output=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.output_bytes);
    } else if (take(argument, "--folder=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.folder_bytes);
    } else if (take(argument, "--tasks=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.tasks);
    } else if (take(argument, "--processor-s=", &value)) {
      ok = absl::SimpleAtoi(value, &sandbox.processor_s);
    } else if (take(argument, "--read=", &value)) {
      ok = add(value, &sandbox.reads);
    } else if (take(argument, "--tree=", &value)) {
      std::optional<ReadableTree> tree = from_argument({value.data(), value.size()});
      ok = tree.has_value();
      if (ok) sandbox.trees.push_back(*std::move(tree));
    } else if (take(argument, "--cover=", &value)) {
      ok = add(value, &sandbox.covers);
    } else if (take(argument, "--run=", &value)) {
      ok = add(value, &sandbox.runs);
    } else if (take(argument, "--without=", &value)) {
      ok = sandbox.without.insert(std::string(value)).second;
    } else if (take(argument, "--programs-ms=", &value)) {
      ok = absl::SimpleAtoi(value, &arguments->programs_ms) && arguments->programs_ms > 0;
      sandbox.programs = true;
    } else if (argument == "--replay" && i + 1 < argc) {
      arguments->replay = argv[++i];
      ok = true;
    }
    if (!ok) return false;
  }
  return arguments->socket >= 0 || !arguments->replay.empty();
}

ProgramLimits program_limits(const Arguments& arguments) {
  const SandboxOptions& sandbox = arguments.sandbox;
  ProgramLimits limits;
  limits.folder = sandbox.folder;
  if (arguments.programs_ms > 0) limits.wall_limit = std::chrono::milliseconds(arguments.programs_ms);
  if (sandbox.memory_bytes > 0) limits.memory_bytes = sandbox.memory_bytes;
  if (sandbox.output_bytes > 0) limits.output_bytes = sandbox.output_bytes;
  return limits;
}

constexpr std::uint64_t kReplayFolderBytes = 1ull << 30;  // as the daemon has it

// A folder of this replay's own, which its keeper removes.
absl::Status make_replay_folder(std::string* folder) {
  std::error_code ignored;
  *folder = (std::filesystem::temp_directory_path(ignored) / "hearth-replay-XXXXXX").string();
  if (::mkdtemp(folder->data()) == nullptr)
    return absl::InternalError(absl::StrCat("cannot create the folder '", *folder, "': ", std::strerror(errno)));
  ::setenv("TMPDIR", folder->c_str(), 1);
  return absl::OkStatus();
}

// Bundles are what killed workers: nothing of one is looked at before the sandbox is entered.
int replay(Arguments arguments, CompilerBackend& backend) {
  const int bundle = ::open(arguments.replay.c_str(), O_RDONLY | O_CLOEXEC);
  if (bundle < 0) {
    std::fprintf(stderr, "hearth-worker: cannot open the bundle '%s': %s\n", printable(arguments.replay).c_str(),
                 std::strerror(errno));
    return 2;
  }
  SandboxOptions& sandbox = arguments.sandbox;
  if (absl::Status made = make_replay_folder(&sandbox.folder); !made.ok()) {
    std::fprintf(stderr, "hearth-worker: %s\n", std::string(made.message()).c_str());
    return 1;
  }
  sandbox.remove_folder = true;
  sandbox.programs = backend.starts_programs();
  if (sandbox.folder_bytes == 0) sandbox.folder_bytes = kReplayFolderBytes;
  std::optional<v1::SandboxReport> report = enter_sandbox(sandbox);
  if (!report) return 1;
  // As the daemon does for its workers, but nobody looks at this one's.
  const bool in_memory = has_layer(*report, layer::kMountNamespace);
  add_layer(&*report, layer::kFolder, in_memory ? v1::SandboxLayer::ON : v1::SandboxLayer::OFF,
            in_memory ? "in memory" : "on disk, with no limit");
  if (const std::string missing = missing_layers(*report); !missing.empty())
    std::fprintf(stderr, "hearth-worker: the sandbox lacks %s\n", missing.c_str());
  v1::WorkerRequest request;
  if (!request.ParseFromFileDescriptor(bundle)) {
    std::fprintf(stderr, "hearth-worker: '%s' is not a repro bundle\n", printable(arguments.replay).c_str());
    return 2;
  }
  const v1::WorkerReply reply = perform(request, backend, program_limits(arguments));
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
    case v1::WorkerRequest::kAssemble:
      answer(backend.assemble(request.assemble(), limits), reply.mutable_assembled());
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
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments.replay.empty()) return replay(std::move(arguments), backend);
  if (const char* folder = std::getenv("TMPDIR")) arguments.sandbox.folder = folder;
  arguments.sandbox.socket = arguments.socket;
  const std::vector<std::string> mapped = mapped_files();  // by the paths that the daemon knows
  const std::optional<v1::SandboxReport> report = enter_sandbox(arguments.sandbox);
  if (!report) return 3;  // the daemon is gone
  // A program that had it would keep the daemon from noticing this worker's end.
  ::fcntl(arguments.socket, F_SETFD, FD_CLOEXEC);
  const ProgramLimits limits = program_limits(arguments);

  v1::WorkerReply hello;
  hello.mutable_hello()->set_version(kWorkerVersion);
  hello.mutable_hello()->set_build_id(std::string(build_id()));
  *hello.mutable_hello()->mutable_sandbox() = *report;
  hello.mutable_hello()->mutable_mapped_files()->Assign(mapped.begin(), mapped.end());
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
  return absl::IsOutOfRange(status) ? 0 : 1;
}

}  // namespace hearth::daemon
