// Processes of one model hold its weights once: the second packs nothing, nobody can write to them, and none of it
// depends on the daemon or on the process that made them.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "client/connection/daemon_weights.h"
#include "hearth/onnx.h"
#include "hearth/ops.h"
#include "hearth/plan_file.h"
#include "runtime/weights/weight_block.h"
#include "tests/integration/live_daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::integration;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kWidth = 1024;  // a product of this size has 4 MiB of weights, packed or not

// y = relu(x @ w0) @ w1
std::string model_bytes(int seed) {
  hearth::onnx::ModelBuilder m(17);
  m.input("x", {4, kWidth});
  for (const char* name : {"w0", "w1"}) {
    std::vector<float> values(static_cast<std::size_t>(kWidth * kWidth));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((i * 31 + static_cast<std::size_t>(seed)) % 997) / 997 - 0.5F;
    }
    m.floats(name, {kWidth, kWidth}, {});
    auto* tensor = m.proto().mutable_graph()->mutable_initializer()->rbegin()->mutable_raw_data();
    tensor->assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  m.node("MatMul", {"x", "w0"}, {"h"}).node("Relu", {"h"}, {"r"}).node("MatMul", {"r", "w1"}, {"y"}).output("y");
  return m.proto().SerializeAsString();
}

// hearth-weights-process, which lives until end().
class User {
 public:
  User(Place& place, const std::vector<std::string>& words) {
    int in[2], out[2];
    REQUIRE((::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0));
    const std::string program = (bin_dir() / "hearth-weights-process").string();
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    std::vector<std::string> variables = {"HEARTH_SOCKET=" + place.socket(), "HEARTH_NO_AUTOSTART=1"};
    for (const auto& [name, value] : place.environment()) variables.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execve(program.c_str(), argv.data(), environment.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = UniqueFd(in[1]);
    std::string line;
    for (char byte = 0; ::read(out[0], &byte, 1) == 1 && byte != '\n';) line += byte;
    ::close(out[0]);
    INFO("it failed before it was ready");
    REQUIRE(!line.empty());
    said = Json::parse(line);
  }
  ~User() {
    in_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  // Of the mapping of a file with this name: address, and bytes of `kind` in smaps.
  std::pair<std::uintptr_t, std::size_t> mapped(const std::string& name, const std::string& kind) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/smaps");
    std::uintptr_t address = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.find(name) != std::string::npos) address = std::stoull(line, nullptr, 16);
      if (address != 0 && line.rfind(kind + ":", 0) == 0)
        return {address, std::stoull(line.substr(kind.size() + 1)) << 10};
    }
    return {0, 0};
  }
  std::pair<std::uintptr_t, std::size_t> weights(const std::string& kind) const {
    return mapped("/memfd:hearth-weights", kind);
  }

  // Of memory that a stand-in of a GPU's driver gives to others.
  std::size_t stand_in_bytes() const { return mapped("/memfd:memory of a GPU", "Size").second; }

  Json said;

 private:
  pid_t pid_ = -1;
  UniqueFd in_;
};

}  // namespace

TEST_CASE("the second process of a model packs no weight, maps those of the first and computes the same") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1));
  const User first(place, {model}), second(place, {model}), third(place, {model});
  CHECK(first.said["once_launches"].get<int>() > 0);
  CHECK_FALSE(first.said["weights_found"].get<bool>());
  const auto block_bytes = first.said["shared_weight_bytes"].get<std::size_t>();
  CHECK(block_bytes >= static_cast<std::size_t>(2 * kWidth * kWidth) * sizeof(float));
  for (const User* user : {&second, &third}) {
    CHECK(user->said["weights_found"].get<bool>());
    CHECK(user->said["once_launches"] == 0);
    CHECK(user->said["shared_weight_bytes"] == block_bytes);
    CHECK(user->said["outputs"] == first.said["outputs"]);
  }
  // Each has all of it resident, and a third of it is its share.
  for (const User* user : {&first, &second, &third}) {
    const std::size_t resident = user->weights("Rss").second, share = user->weights("Pss").second;
    CHECK(resident >= block_bytes * 9 / 10);
    CHECK(share <= resident / 3 + 8192);
    const auto [model_address, model_resident] = user->mapped("/m.onnx", "Rss");  // what was packed is let go
    CHECK((model_address != 0 && model_resident < block_bytes / 8));
  }
  const User other(place, {place.write("other.onnx", model_bytes(2))});
  CHECK_FALSE(other.said["weights_found"].get<bool>());
  CHECK(other.said["outputs"] != first.said["outputs"]);
  const Json stats = place.stats();
  CHECK(stats["weight_blocks"] == 2);
  CHECK(stats["weight_bytes"].get<std::size_t>() == 2 * block_bytes);
  CHECK(stats["weight_users"] == 4);
  CHECK(stats["weights_found"] == 2);
}

