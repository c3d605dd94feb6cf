// Plans that share their weight block: what makes two blocks equal, and what each plan keeps to itself.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <map>

#include "base/mapped_file.h"
#include "base/memory_file.h"
#include "hearth/instance.h"
#include "proto/versions.h"
#include "runtime/devices/devices.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/far_device.h"
#include "tests/unit/runtime/kernel_factory.h"

using namespace hearth;
using namespace hearth::runtime;

namespace {

constexpr std::int64_t kLength = 6 << 20;  // floats, 24 MiB: enough for anonymous memory to be hashed

// out = 2 * w + u, where 2 * w is made once; w and u are parameters.
struct PackingPlan {
  v1::Plan plan;
  std::vector<ArtifactSource> artifacts;
};

PackingPlan packing_plan(std::int64_t length = kLength) {
  const ArtifactSource pack = testing::compile_map("pack", {"o", "w"}, "o[i] = ALIGNED(w) ? 2 * w[i] : -1;"),
                       use = testing::compile_map("use", {"o", "p", "u"}, "o[i] = ALIGNED(u) ? p[i] + u[i] : -1;");
  PackingPlan made{.plan = {}, .artifacts = {pack, use}};
  v1::Plan& plan = made.plan;
  plan.set_version(kPlanVersion);
  const auto buffer = [&](v1::PlanBuffer::Kind kind, const char* name) {
    v1::PlanBuffer* added = plan.add_buffers();
    added->set_kind(kind);
    added->set_name(name);
    added->set_dtype(v1::F32);
    added->set_max_bytes(static_cast<std::uint64_t>(4 * length));
    testing::push_const(added->add_shape(), length);
  };
  buffer(v1::PlanBuffer::OUTPUT, "out");
  buffer(v1::PlanBuffer::PARAMETER, "w");
  buffer(v1::PlanBuffer::PARAMETER, "u");
  buffer(v1::PlanBuffer::PERSISTENT, "");
  plan.set_persistent_bytes(static_cast<std::uint64_t>((4 * length + 63) / 64 * 64));
  for (const auto& [symbol, artifact] : {std::pair("pack", pack), std::pair("use", use)}) {
    v1::PlanKernel* kernel = plan.add_kernels();
    kernel->set_symbol(symbol);
    kernel->set_artifact(artifact.digest);
  }
  const auto launch = [&](std::uint32_t kernel, std::initializer_list<std::uint32_t> slots, bool once) {
    v1::Launch* added = plan.add_launches();
    added->set_kernel(kernel);
    for (const std::uint32_t slot : slots) added->add_buffers(slot);
    testing::push_const(added->mutable_grid(), length);
    added->set_once(once);
    added->set_min_units_per_thread(1);
  };
  launch(0, {3, 1}, true);
  launch(1, {0, 3, 2}, false);
  testing::set_target(plan, 1);
  return made;
}

// The daemon's part, in this process.
class Node {
 public:
  class Client : public WeightSharing {
   public:
    explicit Client(Node& node) : node_(node) {}
    absl::StatusOr<std::vector<Digest>> digests(const std::vector<std::string_view>& bytes) override {
      std::vector<Digest> digests;
      for (const std::string_view each : bytes) digests.push_back(sha256(each));
      return digests;
    }
    WeightOffer take(const Digest& key, std::size_t, WeightMemory) override {
      key_ = key;
      const auto found = node_.files_.find(key);
      if (found == node_.files_.end()) return {WeightOffer::kMake, {}};
      return {WeightOffer::kFound, UniqueFd(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0))};
    }
    WeightReceipt give(int file) override {
      if (node_.of_another_) return {true, UniqueFd(::fcntl(node_.of_another_.get(), F_DUPFD_CLOEXEC, 0))};
      node_.files_[key_] = UniqueFd(::fcntl(file, F_DUPFD_CLOEXEC, 0));
      return {true, {}};
    }
    std::shared_ptr<const void> hold() override { return nullptr; }

   private:
    Node& node_;
    Digest key_{};
  };

  std::size_t num_blocks() const { return files_.size(); }
  std::map<Digest, UniqueFd>& files() { return files_; }
  // What every block that is given is said to be the same as.
  void set_file_of_another(UniqueFd file) { of_another_ = std::move(file); }

 private:
  std::map<Digest, UniqueFd> files_;
  UniqueFd of_another_;
};

