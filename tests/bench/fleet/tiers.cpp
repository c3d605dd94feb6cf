// fleet_tiers ADDRESS KEYFILE PUBLICKEY (tiers.py runs it): fifty tiers of one process, each with a compiler that sleeps 0.3 s a kernel, want
// the same 18 kernels at once beside one server, in orders of their own, two under way at a time. Prints as JSON how many
// tiers have them all, how often a kernel was compiled at most and on average, and the seconds until the last was ready.
#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/ed25519_text.h"
#include "daemon/async/executor.h"
#include "daemon/remote/remote_entries.h"
#include "daemon/remote/remote_race.h"
#include "tests/support/eventually.h"

namespace hearth::daemon {
namespace {

constexpr int kTiers = 50, kKernels = 18, kAtOnce = 2;
constexpr std::chrono::milliseconds kCompile{300};

std::array<std::atomic<int>, kKernels> compiles{};  // of all tiers, by kernel

cache::KeyMaterial material_of(int kernel) {
  cache::KeyMaterial material("hearth.fleet_tiers.v1");
  material.add("kernel", absl::StrCat(kernel));
  return material;
}

// As a PlanBuild and its kernels' builds do: ask, lease, compile, send.
class Tier {
 public:
  Tier(const RemoteSettings& settings, CompilerFlavour* flavour)
      : remote_(settings, Clock::machine()), entries_(&remote_, flavour, "build"), compiler_(1), steps_(2) {
    for (int i = 0; i < kKernels; ++i) not_begun_.push_back(i);
    std::ranges::shuffle(not_begun_, std::mt19937(std::random_device{}()));
    remote_.begin();
  }
  ~Tier() {
    remote_.drain(std::chrono::seconds(60));
    remote_.end();
    compiler_.stop();
    steps_.stop();
  }

  bool is_asked() const { return remote_.is_asked(); }
  void begin() {
    steps_.post([this] { begin_some(); });
  }
  void wait() { all_ready_.get_future().wait(); }

 private:
  void begin_some() {
    std::vector<int> next;
    {
      const std::lock_guard lock(mutex_);
      const auto under_way = [&] { return begun_.size() - ready_.size() - waiting_.size(); };
      while (!not_begun_.empty() && under_way() < kAtOnce) {
        next.push_back(not_begun_.back());
        begun_.insert(next.back());
        not_begun_.pop_back();
      }
    }
    for (const int kernel : next) ask(kernel);
  }

  void ask(int kernel) {
    auto race = std::make_shared<RemoteRace>(RemoteRace::Runner{
        .ask =
            [this, kernel](const std::function<void(RemoteOutcome)>& ended) {
              return entries_.find(material_of(kernel), "kernel", 1 << 20, [this, kernel, ended](RemoteAnswer answer) {
                ended(answer.outcome);
                if (answer.outcome == RemoteOutcome::kHit) ready(kernel);
              });
            },
        .work =
            [this, kernel](RemoteRace::Reason reason) {
              reason == RemoteRace::Reason::kMissing ? lease(kernel)
                                                     : compile(kernel, reason == RemoteRace::Reason::kUnusable);
            },
        .post = [this](std::function<void()> task) { steps_.post(std::move(task)); }});
    race->begin(remote_.head_start());
    const std::lock_guard lock(mutex_);
    races_.push_back(std::move(race));
  }

  void lease(int kernel) {
    entries_.lease(material_of(kernel), "kernel",
                   {.look_up =
                        [this, kernel](const std::function<void(bool)>& then) {
                          entries_.find(material_of(kernel), "kernel", 1 << 20,
                                        [this, kernel, then](RemoteAnswer answer) {
                                          const bool is_there = answer.outcome == RemoteOutcome::kHit;
                                          if (is_there) ready(kernel);
                                          then(is_there);
                                        });
                        },
                    .waits =
                        [this, kernel] {
                          {
                            const std::lock_guard lock(mutex_);
                            if (!ready_.contains(kernel)) waiting_.insert(kernel);
                          }
                          begin();
                        },
                    .ended =
                        [this, kernel](bool compiles) {
                          if (compiles) compile(kernel, true);
                        }});
  }

  void compile(int kernel, bool sends) {
    compiler_.post([this, kernel, sends] {
      {
        const std::lock_guard lock(mutex_);
        if (ready_.contains(kernel)) return;
      }
      ++compiles[static_cast<std::size_t>(kernel)];
      std::this_thread::sleep_for(kCompile);
      if (sends) entries_.send(material_of(kernel), "kernel", {{"kernel", absl::StrCat("code of ", kernel)}});
      ready(kernel);
    });
  }

  void ready(int kernel) {
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      if (!ready_.insert(kernel).second) return;
      waiting_.erase(kernel);
      is_last = ready_.size() == kKernels;
    }
    is_last ? all_ready_.set_value() : begin();
  }

  RemoteCache remote_;
  RemoteEntries entries_;
  Executor compiler_, steps_;
  std::mutex mutex_;
  std::vector<int> not_begun_;
  std::set<int> begun_, ready_, waiting_;
  std::vector<std::shared_ptr<RemoteRace>> races_;
  std::promise<void> all_ready_;
};

int run(const std::string& address, const std::string& key_file, const std::string& public_key) {
  spdlog::set_level(spdlog::level::off);  // nothing but the result is printed
  const auto key = parse_public_key(public_key);
  const auto remote = parse_remote_address(address);
  if (!key.ok() || !remote.ok()) return std::cerr << key.status() << remote.status() << "\n", 1;
  RemoteSettings settings;
  settings.addresses = {*remote};
  settings.writer_key_file = key_file;
  settings.trusted.keys = {*key};
  CompilerFlavour flavour("", [](const std::function<void()>& task) { task(); });
  flavour.mapped({"/proc/self/exe"});
  std::vector<std::unique_ptr<Tier>> tiers;
  for (int i = 0; i < kTiers; ++i) tiers.push_back(std::make_unique<Tier>(settings, &flavour));
  for (const auto& tier : tiers) {
    if (!test::eventually([&] { return tier->is_asked(); })) return std::cerr << "the server does not answer\n", 1;
  }
  const auto began = std::chrono::steady_clock::now();
  for (const auto& tier : tiers) tier->begin();
  for (const auto& tier : tiers) tier->wait();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const int most = *std::ranges::max_element(compiles);
  int all = 0;
  for (const int count : compiles) all += count;
  std::cout << "{\"ready\": " << tiers.size() << ", \"most_of_a_kernel\": " << most
            << ", \"mean_of_a_kernel\": " << static_cast<double>(all) / kKernels << ", \"seconds\": " << took.count()
            << "}" << std::endl;
  return 0;
}

}  // namespace
}  // namespace hearth::daemon

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "fleet_tiers ADDRESS KEYFILE PUBLICKEY\n", 2;
  return hearth::daemon::run(argv[1], argv[2], argv[3]);
}
