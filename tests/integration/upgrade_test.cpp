// Programs that are replaced on disk while their daemon runs, as a package's upgrade does.
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "runtime/build_id.h"
#include "tests/integration/place.h"
#include "tests/support/eventually.h"

using namespace hearth;
using namespace hearth::integration;
using namespace std::chrono_literals;

namespace {

const std::string kOtherBuild(64, 'b');

// A folder of installed programs.
class Installed {
 public:
  explicit Installed(const Place& place) : folder_(place.file("bin")) {
    fs::create_directories(folder_);
    for (const char* name : {"hearth", "hearthd", "hearth-worker", "hearth-blob-worker"}) install(name, false);
  }
  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }

  // As dpkg does: written beside the old one, then renamed over it. The other build says another id and is the same
  // otherwise.
  void install(const std::string& name, bool other_build) const {
    write_new(name, other_build);
    replace(name);
  }
  void write_new(const std::string& name, bool other_build) const {
    std::string bytes = content(bin_dir() / name);
    if (other_build) {
      const std::string id(build_id());
      const std::size_t at = bytes.find(id);
      REQUIRE(at != std::string::npos);
      bytes.replace(at, id.size(), kOtherBuild);
      REQUIRE(bytes.find(id) == std::string::npos);
    }
    const std::string fresh = (folder_ / (name + ".new")).string();
    std::ofstream(fresh, std::ios::binary) << bytes;
    REQUIRE(::chmod(fresh.c_str(), 0755) == 0);
  }
  void replace(const std::string& name) const { fs::rename(folder_ / (name + ".new"), folder_ / name); }

 private:
  fs::path folder_;
};

std::vector<std::string> run_digits_with(const Installed& installed, int threads) {
  return {installed / "hearth",   "run", source_dir() / "examples" / "digits" / "digits.onnx", "--json", "--threads",
          std::to_string(threads)};
}

using test::eventually;

std::string replay(client::Instance& instance) {
  REQUIRE(instance.execute().ok());
  const auto output = instance.output("probability");
  REQUIRE(output.ok());
  return {static_cast<const char*>(output->data), output->size_bytes};
}

}  // namespace

TEST_CASE("after an upgrade in place the new build serves, and plans that were loaded replay on") {
  Place place;
  const Installed installed(place);
  for (const auto& [name, value] : place.environment()) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("HEARTH_DAEMON", (installed / "hearthd").c_str(), 1);
  const fs::path folder = source_dir() / "examples" / "digits";
  const auto model = onnx::import_model((folder / "digits.onnx").string());
  const auto images = client::read_npy((folder / "digits_images.npy").string());
  REQUIRE((model.ok() && images.ok()));
  const auto plan = client::prepare(model->outputs, {.socket = place.socket(), .threads = 1});
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  auto instance = plan->instantiate();
  REQUIRE(instance.ok());
  REQUIRE(instance->bind_input("image", images->bytes.data(), images->bytes.size()).ok());
  const std::string expected = replay(*instance);
  const std::vector<pid_t> before = place.daemons();
  REQUIRE(before.size() == 1);
  CHECK(place.stats()["build_id"] == std::string(build_id()));

  for (const char* name : {"hearth-worker", "hearthd"}) installed.install(name, true);
  CHECK(eventually([&] { return !alive(before[0]); }));  // nobody has to guess that it must be restarted
  CHECK((replay(*instance) == expected));
  const auto again = client::prepare(model->outputs, {.socket = place.socket(), .threads = 2});
  INFO(again.status().message());
  REQUIRE(again.ok());
  CHECK(again->stats().compiled_kernels > 0);
  CHECK(place.stats()["build_id"] == kOtherBuild);
  CHECK((replay(*instance) == expected));
  CHECK(content(place.socket() + ".log").find("leaving: its program was replaced on disk") != std::string::npos);
}

TEST_CASE("a request that comes between two programs of an upgrade is answered by the new build") {
  Place place;
  const Installed installed(place);
  place.run_ok(run_digits_with(installed, 1));
  const std::vector<pid_t> before = place.daemons();
  REQUIRE(before.size() == 1);
  installed.install("hearth-worker", true);
  for (const pid_t worker : children_of(before[0])) ::kill(worker, SIGKILL);
  installed.write_new("hearthd", true);                          // sanitizers' programs are large
  Process request = place.start(run_digits_with(installed, 2));  // it needs a worker, and finds one of another build
  // The daemon has seen it.
  CHECK(eventually(
      [&] { return content(place.socket() + ".log").find("whether hearthd is replaced") != std::string::npos; }));
  installed.replace("hearthd");
  const Ran ran = request.wait();
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(place.stats()["build_id"] == kOtherBuild);
}

TEST_CASE("programs of two builds are said to be, and mending that needs no restart") {
  Place place;
  const Installed installed(place);
  installed.install("hearth-worker", true);
  const Ran started = place.run({installed / "hearth", "daemon", "start"});
  CHECK(started.code == 1);
  CHECK(started.out.find("degraded") != std::string::npos);
  CHECK(started.out.find("another build") != std::string::npos);
  const Ran refused = place.run(run_digits_with(installed, 1));
  CHECK(refused.code == 1);
  CHECK(refused.err.find("install hearthd and hearth-worker from one build") != std::string::npos);
  CHECK(place.stats()["health"].get<std::string>().find("another build") != std::string::npos);
  const std::vector<pid_t> before = place.daemons();
  installed.install("hearth-worker", false);
  CHECK(place.run(run_digits_with(installed, 1)).code == 0);
  CHECK(place.stats()["health"] == "ready");
  CHECK(place.daemons() == before);
}

TEST_CASE("a daemon whose worker is not there does not say that it is ready") {
  Place place;
  place.environment()["HEARTH_WORKER"] = "/nope/hearth-worker";
  const Ran started = place.run({"hearth", "daemon", "start"});
  CHECK(started.code == 1);
  CHECK(started.out.empty());
  CHECK(started.err.find("'/nope/hearth-worker': No such file or directory") != std::string::npos);
  CHECK(started.err.find("--worker") != std::string::npos);
  CHECK(place.daemons().empty());
}
