// Traced attention through a blob of the sample library: from the graph to numbers, and what happens when the blob's
// sources change or break.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "blobs/library/manifest.h"
#include "client/connection/daemon_channel.h"
#include "client/jit/request.h"
#include "client/trace/encoded_graph.h"
#include "hearth/ops.h"
#include "hearth/prepare.h"
#include "runtime/blob_library.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::integration;
using Catch::Contains;

namespace {

// The sample project's forward blobs as an installed library: its tree, a manifest, the shipped adapter.
class InstalledSample {
 public:
  InstalledSample() {
    const std::string generator = (source_dir() / "tests/blobs/sample/generate.py").string();
    place_.run_ok({"/usr/bin/env", "python3", generator, "--out", root(), "--flavour", "cpu", "--generation", "2024"});
    place_.run_ok({"/usr/bin/env", "python3", fmha("generate.py"), "-d", "fwd", "--output_dir", root() + "/blob"});
    blobs::Manifest manifest{.library = "libmha_fwd", .toolchain = blobs::kCxxToolchain, .blobs = {}};
    for (const fs::directory_entry& file : fs::directory_iterator(root() + "/blob")) {
      const std::string stem(blobs::stem_of(file.path().filename().string()));
      if (stem.ends_with("_api")) continue;
      blobs::Blob& blob = manifest.blobs.emplace_back();
      blob = {.stem = stem,
              .family = "fmha_fwd",
              .source = "blob/" + stem + ".cpp",
              .flags = {},
              .archs = {},
              .exports = {"_Z9fmha_fwd_I"}};
      blob.flags = {"-O3", "-std=c++20", "-I{root}/csrc/include", "-I{root}/3rdparty/composable_kernel/include",
                    "-I{root}/3rdparty/composable_kernel/example/ck_tile/01_fmha"};
    }
    REQUIRE(manifest.blobs.size() > 10);
    std::ofstream(root() + "/" + runtime::kBlobManifestFile) << blobs::manifest_json(manifest);
    fs::create_directories(root() + "/adapters");
    fs::copy(source_dir() / "blobs/tools/adapters/fmha_fwd_host.toml", root() + "/adapters");
  }

  std::string root() const { return place_.file("ck_jit"); }
  std::string fmha(const std::string& file) const {
    return root() + "/3rdparty/composable_kernel/example/ck_tile/01_fmha/" + file;
  }
  // Replaces text in a source; it must be there.
  void edit(const std::string& path, const std::string& from, const std::string& to) const {
    std::string text = content(path);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    std::ofstream(path) << text.replace(at, from.size(), to);
  }
  std::map<std::string, std::string> settings() const { return {{"HEARTH_BLOB_LIBRARIES", root()}}; }

 private:
  Place place_;
};

struct Sizes {
  std::int64_t batch = 2, heads = 4, key_heads = 2, queries = 70, keys = 90, size = 64;
};

float half_at(const std::uint16_t* bits, std::int64_t i) {
  _Float16 value;
  std::memcpy(&value, bits + i, 2);
  return static_cast<float>(value);
}

std::vector<std::uint16_t> random_halves(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::uint16_t> out(static_cast<std::size_t>(count));
  for (std::uint16_t& bits : out) {
    const auto value = static_cast<_Float16>(uniform(random));
    std::memcpy(&bits, &value, 2);
  }
  return out;
}

// Attention in double: q [B, H, T, D], k and v [B, K, S, D].
std::vector<double> reference(const Sizes& n, const std::vector<std::uint16_t>& q, const std::vector<std::uint16_t>& k,
                              const std::vector<std::uint16_t>& v, bool causal, std::int64_t past, double scale) {
  std::vector<double> out(static_cast<std::size_t>(n.batch * n.heads * n.queries * n.size));
  for (std::int64_t bh = 0; bh < n.batch * n.heads; ++bh) {
    const std::int64_t kv = bh / n.heads * n.key_heads + bh % n.heads / (n.heads / n.key_heads);
    for (std::int64_t t = 0; t < n.queries; ++t) {
      const std::int64_t seen = causal ? std::min(n.keys, past + t + 1) : n.keys;
      std::vector<double> weights;
      double sum = 0;
      for (std::int64_t s = 0; s < seen; ++s) {
        double score = 0;
        for (std::int64_t d = 0; d < n.size; ++d)
          score +=
              half_at(q.data(), (bh * n.queries + t) * n.size + d) * half_at(k.data(), (kv * n.keys + s) * n.size + d);
        sum += weights.emplace_back(std::exp(score * scale));
      }
      for (std::int64_t s = 0; s < seen; ++s)
        for (std::int64_t d = 0; d < n.size; ++d)
          out[static_cast<std::size_t>((bh * n.queries + t) * n.size + d)] +=
              weights[static_cast<std::size_t>(s)] / sum * half_at(v.data(), (kv * n.keys + s) * n.size + d);
    }
  }
  return out;
}

struct Attention {
  Sizes n;
  client::AttentionConfig config;
  bool is_transposed = false;  // q comes as [B, T, H, D]