struct Weights {
  std::vector<float> w, u;
  explicit Weights(float from, std::int64_t length = kLength) : w(static_cast<std::size_t>(length)), u(w) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = from + static_cast<float>(i % 777);
      u[i] = static_cast<float>(i % 13);
    }
  }
};

std::shared_ptr<const LoadedPlan> load_sharing(const PackingPlan& made, const Weights& weights,
                                               WeightSharing* sharing) {
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters["w"] = {weights.w.data(), weights.w.size() * sizeof(float), nullptr};
  request.parameters["u"] = {weights.u.data(), weights.u.size() * sizeof(float), nullptr};
  absl::StatusOr<std::shared_ptr<const LoadedPlan>> plan = LoadedPlan::create(request, sharing);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return *plan;
}

bool is_right(const std::shared_ptr<const LoadedPlan>& plan, const Weights& weights) {
  absl::StatusOr<Instance> instance = create_instance(plan, {.threads = 1});
  if (!instance.ok() || !instance->execute().ok()) return false;
  const auto out = instance->output("out")->as<float>();
  for (std::size_t i = 0; i < weights.w.size(); ++i) {
    if ((*out)[i] != 2 * weights.w[i] + weights.u[i]) return false;
  }
  return true;
}

// A file whose floats begin at an odd byte.
class OddFile {
 public:
  explicit OddFile(const Weights& weights) {
    fd_ = ::mkstemp(name_);
    REQUIRE(fd_ >= 0);
    ::unlink(name_);
    const std::size_t size = weights.w.size() * sizeof(float);
    REQUIRE(::pwrite(fd_, weights.w.data(), size, 1) == static_cast<ssize_t>(size));
    REQUIRE(::pwrite(fd_, weights.u.data(), size, static_cast<off_t>(size) + 1) == static_cast<ssize_t>(size));
    file_ = *MappedFile::map(fd_, name_);
    ::close(fd_);
  }
  ParameterBytes part(std::size_t index) const {
    const std::size_t size = (file_->bytes().size() - 1) / 2;
    return {file_->bytes().data() + 1 + index * size, size, file_};
  }

