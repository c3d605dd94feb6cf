// hearth remote: keys are made once, for their owner alone, and never shown where they are secret.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/ed25519_text.h"
#include "client/cli/remote_text.h"
#include "tests/unit/cli/program.h"

using namespace hearth::cli;
using Catch::Matchers::Contains;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("hearth remote keygen makes a key that nobody else can read, and overwrites none") {
  const std::string file = scratch_dir() + "/writer.key";
  const Ran made = run_program("hearth", "remote keygen " + file);
  INFO(made.err);
  REQUIRE(made.code == 0);
  struct stat info{};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const std::string secret = text_of(file);
  const auto key = hearth::parse_secret(secret);
  REQUIRE(key.ok());
  CHECK_THAT(made.out,
             Contains(hearth::public_key_text(key->public_key())) && Contains(hearth::key_id(key->public_key())));
  CHECK_THAT(made.out, !Contains(secret.substr(secret.find(' ') + 1, 20)));
  const Ran again = run_program("hearth", "remote keygen " + file);
  CHECK(again.code == 1);
  CHECK_THAT(again.err, Contains("--show"));
  CHECK(text_of(file) == secret);
  const Ran shown = run_program("hearth", "remote keygen --show " + file);
  CHECK((shown.code == 0 && shown.out == made.out));
}

TEST_CASE("hearth remote keygen says what is wrong with a file") {
  const std::string nonsense = scratch_dir() + "/nonsense";
  std::ofstream(nonsense) << "hearth-ed25519-secret c2VjcmV0IHNlY3JldA==";
  const Ran none = run_program("hearth", "remote keygen --show " + nonsense);
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Contains("no key of hearth remote keygen") && !Contains("c2VjcmV0"));
  CHECK(run_program("hearth", "remote keygen --show " + scratch_dir() + "/missing").code == 1);
  CHECK(run_program("hearth", "remote keygen " + scratch_dir() + "/no/such/folder/key").code == 1);
  CHECK(run_program("hearth", "remote keygen").code == 2);
  CHECK(run_program("hearth", "remote").code == 2);
}

TEST_CASE("hearth remote status and check start no daemon") {
  for (const char* line : {"remote status", "remote check"}) {
    const Ran ran = run_program("hearth", line);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("no daemon is running"));
  }
}

TEST_CASE("a plan file is signed with a key, and run by who trusts that one") {
  const std::string key = scratch_dir() + "/plan.key", other = scratch_dir() + "/other.key",
                    plan = scratch_dir() + "/signed.hearth", plain = scratch_dir() + "/plain.hearth";
  const std::string model = source_dir() + "/examples/digits/digits.onnx";
  REQUIRE(run_program("hearth", "remote keygen " + key).code == 0);
  REQUIRE(run_program("hearth", "remote keygen " + other).code == 0);
  REQUIRE(run_with_daemon("hearth", "export " + model + " --sign " + key + " -o " + plan).code == 0);
  REQUIRE(run_with_daemon("hearth", "export " + model + " -o " + plain).code == 0);
  const auto run_trusting = [](const std::string& key, const std::string& plan) {
    ::setenv("HEARTH_TRUSTED_KEYS", hearth::public_key_text(hearth::parse_secret(text_of(key))->public_key()).c_str(),
             1);
    Ran ran = run_program("hearth", "run " + plan);
    ::unsetenv("HEARTH_TRUSTED_KEYS");
    return ran;
  };
  CHECK(run_trusting(key, plan).code == 0);
  for (const Ran& ran : {run_trusting(other, plan), run_trusting(key, plain)}) {
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("HEARTH_TRUSTED_KEYS") && Contains("--sign"));
  }
  CHECK(run_with_daemon("hearth", "export " + model + " --sign " + model + " -o " + plan).code == 1);
}

TEST_CASE("hearth cache export and import say what is wrong with their files") {
  const std::string file = scratch_dir() + "/no.json";
  CHECK(run_program("hearth", "cache export out").code == 2);  // no receipt
  CHECK(run_program("hearth", "cache import").code == 2);
  CHECK(run_program("hearth", "cache import a --oci b").code == 2);
  for (const char* text :
       {"", "[]", "{}", R"({"covered":[]})", R"({"covered":[{"plan_key":"ab"}]})", R"({"covered":[7]})"}) {
    std::ofstream(file) << text;
    const Ran ran = run_program("hearth", "cache export --receipt " + file + " out");
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains(file + ": no receipt of hearth prewarm --report"));
  }
  const Ran missing = run_program("hearth", "cache import " + scratch_dir() + "/missing");
  CHECK((missing.code == 1 && missing.err.find("/missing") != std::string::npos));
  CHECK_THAT(run_program("hearth", "cache import " + file).err, Contains("not a pack"));
}

TEST_CASE("a remote cache is one line that says what matters") {
  hearth::v1::StatsResponse stats;
  CHECK(remote_text(stats) == "none");
  hearth::v1::RemoteStats& remote = *stats.mutable_remote();
  remote.add_addresses("unix:/a");
  remote.add_addresses("grpcs://b:1");
  remote.set_is_asked(true);
  remote.set_hits(3);
  CHECK(remote_text(stats) == "unix:/a, grpcs://b:1: 3 hits, 0 misses");
  remote.set_late(1);
  remote.set_unsigned_results(2);
  remote.set_is_writer(true);
  remote.set_sent(4);
  remote.set_send_drops(5);
  remote.set_is_asked(false);
  remote.set_problem("it is gone");
  CHECK(
      remote_text(stats) ==
      "unix:/a, grpcs://b:1: 3 hits, 0 misses, 1 late, 2 unsigned; 4 results sent, 5 dropped; not asked for now; it is "
      "gone");
}
