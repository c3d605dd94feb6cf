// Two nodes' caches and a key that the second trusts: the first has a plan of two kernels, tuned.
#pragma once
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "client/files/pack_file.h"
#include "daemon/packs/pack_exporter.h"
#include "daemon/packs/pack_importer.h"
#include "hearth/v1/graph.pb.h"
#include "hearth/v1/plan.pb.h"
#include "hearth/v1/worker.pb.h"
#include "kernels_cache/action_key.h"
#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {

inline const std::string kPackBuild = "build-1";

struct PackNode {
  explicit PackNode(const std::string& dir) {
    auto opened = cache::KernelsCache::open({.dir = dir});
    REQUIRE(opened.ok());
    cache = *std::move(opened);
    store = std::make_unique<ResultStore>(cache.get(), 1 << 20);
    tuning = std::make_unique<TuningTable>(cache.get(), kPackBuild);
    reads = std::make_unique<PlanReads>(store.get());
  }
  PackImporter importer(const std::string& build = kPackBuild) const {
    return PackImporter({cache.get(), tuning.get(), reads.get(), &settings, build});
  }

  std::unique_ptr<cache::KernelsCache> cache;
  std::unique_ptr<ResultStore> store;
  std::unique_ptr<TuningTable> tuning;
  std::unique_ptr<PlanReads> reads;
  RemoteSettings settings;
};

struct PackFixture {
  static constexpr Digest kFlavour{7};

  PackFixture() {
    from.settings.writer_key_file = folder / "writer.key";
    REQUIRE(runtime::write_file(from.settings.writer_key_file, {secret_text(secret)}).ok());
    std::filesystem::permissions(from.settings.writer_key_file, std::filesystem::perms(0600));
    to.settings.trusted.keys = {secret.public_key()};
    target.set_device("cpu");
    // The second kernel is tuned, and the plan was lowered with that.
    flat.set_ast("flat two");
    record.set_kernel(std::string(32, 'f'));
    record.add_opts()->set_amount(4);
    REQUIRE(from.tuning->put(flat, target, options, record).ok());
    *looked_up.Add() = record.kernel();
    plan_key = put_plan(from, cache::kNoOwner);
  }

  cache::KeyMaterial kernel_material(const std::string& name) const {
    v1::KernelSpec spec;
    spec.set_symbol(name);
    spec.set_ast("ast of " + name);
    return cache::kernel_key_material(spec, target, options, kPackBuild);
  }
  cache::KeyMaterial plan_material() const {
    v1::Graph graph;
    graph.set_version(1);
    return cache::plan_key_material(graph, target, options, kPackBuild);
  }
  static std::string artifact(const std::string& name) { return "code of " + name; }

  // The plan and its kernels, built for `owner`; the plan's key.
  Digest put_plan(PackNode& node, cache::EntryOwner owner, cache::EntryOwner kernel_owner = cache::kNoOwner) const {
    v1::Plan plan;
    std::vector<Digest> digests;
    for (const std::string name : {"one", "two"}) {
      const auto put = node.cache->put_kernel(kernel_material(name), artifact(name), kernel_owner);
      REQUIRE(put.ok());
      digests.push_back(put->digest);
      plan.add_kernels()->set_artifact(to_bytes(put->digest));
    }
    const auto snapshot = node.tuning->snapshot(target, options);
    const std::string tuning =
        node.reads->put(plan_material(), looked_up, *snapshot, node.tuning->scope_of(target, options), 0);
    const cache::KeyMaterial material = cache::with_tuning(plan_material(), tuning);
    REQUIRE(node.cache->put_plan(material, plan.SerializeAsString(), digests, owner, "a model").ok());
    return cache::key(material);
  }

  std::string contents() const {
    v1::PackContents all;
    all.add_plans(to_bytes(plan_key));
    all.set_receipt("{}");
    return all.SerializeAsString();
  }
  absl::StatusOr<v1::ExportPackResponse> exported(std::int64_t now = 1000) const {
    const PackExporter exporter({from.cache.get(), &from.settings, kPackBuild, now});
    return exporter.entries_of(contents(), kFlavour);
  }

  // What `hearth cache export` makes of it: the manifest's entries and files, as requests to import them.
  std::vector<v1::ImportEntryRequest> requests() const {
    const auto pack = exported();
    INFO(pack.status());
    REQUIRE(pack.ok());
    std::vector<v1::ImportEntryRequest> all;
    for (const v1::PackEntry& entry : pack->entries()) {
      v1::ImportEntryRequest request;
      *request.mutable_entry() = entry;
      request.set_pack_name("a.hearthpack");
      request.set_pack_sha256(std::string(32, 's'));
      request.add_files(content_of(entry));
      all.push_back(std::move(request));
    }
    return all;
  }
  std::string content_of(const v1::PackEntry& entry) const {
    if (entry.kind() == "contents") return contents();
    Digest digest{};
    std::ranges::copy(entry.files(0), digest.begin());
    const auto file = from.cache->open_artifact(digest);
    REQUIRE(file.ok());
    const auto bytes = file->read(0, file->size_bytes());
    REQUIRE(bytes.ok());
    return *bytes;
  }
  // The request of this kind, the first one.
  static v1::ImportEntryRequest of_kind(const std::vector<v1::ImportEntryRequest>& all, const std::string& kind) {
    const auto found = std::ranges::find_if(all, [&](const auto& request) { return request.entry().kind() == kind; });
    REQUIRE(found != all.end());
    return *found;
  }

  TestFolder folder;
  const Ed25519Secret secret = Ed25519Secret::made();
  PackNode from{folder / "from"}, to{folder / "to"};
  v1::Target target;
  v1::CompileOptions options;
  v1::FlatKernel flat;
  v1::TuningRecord record;
  google::protobuf::RepeatedPtrField<std::string> looked_up;
  Digest plan_key{};
};

}  // namespace hearth::daemon
