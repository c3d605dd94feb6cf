// Records of many processes: none lost, none torn, and a line cut short spoils no other. Empty objects.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <set>

#include "base/file.h"
#include "blobs/tools/record.h"
#include "blobs/tools/stub_object.h"
#include "tests/unit/blob_build/scratch.h"

namespace hearth::blobs {
namespace {

Record record_of(const std::string& name) {
  Record record{.kind = kBlobRecord,
                .tool = "hipcc",
                .source = "/a/blob/" + name + ".cpp",
                .output = "/b/" + name,
                .cwd = "/b dir",
                .args = {"-c", "x\ny", "\"quoted\""}};
  for (int i = 0; i < 200; ++i) record.args.push_back("-DSOME_LONG_FLAG_" + std::to_string(i) + "=" + name);
  return record;
}

TEST_CASE("2,250 records of 8 processes at once are all there, whole") {
  Scratch scratch;
  const std::string file = scratch / "records.ndjson";
  constexpr int kProcesses = 8, kRecords = 2250;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t pid = fork();
    if (pid == 0) {
      bool ok = true;
      for (int i = process; i < kRecords; i += kProcesses)
        ok = append_record(file, record_of("blob_" + std::to_string(i))).ok() && ok;
      _exit(ok ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(status == 0);
  }
  const auto all = read_records(file);
  REQUIRE(all.ok());
  CHECK(all->torn_lines.empty());
  REQUIRE(all->records.size() == kRecords);
  std::set<std::string> outputs;
  for (const Record& record : all->records) {
    const Record whole = record_of(record.output.substr(3));
    CHECK(record.args == whole.args);
    CHECK(record.cwd == whole.cwd);
    outputs.insert(record.output);
  }
  CHECK(outputs.size() == kRecords);
}

TEST_CASE("a line that was cut short is told by its number and spoils no other") {
  Scratch scratch;
  const std::string file = scratch / "records.ndjson";
  REQUIRE(append_record(file, record_of("first")).ok());
  std::ofstream(file, std::ios::app) << R"({"hearth_record":1,"kind":"bl)";  // no line break: the writer was killed
  REQUIRE(append_record(file, record_of("second")).ok());
  const auto all = read_records(file);
  REQUIRE(all.ok());
  REQUIRE(all->records.size() == 2);
  CHECK(all->records[0].output == "/b/first");
  CHECK(all->records[1].output == "/b/second");
  CHECK(all->torn_lines == std::vector<int>{3});
}

TEST_CASE("a full disk is told, and the next record is whole") {
  Scratch scratch;
  const std::string file = scratch / "records.ndjson";
  REQUIRE(append_record(file, record_of("first")).ok());
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(file));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{size + 100, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const absl::Status status = append_record(file, record_of("second"));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(status.message()), Catch::Contains(file) && Catch::Contains("only 100 of"));
  REQUIRE(append_record(file, record_of("third")).ok());
  const auto all = read_records(file);
  REQUIRE(all.ok());
  REQUIRE(all->records.size() == 2);
  CHECK(all->records[1].output == "/b/third");
  CHECK(all->torn_lines.size() == 1);
}

TEST_CASE("records of another version and commands that are not UTF-8 are refused by name") {
  Scratch scratch;
  const std::string file = scratch / "records.ndjson";
  std::ofstream(file) << "{\"hearth_record\":7}\n";
  const auto all = read_records(file);
  CHECK_THAT(std::string(all.status().message()), Catch::Contains(file + ":1") && Catch::Contains("version 1"));
  Record record = record_of("x");
  record.args.push_back("\xff");
  CHECK_THAT(std::string(append_record(file, record).message()), Catch::Contains("/a/blob/x.cpp"));
}

TEST_CASE("an empty object names its source; a linker takes it; others are not mistaken for one") {
  Scratch scratch;
  const std::string object = scratch / "x.o", library = scratch / "x.so", other = scratch / "y.o";
  REQUIRE(runtime::write_file(object, {stub_object("/a/blob/fmha fwd.cpp")}).ok());
  CHECK(stub_source(object).value() == "/a/blob/fmha fwd.cpp");
  const std::string link = "c++ -shared '" + object + "' -o '" + library + "' 2>'" + (scratch / "log") + "'";
  CHECK(std::system(link.c_str()) == 0);
  CHECK(runtime::read_file(scratch / "log").value().empty());  // no warning of an executable stack either
  CHECK(stub_source(library).value().empty());
  REQUIRE(runtime::write_file(other, {""}).ok());
  CHECK(stub_source(other).value().empty());
  const std::string cut = stub_object("/a/blob/fmha_fwd.cpp").substr(0, 120);
  REQUIRE(runtime::write_file(other, {cut}).ok());
  CHECK(stub_source(other).status().code() != absl::StatusCode::kOk);
  CHECK(stub_source(scratch / "none.o").status().code() == absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hearth::blobs
