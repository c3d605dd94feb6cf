// `hearth-worker --replay`: a bundle that killed three workers is not better off in a fourth.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "daemon/worker_pool/sandbox_layers.h"
#include "tests/fault/sandbox/hijack.h"

namespace hearth::sandbox_test {
namespace {

struct Ran {
  int code = -1;
  std::string said;
};

// With its own temporary folder, which has to be empty afterwards.
Ran replay(const std::string& arguments) {
  const daemon::TestFolder temp, output;
  const std::string file = output / "said";
  const int status = std::system(("TMPDIR=" + temp.path() + " " + daemon::program("hearth-hijacked-worker") +
                                  " --replay " + arguments + " > " + file + " 2>&1")
                                     .c_str());
  CHECK(std::filesystem::is_empty(temp.path()));
  std::ifstream said(file);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(said), {}}};
}

class Bundle {
 public:
  Bundle(const std::string& attempt, const Targets& targets) {
    std::ofstream(path()) << hijacked_request(attempt, targets.text()).SerializeAsString();
  }
  std::string path() const { return folder_ / "x.worker_request"; }

 private:
  daemon::TestFolder folder_;
};

TEST_CASE("replay: what a bundle does is confined") {
  for (const char* attempt : {"write", "chmod", "create", "kill", "connect to the daemon's socket", "mount"}) {
    INFO(attempt);
    const Victim victim;
    const std::string before = victim.state();
    const Bundle bundle(attempt, victim.targets());
    const Ran ran = replay(bundle.path());
    INFO(ran.said);
    CHECK(victim.state() == before);
    // 159: the shell's word for SIGSYS.
    CHECK(((ran.code == 0 && ran.said == "compiled\n") || ran.code == 159));
  }
}

TEST_CASE("replay: without the sandbox the same bundle does its harm") {
  const Victim victim;
  const std::string before = victim.state();
  const Bundle bundle("write", victim.targets());
  std::string without;
  for (const char* layer : daemon::kWorkerLayers) without += std::string(" --without=") + layer;
  const Ran ran = replay(bundle.path() + without);
  CHECK(ran.code == 0);
  CHECK(ran.said.find("the sandbox lacks seccomp (left out)") != std::string::npos);
  CHECK(victim.state() != before);
}

TEST_CASE("replay: a bundle may need folders, which are named") {
  const daemon::TestFolder folder;
  std::ofstream(folder / "header") << "x";
  Targets targets;
  targets.set("secret", folder / "header");
  const Bundle bundle("read a secret in the home folder", targets);
  CHECK(replay(bundle.path() + " --read=" + folder.path()).code == 0);
  CHECK(replay(bundle.path() + " --read=relative").code == 2);
}

TEST_CASE("replay: what is no bundle is named") {
  const Ran missing = replay("/nowhere");
  CHECK(missing.code == 2);
  CHECK(missing.said == "hearth-worker: cannot open the bundle '/nowhere': No such file or directory\n");
  const daemon::TestFolder folder;
  std::ofstream(folder / "bad") << "\xff\xff\xff";
  const Ran bad = replay(folder / "bad");
  CHECK(bad.code == 2);
  CHECK(bad.said == "hearth-worker: '" + (folder / "bad") + "' is not a repro bundle\n");
}

}  // namespace
}  // namespace hearth::sandbox_test
