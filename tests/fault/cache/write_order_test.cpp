// The order in which a put reaches the disk: file, fsync, rename, fsync of the folder, index, its fsync, and only then
// the acknowledgement. Compiled with copies of the cache's sources in which bugs can be switched on (order_bugs.py).
#include "tests/fault/cache/write_recorder.h"
#include "tests/support/planted_bug.h"
#include "tests/unit/cache/cache_fixture.h"

using namespace hearth;
using namespace hearth::cache;
using namespace hearth::cache::testing;

namespace {

constexpr const char* kBugs[] = {
#include "planted_bug_names.inc"
};

struct Put {
  const char* kind;
  std::function<absl::Status(KernelsCache&, int)> put;  // of entry `number`
};

const std::vector<Put> kPuts = {
    {"kernel", [](KernelsCache& c, int n) { return c.put_kernel(material_of(n), artifact_of(n)).status(); }},
    {"plan",
     [](KernelsCache& c, int n) { return c.put_plan(plan_material_of(n), "plan" + std::to_string(n), {}).status(); }},
    {"tuning",
     [](KernelsCache& c, int n) { return c.put_tuning(material_of(n), "record" + std::to_string(n)).status(); }},
    {"blob", [](KernelsCache& c, int n) { return c.put_blob(material_of(n), artifact_of(n)).status(); }},
    {"blob records",
     [](KernelsCache& c, int n) { return c.put_records(material_of(n), "records" + std::to_string(n)); }},
};

// The first disorder of a few puts of each kind in a new cache, "" if there is none.
std::string first_disorder() {
  for (const Put& put : kPuts) {
    WriteRecorder recorder;
    CacheFixture fixture;
    fixture.options.file_system = &recorder.file_system();
    KernelsCache& cache = fixture.open();
    for (int number = 0; number < 4; ++number) {
      recorder.clear();
      if (absl::Status status = put.put(cache, number); !status.ok()) return status.ToString();
      recorder.acknowledge();
      const std::string what = disorder_of_put(recorder.events());
      if (!what.empty()) return std::string(put.kind) + ": " + what + "\n" + to_string(recorder.events());
    }
    fixture.cache.reset();
  }
  return "";
}

}  // namespace

TEST_CASE("a put of every kind is durable step by step, and acknowledged last") {
  test::planted_bug = 0;
  CHECK(first_disorder() == "");
}

TEST_CASE("what is put again under another key only needs the index, which is durable before the acknowledgement") {
  WriteRecorder recorder;
  CacheFixture fixture;
  fixture.options.file_system = &recorder.file_system();
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_kernel(material_of(1), artifact_of(1)).ok());
  recorder.clear();
  REQUIRE(cache.put_kernel(material_of(2), artifact_of(1)).ok());
  INFO(to_string(recorder.events()));
  REQUIRE(!recorder.events().empty());
  CHECK(recorder.events().back().kind == WriteEvent::Kind::IndexSync);
  fixture.cache.reset();
}

TEST_CASE("a swap or a loss of any two steps of a put is noticed") {
  WriteRecorder recorder;
  CacheFixture fixture;
  fixture.options.file_system = &recorder.file_system();
  KernelsCache& cache = fixture.open();
  REQUIRE(cache.put_kernel(material_of(1), artifact_of(1)).ok());
  recorder.clear();
  REQUIRE(cache.put_kernel(material_of(2), artifact_of(2)).ok());
  recorder.acknowledge();
  const std::vector<WriteEvent> events = recorder.events();
  REQUIRE(disorder_of_put(events) == "");
  // Repeated writes of the index may change places, and a new shard may be made at any time before the rename.
  const auto is_free = [](const WriteEvent& event) {
    return event.kind == WriteEvent::Kind::IndexWrite || event.kind == WriteEvent::Kind::MakeDir ||
           (event.kind == WriteEvent::Kind::SyncDir && event.path.ends_with("/cas"));
  };
  int checked = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_free(events[i])) continue;
    std::vector<WriteEvent> without = events;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    INFO("event " << i << " of\n" << to_string(events));
    CHECK(disorder_of_put(without) != "");
    for (std::size_t j = i + 1; j < events.size(); ++j) {
      if (is_free(events[j])) continue;
      std::vector<WriteEvent> swapped = events;
      std::swap(swapped[i], swapped[j]);
      INFO("and event " << j);
      CHECK(disorder_of_put(swapped) != "");
      ++checked;
    }
  }
  CHECK(checked >= 36);  // pairs of nine steps
  fixture.cache.reset();
}

TEST_CASE("every bug planted in the order of durable writes is noticed") {
  for (std::size_t i = 0; i < std::size(kBugs); ++i) {
    test::planted_bug = static_cast<int>(i) + 1;
    INFO(kBugs[i]);
    CHECK(first_disorder() != "");
  }
  test::planted_bug = 0;
}