// On the GPU of HEARTH_TEST_DEVICE, or its driver's stand-in.
TEST_CASE("processes of one model on a GPU have its weights there once, as long as one of them lives", "[device]") {
  if (std::getenv("HEARTH_TEST_DEVICE") == nullptr) SKIP_CASE("HEARTH_TEST_DEVICE names no GPU");
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1));
  auto first = std::make_unique<User>(place, std::vector{model});
  const auto second = std::make_unique<User>(place, std::vector{model});
  CHECK_FALSE(first->said["weights_found"].get<bool>());
  const auto block_bytes = first->said["shared_weight_bytes"].get<std::size_t>();
  CHECK(block_bytes >= static_cast<std::size_t>(2 * kWidth * kWidth) * sizeof(float));
  CHECK(second->said["weights_found"].get<bool>());
  CHECK(second->said["once_launches"] == 0);
  CHECK(second->said["outputs"] == first->said["outputs"]);
  CHECK(place.stats()["weight_blocks"] == 1);
  CHECK(place.stats()["weight_bytes"] == first->stand_in_bytes());  // none of the host's, but the stand-in's file
  CHECK(second->stand_in_bytes() >= block_bytes);
  const std::string outputs = first->said["outputs"];
  ::kill(first->pid(), SIGKILL);
  first.reset();
  {
    const User third(place, {model});
    CHECK(third.said["weights_found"].get<bool>());
    CHECK(third.said["outputs"] == outputs);
    const User other(place, {place.write("other.onnx", model_bytes(2))});
    CHECK_FALSE(other.said["weights_found"].get<bool>());
    CHECK(other.said["outputs"] != outputs);
  }
  for (const pid_t pid : place.daemons()) ::kill(pid, SIGKILL);
  place.run_ok({"hearth", "daemon", "start"});
  {
    const User fourth(place, {model});
    CHECK_FALSE(fourth.said["weights_found"].get<bool>());
    CHECK(fourth.said["outputs"] == outputs);
    CHECK(place.stats()["weight_blocks"] == 1);
    CHECK(place.stats()["weight_users"] == 1);
  }
  // With its last user it is gone at once: other programs want the GPU's memory.
  CHECK(test::eventually([&] { return place.stats()["weight_blocks"] == 0; }));
}

TEST_CASE("a process that writes to its weights by force does not change those of another") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1));
  const User first(place, {model});
  const auto [address, resident] = first.weights("Rss");
  REQUIRE((address != 0 && resident > 0));
  // As a debugger would, from outside.
  const UniqueFd memory(::open(("/proc/" + std::to_string(first.pid()) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(memory);
  const std::string noise(4096, '\x7f');
  [[maybe_unused]] const ssize_t written =
      ::pwrite(memory.get(), noise.data(), noise.size(), static_cast<off_t>(address));
  const User second(place, {model});
  CHECK(second.said["weights_found"].get<bool>());
  CHECK(second.said["outputs"] == first.said["outputs"]);
}

TEST_CASE("weights are shared only where that is asked for, and the outputs do not say") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1));
  const User first(place, {model});
  place.environment()["HEARTH_SHARE_WEIGHTS"] = "0";
  const User alone(place, {model});
  CHECK(alone.said["shared_weight_bytes"] == 0);
  CHECK(alone.said["once_launches"] == first.said["once_launches"]);
  CHECK(alone.said["outputs"] == first.said["outputs"]);
}

TEST_CASE("weights outlive the daemon and the process that made them; a new daemon starts without any") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1));
  std::string outputs;
  {
    const User first(place, {model});
    outputs = first.said["outputs"];
  }
  const User second(place, {model});  // the first is gone
  CHECK(second.said["weights_found"].get<bool>());
  for (const pid_t pid : place.daemons()) ::kill(pid, SIGKILL);
  place.run_ok({"hearth", "daemon", "start"});
  CHECK(place.stats()["weight_blocks"] == 0);
  const User third(place, {model}), fourth(place, {model});
  CHECK_FALSE(third.said["weights_found"].get<bool>());
  CHECK(fourth.said["weights_found"].get<bool>());
  for (const User* user : {&second, &third, &fourth}) CHECK(user->said["outputs"] == outputs);
}

TEST_CASE("a daemon that is killed while weights are made costs neither the maker nor the one who waits") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const auto deadline = std::chrono::steady_clock::now() + test::give_up();
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const Digest key = sha256("weights");
  client::DaemonWeights maker(daemon.socket(), deadline), waiter(daemon.socket(), deadline);
  REQUIRE(maker.take(key, kBytes, runtime::WeightMemory::kHost).kind == runtime::WeightOffer::kMake);
  std::atomic<bool> is_answered{false};
  auto waiting = std::async(std::launch::async, [&] {
    const runtime::WeightOffer offer = waiter.take(key, kBytes, runtime::WeightMemory::kHost);
    is_answered = true;
    return offer.kind;
  });
  CHECK_FALSE(is_answered);  // in the middle of it or before: right either way
  for (const pid_t pid : place.daemons()) ::kill(pid, SIGKILL);
  CHECK(waiting.get() == runtime::WeightOffer::kAlone);
  auto block = runtime::WeightBlock::create_shareable(kBytes);
  REQUIRE((block.ok() && block->seal().ok()));
  CHECK_FALSE(maker.give(block->fd()).is_shared);
  CHECK(maker.hold() == nullptr);
}

