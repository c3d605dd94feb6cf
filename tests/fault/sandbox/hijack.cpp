#include "tests/fault/sandbox/hijack.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>

#include "daemon/worker_pool/sandbox_layers.h"
#include "runtime/build_id.h"

namespace hearth::sandbox_test {
namespace {

using namespace std::chrono_literals;

bool is_namespace(const std::string& layer) { return layer.ends_with("_ns") && layer != daemon::layer::kUserNamespace; }

// What is to be left out so that only `on` is left. Only root makes namespaces without a user namespace.
std::set<std::string> all_but(std::set<std::string> on) {
  const std::set<std::string> wanted = on;
  for (const std::string& layer : wanted) {
    if (is_namespace(layer) && ::geteuid() != 0) on.insert(daemon::layer::kUserNamespace);
  }
  std::set<std::string> without;
  for (const char* layer : daemon::kWorkerLayers) {
    if (!on.contains(layer)) without.insert(layer);
  }
  return without;
}

bool has(const v1::SandboxReport& report, const std::set<std::string>& wanted) {
  std::size_t count = 0;
  for (const v1::SandboxLayer& layer : report.layers()) {
    if (wanted.contains(layer.name()) && layer.state() != v1::SandboxLayer::OFF) ++count;
  }
  return count == wanted.size();
}

}  // namespace

daemon::WorkerCommand hijacked_command(const std::string& folder, const Conditions& conditions) {
  daemon::WorkerCommand command;
  command.path = daemon::program("hearth-hijacked-worker");
  command.temp_folder = folder;
  command.build_id = std::string(build_id());
  command.sandbox = std::make_shared<daemon::SandboxStatus>(daemon::SandboxSetting::kBestEffort, "hijacked workers");
  if (conditions.programs) command.program_limit = 60s;
  if (conditions.on) command.without = all_but(*conditions.on);
  return command;
}

v1::WorkerRequest hijacked_request(const std::string& name, const std::string& targets) {
  v1::WorkerRequest request;
  request.set_id(1);
  request.mutable_compile()->set_symbol(name);
  request.mutable_compile()->set_ast(targets);
  return request;
}

void Hijack::prepare() {
  if (!victim_) victim_ = std::make_unique<Victim>();
  if (worker_) return;
  const daemon::WorkerCommand command = hijacked_command(folder_.path(), conditions_);
  auto worker = daemon::WorkerProcess::spawn(command, -1);
  if (!worker.ok()) throw std::runtime_error(std::string(worker.status().message()));
  worker_ = *std::move(worker);
  report_ = command.sandbox->last();
}

bool Hijack::has_layers() {
  prepare();
  return !conditions_.on || has(report_, *conditions_.on);
}

Outcome Hijack::attempt(const std::string& name, bool changes) {
  prepare();
  const std::string before = victim_->state();
  const daemon::Exchange exchange = worker_->exchange(hijacked_request(name, victim_->targets().text()), -1);
  const bool is_alive = exchange.end == daemon::WorkerEnd::kReply;
  Outcome outcome;
  outcome.went = is_alive ? exchange.reply.compiled().artifact().data() : exchange.detail;
  // A program that took the worker's place ends with this.
  outcome.says_done = outcome.went.starts_with("done") || outcome.went == "exited with code 42";
  // Where harm is expected it may take its time; where the worker only believes it did some, a few looks are enough.
  const bool is_unprotected = conditions_.on && conditions_.on->empty();
  std::string after = victim_->state();
  if (outcome.says_done && changes && is_unprotected) after = victim_->state_unlike(before);
  for (int look = 0; look < 100 && outcome.says_done && changes && after == before; ++look) after = victim_->state();
  outcome.changed = after != before;
  if (!is_alive || is_unprotected) worker_.reset();
  if (outcome.changed) victim_.reset();
  return outcome;
}

int landlock_abi() {
  constexpr unsigned kAskVersion = 1;
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

}  // namespace hearth::sandbox_test
