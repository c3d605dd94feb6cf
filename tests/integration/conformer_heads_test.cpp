// The example Conformer whole, with its CTC head and its transducer, beside numpy in f64 (conformer_numpy.py).
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <sstream>

#include "examples/conformer/conformer.h"
#include "examples/conformer/ctc.h"
#include "examples/conformer/transducer.h"
#include "hearth/npy.h"
#include "tests/integration/jit_checks.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::examples;
using namespace hearth::integration;

namespace {

constexpr double kTolerance = 1e-5;
constexpr std::int64_t kWidth = 16, kClasses = 6;

// A batch of three sequences, and what numpy makes of it.
struct Numpy {
  explicit Numpy(Place& place) {
    place.run_ok(
        {"/usr/bin/python3", (source_dir() / "tests/integration/conformer_numpy.py").string(), place.file("")});
    weights = std::make_unique<Weights>(Weights::of(*Safetensors::open(place.file("weights.safetensors"))));
    mel = *read_npy(place.file("mel.npy"));
    encoded = *read_npy(place.file("encoded.npy"));
    ctc = *read_npy(place.file("ctc.npy"));
    std::istringstream text(content(place.file("tokens.txt")));
    for (std::string line; std::getline(text, line);) {
      std::istringstream numbers(line);
      std::vector<std::int64_t> row{std::istream_iterator<std::int64_t>(numbers), {}};
      const bool is_first = lengths.size() == rnnt_tokens.size();
      if (is_first) lengths.push_back(row.front());
      (is_first ? ctc_tokens : rnnt_tokens).emplace_back(row.begin() + (is_first ? 1 : 0), row.end());
    }
  }
  std::unique_ptr<Weights> weights;
  Array mel, encoded, ctc;
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<std::int64_t>> ctc_tokens, rnnt_tokens;
};

void check_close(const ConstView& got, const Array& want, const std::string& what) {
  REQUIRE(got.shape == want.shape);
  const auto values = got.as<float>();
  const auto expected = want.elements<double>();
  REQUIRE((values.ok() && expected.ok()));
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const double apart = std::fabs(static_cast<double>((*values)[i]) - (*expected)[i]);
    if (!(apart <= largest)) largest = apart;
    scale = std::max(scale, std::fabs((*expected)[i]));
  }
  std::cout << what << ": largest difference to numpy " << largest / scale << " of the largest value\n";
  CHECK(largest <= kTolerance * scale);
}

}  // namespace

TEST_CASE("the example Conformer with CTC and transducer heads gives numpy's encodings and tokens") {
  LiveDaemon daemon;
  const Numpy numpy(daemon.place());
  const std::int64_t batch = numpy.mel.shape[0], frames = numpy.mel.shape[2];
  const Conformer model({.mels = 8,
                         .width = kWidth,
                         .heads = 2,
                         .expansion = 2,
                         .kernel = 7,
                         .layers = 2,
                         .max_batch = batch,
                         .max_frames = frames},
                        *numpy.weights);
  auto encoder = ConformerJit(model).prepare_with_config(InputSpec::f32({batch, 8, frames}), InputSpec::i64({batch}),
                                                         daemon.config());
  INFO(encoder.status().message());
  REQUIRE(encoder.ok());
  REQUIRE(copy_into(encoder->mel_mut(), *numpy.mel.elements<float>()).ok());
  REQUIRE(copy_into(encoder->lengths_mut(), numpy.lengths).ok());
  REQUIRE(encoder->execute().ok());
  const auto encoded = encoder->output();
  REQUIRE(encoded.ok());
  check_close(*encoded, numpy.encoded, "Conformer");

  // The head shrinks its largest input, as the encoder does; here both are full.
  const CtcHead ctc({.width = kWidth, .classes = kClasses, .max_batch = batch, .max_frames = encoded->shape[2]},
                    *numpy.weights);
  auto head = CtcHeadJit(ctc).prepare_with_config(InputSpec::f32(Shape(encoded->shape.begin(), encoded->shape.end())),
                                                  daemon.config());
  INFO(head.status().message());
  REQUIRE(head.ok());
  REQUIRE(head->bind_input("encoded", encoded->data, encoded->size_bytes).ok());
  REQUIRE(head->execute().ok());
  check_close(*head->output(), numpy.ctc, "CTC head");
  auto greedy = GreedyTransducer::make(
      Transducer({.width = kWidth, .hidden = 12, .joint = 10, .classes = kClasses, .max_symbols = 3}, *numpy.weights),
      daemon.config());
  INFO(greedy.status().message());
  REQUIRE(greedy.ok());
  const std::vector<float> log_probabilities = values(head->output());
  const std::int64_t total = encoded->shape[2];
  for (std::int64_t i = 0; i < batch; ++i) {
    CAPTURE(i);
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t used = (numpy.lengths[at] + 3) / 4;
    CHECK(ctc_greedy(
              std::span(log_probabilities)
                  .subspan(static_cast<std::size_t>(i * total * kClasses), static_cast<std::size_t>(used * kClasses)),
              kClasses) == numpy.ctc_tokens[at]);
    const auto tokens = greedy->decode(*encoded, i, used);
    INFO(tokens.status().message());
    REQUIRE(tokens.ok());
    CHECK(*tokens == numpy.rnnt_tokens[at]);
  }
  // A second time from a state that was reset.
  CHECK(*greedy->decode(*encoded, 0, (numpy.lengths[0] + 3) / 4) == numpy.rnnt_tokens[0]);
  CHECK(absl::IsInvalidArgument(greedy->decode(*encoded, batch, 1).status()));
  CHECK(absl::IsInvalidArgument(greedy->decode(*encoded, 0, total + 1).status()));
}

TEST_CASE("a CTC path of repeated and blank classes becomes tokens") {
  // Paths over three classes, of which the last is the blank.
  const auto decoded = [](const std::vector<std::int64_t>& path) {
    std::vector<float> rows(path.size() * 3, -5);
    for (std::size_t t = 0; t < path.size(); ++t) rows[3 * t + static_cast<std::size_t>(path[t])] = -0.1F;
    return ctc_greedy(rows, 3);
  };
  using Tokens = std::vector<std::int64_t>;
  CHECK(decoded({}).empty());
  CHECK(decoded({2, 2}).empty());
  CHECK(decoded({0, 0, 1, 1, 0}) == Tokens{0, 1, 0});
  CHECK(decoded({2, 0, 2, 0, 0, 2}) == Tokens{0, 0});
}