TEST_CASE("a connection for files is kept for the next plan, and made anew when the daemon was") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const auto deadline = std::chrono::steady_clock::now() + test::give_up();
  const std::vector<std::string> nobodys{std::string(32, 'x')};
  client::ProcessSocket kept;
  const auto answers = [&] {  // over what is kept, or else a new connection
    client::DaemonWeights files(daemon.socket(), deadline, std::nullopt, std::move(kept));
    files.connect_early();
    CHECK(files.read_artifacts(nobodys).empty());
    kept = files.leave();
    return static_cast<bool>(kept);
  };
  const auto identity = [&] {
    struct stat info{};
    REQUIRE(::fstat(kept.get(), &info) == 0);
    return info.st_ino;
  };
  REQUIRE(answers());
  const ino_t first = identity();
  REQUIRE(answers());
  CHECK(identity() == first);
  for (const pid_t pid : place.daemons()) ::kill(pid, SIGKILL);
  place.run_ok({"hearth", "daemon", "start"});
  REQUIRE(answers());
  CHECK(identity() != first);
  client::DaemonWeights user(daemon.socket(), deadline, std::nullopt, std::move(kept));
  CHECK(user.take(sha256("weights"), 1 << 20, runtime::WeightMemory::kHost).kind == runtime::WeightOffer::kMake);
  CHECK_FALSE(user.leave());  // it stands for weights now
  CHECK(user.hold() != nullptr);
}

TEST_CASE("a daemon without its socket for weights, or that keeps none, serves plans whose weights are private") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string path = place.write("m.onnx", model_bytes(1));
  SECTION("no socket") { REQUIRE(::unlink(place.file("hearthd.share").c_str()) == 0); }
  SECTION("none are kept") {
    place.stop_daemon();
    place.environment()["HEARTH_MAX_WEIGHTS"] = "0";
    place.run_ok({"hearth", "daemon", "start"});
  }
  const auto model = hearth::onnx::import_model(path);
  REQUIRE(model.ok());
  for (int i = 0; i < 2; ++i) {
    const auto plan = client::prepare(model->outputs, daemon.config());
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    CHECK(plan->stats().shared_weight_bytes == 0);
    CHECK(plan->stats().once_launches > 0);
    CHECK(plan->instantiate()->execute().ok());
  }
}

TEST_CASE("a forked child replays on shared weights, and its end takes them from nobody") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const auto model = hearth::onnx::import_model(place.write("m.onnx", model_bytes(1)));
  REQUIRE(model.ok());
  const auto plan = client::prepare(model->outputs, daemon.config());
  REQUIRE(plan.ok());
  REQUIRE(plan->stats().shared_weight_bytes > 0);
  const auto outputs = [&]() -> std::string {
    auto instance = plan->instantiate();
    if (!instance.ok() || !instance->input("x")->fill(0.25F).ok() || !instance->execute().ok()) return "";
    const auto y = instance->output("y");
    return {static_cast<const char*>(y->data), y->size_bytes};
  };
  const std::string wanted = outputs();
  REQUIRE(!wanted.empty());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    ::_exit(outputs() == wanted ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(outputs() == wanted);
  CHECK(place.stats()["weight_users"] == 1);
}

TEST_CASE("a plan with shared weights is exported whole and runs without a daemon") {
  LiveDaemon daemon;
  Place& place = daemon.place();
  const std::string model = place.write("m.onnx", model_bytes(1)), file = place.file("m.hearth");
  const User first(place, {model}), second(place, {model, file});
  REQUIRE(second.said["weights_found"].get<bool>());
  place.stop_daemon();
  const auto plan = client::load_plan(file);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  CHECK(plan->stats().once_launches == first.said["once_launches"].get<std::uint32_t>());
  CHECK(plan->instantiate()->execute().ok());
}

TEST_CASE("parameters of the caller's own memory are left alone, shared or not") {
  const LiveDaemon daemon;
  constexpr std::int64_t kLarge = 2304;  // 20 MiB: enough to be hashed
  std::vector<float> weights(static_cast<std::size_t>(kLarge * kLarge));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 101) / 101;
  const std::vector<float> before = weights;
  const client::Tensor x = client::input("x", {4, kLarge}, DType::kF32);
  const auto prepare = [&] {
    return client::prepare(
        {{"y", client::matmul(x, client::parameter("w", {kLarge, kLarge}, DType::kF32, client::bytes_of(weights)))}},
        daemon.config());
  };
  const auto first = prepare(), second = prepare();
  REQUIRE((first.ok() && second.ok()));
  CHECK((first->stats().shared_weight_bytes > 0 && !first->stats().weights_found));
  CHECK(second->stats().weights_found);
  weights[5] += 1;
  const auto changed = prepare();
  REQUIRE(changed.ok());
  CHECK_FALSE(changed->stats().weights_found);
  weights[5] = before[5];
  CHECK(weights == before);
}
