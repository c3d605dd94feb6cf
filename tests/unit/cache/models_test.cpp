// What models are called, in lists of the cache and where one of them is removed.
#include <catch2/catch.hpp>
#include <map>

#include "kernels_cache/sqlite_connection.h"
#include "tests/unit/cache/cache_fixture.h"

namespace hearth::cache {
namespace {

using namespace testing;

struct Named : CacheFixture {
  Digest put_plan(int number, const std::string& model, std::vector<int> kernels) {
    std::vector<Digest> digests;
    for (const int kernel : kernels) digests.push_back(put_kernel(kernel));
    const absl::StatusOr<Pin> put =
        cache->put_plan(plan_material_of(number), "plan " + std::to_string(number), digests, kNoOwner, model);
    REQUIRE(put.ok());
    return key(plan_material_of(number));
  }
  bool has_plan(int number) { return cache->find_plan(plan_material_of(number)).has_value(); }
  bool has_kernel(int number) { return cache->find_kernel(material_of(number)).has_value(); }
};

}  // namespace

TEST_CASE("entries are listed by the name of their model, kernels by that of a plan that has them") {
  Named fixture;
  fixture.open();
  const Digest a = fixture.put_plan(1, "resnet/model.onnx", {1, 2});
  fixture.put_plan(2, "bert/model.onnx", {3});
  fixture.put_plan(3, "", {4});
  for (int round = 0; round < 2; ++round) {
    std::map<Digest, std::string> models;
    for (const CacheEntryInfo& entry : fixture.cache->list()) models[entry.key] = entry.model;
    CHECK(models.size() == 7);
    CHECK(models[a] == "resnet/model.onnx");
    CHECK(models[key(material_of(2))] == "resnet/model.onnx");
    CHECK(models[key(material_of(3))] == "bert/model.onnx");
    CHECK(models[key(material_of(4))] == "");
    CHECK(fixture.cache->list(0, "resnet/model.onnx").size() == 3);
    CHECK(fixture.cache->list(0, "model.onnx").size() == 5);  // the end of a name, behind a '/'
    CHECK(fixture.cache->list(2, "model.onnx").size() == 2);
    CHECK(fixture.cache->list(0, "odel.onnx").empty());
    CHECK(fixture.cache->list(0, "%").empty());
    fixture.cache.reset();
    fixture.open();
  }
}

TEST_CASE("a model is removed by the end of its name behind a '/', as it is listed") {
  Named fixture;
  fixture.open();
  fixture.put_plan(1, "a/model.onnx", {1});
  fixture.put_plan(2, "b/model.onnx", {2});
  fixture.put_plan(3, "b/other.onnx", {3});
  for (const char* name : {"odel.onnx", "/model.onnx", "%", "nx", "x/b/model.onnx"})
    CHECK(fixture.cache->remove_model(name).removed == 0);
  CHECK(fixture.cache->remove_model("model.onnx").removed == 4);
  CHECK((!fixture.has_plan(1) && !fixture.has_plan(2) && fixture.has_plan(3)));
}

TEST_CASE("a model is removed with the kernels that no other model has; what is in use stays") {
  Named fixture;
  fixture.open();
  fixture.put_plan(1, "a/model.onnx", {1, 2});
  fixture.put_plan(2, "a/model.onnx", {2, 3});
  fixture.put_plan(3, "b/model.onnx", {3, 4});
  CHECK(fixture.cache->remove_model("c").removed == 0);
  CHECK(fixture.cache->remove_model("").removed == 0);
  std::optional<PlanEntry> used = fixture.cache->find_plan(plan_material_of(2));
  REQUIRE(used);
  ClearReport report = fixture.cache->remove_model("a/model.onnx");
  CHECK(report.removed == 2);  // the first plan and its first kernel
  CHECK(report.kept_leased == 1);
  CHECK((!fixture.has_plan(1) && !fixture.has_kernel(1)));
  CHECK((fixture.has_plan(2) && fixture.has_kernel(2)));
  used.reset();
  report = fixture.cache->remove_model("a/model.onnx");
  CHECK(report.removed == 2);
  CHECK(report.freed_bytes >= 2 * 4096);
  CHECK((!fixture.has_plan(2) && !fixture.has_kernel(2)));
  CHECK((fixture.has_plan(3) && fixture.has_kernel(3) && fixture.has_kernel(4)));
  CHECK(fixture.cache->stats().evicted == 0);
  CHECK(fixture.cache->verify().problems.empty());
}

TEST_CASE(
    "an index of an older release has no names and gets them; one that it went on with keeps none that are gone") {
  Named fixture;
  fixture.open();
  fixture.put_plan(1, "old", {1});
  fixture.cache.reset();
  const std::string index = fixture.options.dir + "/index.sqlite";
  {
    auto older = SqliteConnection::open(index, /*read_only=*/false);
    REQUIRE(older.ok());
    REQUIRE((*older)->execute("DROP TABLE models").ok());
  }
  fixture.open();
  CHECK(fixture.has_plan(1));
  CHECK(fixture.cache->list(0, "old").empty());
  fixture.put_plan(2, "new", {2});
  CHECK(fixture.cache->list(0, "new").size() == 2);
  fixture.cache.reset();
  {
    auto older = SqliteConnection::open(index, /*read_only=*/false);
    REQUIRE(older.ok());
    REQUIRE((*older)->execute("DELETE FROM actions WHERE kind = 1").ok());
  }
  fixture.open();
  CHECK(fixture.cache->list(0, "new").empty());
}

TEST_CASE("a name is kept to 256 bytes, and no half of a character") {
  Named fixture;
  fixture.open();
  std::string name(255, 'x');
  name += "\u00e4\u00e4\u00e4";
  const Digest plan = fixture.put_plan(1, name, {});
  for (const CacheEntryInfo& entry : fixture.cache->list()) {
    if (entry.key == plan) CHECK(entry.model == std::string(255, 'x'));
  }
}

}  // namespace hearth::cache