  client::Tensor traced() const {
    const client::Tensor k = client::input("k", {n.batch, n.key_heads, n.keys, n.size}, DType::kF16);
    const client::Tensor v = client::input("v", {n.batch, n.key_heads, n.keys, n.size}, DType::kF16);
    const client::Tensor q =
        is_transposed
            ? client::permute(client::input("q", {n.batch, n.queries, n.heads, n.size}, DType::kF16), {0, 2, 1, 3})
            : client::input("q", {n.batch, n.heads, n.queries, n.size}, DType::kF16);
    return client::scaled_dot_product_attention(q, k, v, config);
  }

  // The largest difference to attention in double.
  double error(const client::PreparedPlan& plan, bool varying = false) const {
    const auto q = random_halves(n.batch * n.heads * n.queries * n.size, 1);
    const auto k = random_halves(n.batch * n.key_heads * n.keys * n.size, 2), v = random_halves(k.size(), 3);
    std::vector<std::uint16_t> given = q;
    for (std::int64_t i = 0; is_transposed && i < static_cast<std::int64_t>(q.size()); ++i) {
      const std::int64_t d = i % n.size, t = i / n.size % n.queries, h = i / n.size / n.queries % n.heads,
                         b = i / n.size / n.queries / n.heads;
      given[static_cast<std::size_t>(((b * n.queries + t) * n.heads + h) * n.size + d)] =
          q[static_cast<std::size_t>(i)];
    }
    auto instance = plan.instantiate();
    REQUIRE(instance.ok());
    if (varying) REQUIRE(instance->set_var("t", n.queries).ok());
    for (const auto& [name, values] : {std::pair("q", &std::as_const(given)), std::pair("k", &k), std::pair("v", &v)}) {
      const auto buffer = instance->input(name);
      REQUIRE(buffer.ok());
      REQUIRE(buffer->size_bytes >= values->size() * 2);
      std::memcpy(buffer->data, values->data(), values->size() * 2);
    }
    REQUIRE(instance->execute().ok());
    const auto out = instance->output("y");
    REQUIRE(out.ok());
    const double scale = config.scale.value_or(1 / std::sqrt(static_cast<double>(n.size)));
    const std::vector<double> wanted = reference(n, q, k, v, config.causal, config.past.value(), scale);
    REQUIRE(out->size_bytes == wanted.size() * 2);
    double error = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      error = std::max(
          error,
          std::abs(half_at(static_cast<const std::uint16_t*>(out->data), static_cast<std::int64_t>(i)) - wanted[i]));
    return error;
  }
};

// Probabilities and the result are rounded to f16, 2^-11 of values up to 1 each; twice that.
constexpr double kTolerance = 2.0 / 1024;

v1::ExplainResponse explained(const LiveDaemon& daemon, const client::Tensor& y) {
  const auto traced = client::encode_graph({{"y", y}});
  REQUIRE(traced.ok());
  const auto channel = client::DaemonChannel::get({.socket = daemon.socket(), .auto_start = false});
  REQUIRE(channel.ok());
  const auto request = client::request_for<v1::ExplainRequest>(*traced, daemon.config());
  REQUIRE(request.ok());
  const auto reply = (*channel)->explain(*request, std::chrono::steady_clock::now() + std::chrono::seconds(60));
  INFO(reply.status());
  REQUIRE(reply.ok());
  return *reply;
}

}  // namespace

TEST_CASE("traced attention runs as a blob of the sample library and gives attention's numbers") {
  const InstalledSample sample;
  const LiveDaemon daemon(sample.settings());
  const Attention cases[] = {
      {.n = {}, .config = {}, .is_transposed = false},
      {.n = {}, .config = {.causal = true, .past = 20}, .is_transposed = false},
      {.n = {.batch = 1, .heads = 3, .key_heads = 1, .queries = 128, .keys = 128, .size = 64},
       .config = {.scale = 0.5},
       .is_transposed = true},
      {.n = {.batch = 1, .heads = 2, .key_heads = 2, .queries = 1, .keys = 200, .size = 40},
       .config = {},
       .is_transposed = true},
  };
  for (const Attention& attention : cases) {
    const client::Tensor y = attention.traced();
    client::PrepareConfig config = daemon.config();
    config.threads = 2;
    auto plan = client::prepare({{"y", y}}, config);
    INFO(plan.status());
    REQUIRE(plan.ok());
    CHECK(attention.error(*plan) < kTolerance);
    const v1::ExplainResponse reply = explained(daemon, y);
    REQUIRE(reply.notes_size() == 1);
    CHECK_THAT(reply.notes(0), Contains("blob_plan_test.cpp") && Contains("blob fmha_fwd_d64_fp16_batch"));
    REQUIRE(reply.kernels_size() == 1);
    CHECK(reply.kernels(0).cached());
    CHECK_THAT(reply.kernels(0).ast(), Contains("blob fmha_fwd_d64_fp16_batch"));
  }
}