 private:
  char name_[32] = "/tmp/hearth-odd-XXXXXX";
  int fd_ = -1;
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace

TEST_CASE("the second plan of the same weights runs no `once` launch and computes the same", "[host]") {
  const PackingPlan made = packing_plan();
  const Weights weights(1), other(2);
  Node node;
  Node::Client a(node), b(node), c(node);
  const auto first = load_sharing(made, weights, &a), second = load_sharing(made, weights, &b),
             third = load_sharing(made, other, &c);
  CHECK((first->weights().shared && !first->weights().found && first->weights().once_launches == 1));
  CHECK((second->weights().shared && second->weights().found && second->weights().once_launches == 0));
  CHECK((!third->weights().found && third->weights().once_launches == 1));
  CHECK(node.num_blocks() == 2);
  CHECK((is_right(first, weights) && is_right(second, weights) && is_right(third, other)));
}

TEST_CASE("plans share weights although they differ in what the weights are not made of", "[host]") {
  PackingPlan made = packing_plan();
  const Weights weights(1);
  Node node;
  Node::Client a(node), b(node), c(node);
  load_sharing(made, weights, &a);
  Weights other_bias(1);
  other_bias.u[0] = 99;  // only replay reads it
  const auto second = load_sharing(made, other_bias, &b);
  CHECK(second->weights().found);
  CHECK(is_right(second, other_bias));
  made.plan.mutable_launches(0)->mutable_grid()->mutable_tokens(0)->set_value(kLength - 1);  // packs less
  CHECK_FALSE(load_sharing(made, weights, &c)->weights().found);
}

TEST_CASE("plans of the same bytes have one block on a device with memory of its own, as long as one of them lives") {
  const bool is_far = testing::device_of_tests() != nullptr;
  const PackingPlan made = packing_plan();
  Weights weights(1);
  const Weights other(1);
  {
    auto first = load_sharing(made, weights, nullptr);
    const auto second = load_sharing(made, weights, nullptr), third = load_sharing(made, other, nullptr);
    CHECK((!first->weights().found && first->weights().once_launches == 1));
    CHECK(second->weights().found == is_far);
    CHECK(second->weights().once_launches == (is_far ? 0 : 1));
    CHECK_FALSE(third->weights().found);  // equal bytes, but nobody promised that they stay so together
    first = nullptr;
    CHECK((is_right(second, weights) && is_right(third, other)));
    CHECK(load_sharing(made, weights, nullptr)->weights().found == is_far);
    PackingPlan less = made;
    less.plan.mutable_launches(0)->mutable_grid()->mutable_tokens(0)->set_value(kLength - 1);  // packs less
    CHECK_FALSE(load_sharing(less, weights, nullptr)->weights().found);
  }
  weights.w[5] = 77;  // which nobody uses any more
  const auto anew = load_sharing(made, weights, nullptr);
  CHECK_FALSE(anew->weights().found);
  CHECK(is_right(anew, weights));
}

TEST_CASE("small weights, and those of a plan without a daemon, stay the process's own") {
  const Weights weights(1), small(1, 1000);
  CHECK(is_right(load_sharing(packing_plan(), weights, nullptr), weights));
  Node node;
  Node::Client client(node);
  const auto plan = load_sharing(packing_plan(1000), small, &client);
  CHECK_FALSE(plan->weights().shared);
  CHECK(plan->weights().once_launches == 1);
  CHECK(node.num_blocks() == 0);
  CHECK(is_right(plan, small));
}

TEST_CASE("a block that could be written to, or is of another size, is not used: the plan makes its own", "[host]") {
  const PackingPlan made = packing_plan();
  const Weights weights(1);
  Node node;
  Node::Client first(node);
  load_sharing(made, weights, &first);
  UniqueFd& file = node.files().begin()->second;
  SECTION("unsealed") { file = *create_memory_file("test", made.plan.persistent_bytes()); }
  SECTION("short") {
    file = *create_memory_file("test", 4096);
    REQUIRE(seal_memory_file(file.get()).ok());
  }
  Node::Client second(node);
  const auto plan = load_sharing(made, weights, &second);
  CHECK((!plan->weights().found && !plan->weights().shared && plan->weights().once_launches == 1));
  CHECK(is_right(plan, weights));
}

TEST_CASE("a block that another user has already is mapped from there, and the process's own is given back", "[host]") {
  const PackingPlan made = packing_plan();
  const Weights weights(1);
  Node theirs, ours;
  Node::Client first(theirs), second(ours);
  load_sharing(made, weights, &first);
  UniqueFd& file = theirs.files().begin()->second;
  struct stat info{};
  REQUIRE(::fstat(file.get(), &info) == 0);
  const auto num_mappings = [&info] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find(" " + std::to_string(info.st_ino) + " ") != std::string::npos ? 1 : 0;
    return count;
  };
  REQUIRE(num_mappings() == 0);
  bool is_mapped = true;
  SECTION("sealed") { ours.set_file_of_another(std::move(file)); }
  SECTION("of another size") {
    UniqueFd other = *create_memory_file("test", 4096);
    REQUIRE(seal_memory_file(other.get()).ok());
    ours.set_file_of_another(std::move(other));
    is_mapped = false;
  }
  const auto plan = load_sharing(made, weights, &second);
  CHECK(plan->weights().shared);
  CHECK(num_mappings() == (is_mapped ? 1 : 0));
  CHECK(is_right(plan, weights));
}

TEST_CASE("weights at odd addresses of a file are packed and replayed, shared or not, and can be looked at") {
  const PackingPlan made = packing_plan();
  const Weights weights(3);
  const OddFile file(weights);
  Node node;
  const std::string bytes = made.plan.SerializeAsString();
  LoadRequest request;
  request.find = &hearth::runtime::find_device;
  request.device = hearth::testing::device_of_tests();
  request.plan = bytes;
  request.artifacts = made.artifacts;
  request.parameters = {{"w", file.part(0)}, {"u", file.part(1)}};
  const bool shares = request.device == nullptr || request.device->shares_weights();
  for (int i = 0; i < 3; ++i) {
    Node::Client client(node);
    const auto plan = LoadedPlan::create(request, i == 0 ? nullptr : &client);
    REQUIRE(plan.ok());
    CHECK((*plan)->weights().found == (i == 2 && shares));
    CHECK(is_right(*plan, weights));
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    for (const std::uint32_t id : {1u, 2u}) {
      const auto seen = instance->buffer(id);
      REQUIRE(seen.ok());
      CHECK(reinterpret_cast<std::uintptr_t>(seen->data) % alignof(float) == 0);
      const std::vector<float>& wanted = id == 1 ? weights.w : weights.u;
      CHECK(std::memcmp(seen->data, wanted.data(), seen->size_bytes) == 0);
    }
  }
}
