// The example decoder: tokens generated with carried state against the whole sequence computed anew for every token.
#include <catch2/catch.hpp>
#include <cmath>

#include "examples/decoder/decoder.h"
#include "hearth/trace.h"
#include "tests/integration/live_daemon.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::examples;
using hearth::integration::LiveDaemon;
using Tokens = std::vector<std::int64_t>;

namespace {

DecoderConfig small_decoder() { return {.vocabulary = 40, .width = 16, .heads = 2, .layers = 2, .max_length = 24}; }

}  // namespace

TEST_CASE("generating with a carried cache gives the tokens of the whole sequence computed anew") {
  const LiveDaemon daemon;
  const Weights weights = Weights::seeded(11);
  auto generator = Generator::make(small_decoder(), weights, daemon.config());
  INFO(generator.status().message());
  REQUIRE(generator.ok());
  // One plan for every length.
  const Decoder model(small_decoder(), weights);
  const Dim t = Dim::variable("t", 1, small_decoder().max_length);
  const auto whole = prepare({{"logits", model.forward(input("tokens", {t}, DType::kI64))}}, daemon.config());
  INFO(whole.status().message());
  REQUIRE(whole.ok());
  auto instance = whole->instantiate();
  REQUIRE(instance.ok());
  int different = 0;
  for (const Tokens& prompt : {Tokens{5}, Tokens{1, 2, 3}, Tokens{39, 0, 17, 17, 4}}) {
    const auto generated = generator->generate(prompt, 12);
    INFO(generated.status().message());
    REQUIRE(generated.ok());
    REQUIRE(generated->size() == 12);
    Tokens sequence = prompt;
    for (std::int64_t token : *generated) {
      REQUIRE(instance->set_var("t", static_cast<std::int64_t>(sequence.size())).ok());
      REQUIRE(instance->bind_input("tokens", sequence.data(), sequence.size() * sizeof(std::int64_t)).ok());
      REQUIRE(instance->execute().ok());
      const auto logits = instance->output("logits");
      const auto* last = static_cast<const float*>(logits->data) + (sequence.size() - 1) * 40;
      CHECK(token == std::max_element(last, last + 40) - last);
      different += token != sequence.back() ? 1 : 0;
      sequence.push_back(token);
    }
  }
  CHECK(different > 12);  // it does not only repeat
  // The same prompt gives the same tokens, whatever was generated before.
  CHECK(*generator->generate({5}, 12) == *generator->generate({5}, 12));
}

TEST_CASE("the generator refuses what does not fit, and goes on") {
  const LiveDaemon daemon;
  auto generator = Generator::make(small_decoder(), Weights::seeded(11), daemon.config());
  REQUIRE(generator.ok());
  CHECK(absl::IsInvalidArgument(generator->generate({}, 1).status()));
  CHECK(absl::IsInvalidArgument(generator->generate({40}, 1).status()));
  CHECK(absl::IsInvalidArgument(generator->generate({-1}, 1).status()));
  CHECK(absl::IsInvalidArgument(generator->generate({1}, 25).status()));
  CHECK(generator->generate({1}, 24)->size() == 24);
}