TEST_CASE("lengths that vary use one compiled blob") {
  const InstalledSample sample;
  const LiveDaemon daemon(sample.settings());
  const client::Dim t = client::Dim::variable("t", 1, 300);
  const auto make = [&](const char* name) { return client::input(name, {1, 2, t, 64}, DType::kF16); };
  auto plan =
      client::prepare({{"y", client::scaled_dot_product_attention(make("q"), make("k"), make("v"))}}, daemon.config());
  INFO(plan.status());
  REQUIRE(plan.ok());
  for (const std::int64_t length : {1, 64, 257}) {
    const Attention attention{
        .n = {.batch = 1, .heads = 2, .key_heads = 2, .queries = length, .keys = length, .size = 64},
        .config = {},
        .is_transposed = false};
    CHECK(attention.error(*plan, /*varying=*/true) < kTolerance);
  }
}

TEST_CASE("a plan whose blob's header has changed is built again; a blob that does not compile is done without") {
  const InstalledSample sample;
  const LiveDaemon daemon(sample.settings());
  const Attention attention{};
  const client::Tensor y = attention.traced();
  const auto prepared = [&] {
    auto plan = client::prepare({{"y", y}}, daemon.config());
    INFO(plan.status());
    REQUIRE(plan.ok());
    return *std::move(plan);
  };
  auto first = prepared();
  CHECK(first.stats().compiled_kernels == 1);
  CHECK(attention.error(first) < kTolerance);
  CHECK(prepared().stats().plan_hit);

  // Every score becomes 0, so attention becomes a mean: nothing else would notice whether the header was read again.
  const std::string header = sample.fmha("fmha_fwd.hpp"), right = content(header);
  sample.edit(header, "kargs.scale = a.scale_s", "kargs.scale = 0 * a.scale_s");
  auto changed = prepared();
  CHECK_FALSE(changed.stats().plan_hit);
  CHECK(attention.error(changed) > 10 * kTolerance);
  Attention mean = attention;
  mean.config.scale = 0.0;
  CHECK(mean.error(changed) < kTolerance);
  CHECK(attention.error(first) < kTolerance);  // what is loaded stays what it was

  std::ofstream(header) << right << "\n#error broken\n";
  auto without = prepared();
  CHECK(attention.error(without) < kTolerance);

  std::ofstream(header) << right;
  auto again = prepared();
  CHECK(attention.error(again) < kTolerance);
  CHECK(again.stats().compiled_kernels == 0);  // the first blob is still in the cache
}

TEST_CASE("an installation of `hearth blobs build full` serves traced attention as it is") {
  Place place;
  const std::string tree = place.file("aiter"), install = place.file("mha");
  const std::string generator = (source_dir() / "tests/blobs/sample/generate.py").string();
  place.run_ok({"/usr/bin/env", "python3", generator, "--out", tree, "--flavour", "cpu", "--generation", "2024"});
  // One blob fits the attention; the others would only be read.
  place.environment()["SAMPLE_BLOBS"] = "*_d64_fp16_batch_*_nmask_nlse_*";
  place.run_ok({"hearth", "blobs", "build", "full", "--aiter-dir", tree, "--gpu-archs", "gfx942", "--api", "fwd",
                "--toolchain", "c++", "--compiler", "g++", "--tmp-dir", place.file("T"), "--install-dir", install});
  fs::remove_all(tree);  // nothing but the installation is used
  fs::remove_all(place.file("T"));
  const LiveDaemon daemon({{"HEARTH_BLOB_LIBRARIES", install + "/ck_jit"}});
  const Attention attention{};
  const client::Tensor y = attention.traced();
  auto plan = client::prepare({{"y", y}}, daemon.config());
  INFO(plan.status());
  REQUIRE(plan.ok());
  CHECK(attention.error(*plan) < kTolerance);
  const v1::ExplainResponse reply = explained(daemon, y);
  REQUIRE(reply.notes_size() == 1);
  CHECK_THAT(reply.notes(0), Contains("blob fmha_fwd_d64_fp16_batch") && Contains("of libmha"));
}
