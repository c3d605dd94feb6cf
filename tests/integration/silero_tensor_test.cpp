// Silero VAD written in the Tensor API, over a minute of speech: with the weights of the ONNX file against
// the file's own probabilities, and with those of the safetensors file (another training) against numpy.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/onnx/model_file.h"
#include "hearth_onnx.pb.h"
#include "tests/integration/place.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"

using namespace hearth::integration;

namespace {

constexpr std::size_t kChunks = 1875;
constexpr std::size_t kNumpyChunks = 300;
constexpr double kTolerance = 1e-5;  // measured: 1.2e-6 and 8.6e-7

std::vector<double> numbers(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<double>(stream), {}};
}

double largest_difference(const std::vector<double>& got, const std::vector<double>& want) {
  double largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::fabs(got.at(i) - want[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

std::vector<double> detect(Place& place, const std::string& model) {
  const std::string probabilities = place.file("probabilities.txt");
  const Ran ran =
      place.run({"silero_vad", "--model", model, "--wav", hearth::test::model_file("speech_16k.wav").string(),
                 "--probs", probabilities, "--threads", "1"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return numbers(content(probabilities));
}

// A safetensors file with the ONNX model's initializers under the names that the Tensor API's model asks for.
std::string with_weights_of(const fs::path& onnx) {
  static const std::pair<const char*, const char*> kNames[] = {
      {"stft_conv.weight", "model.stft.forward_basis_buffer"}, {"conv1.weight", "model.encoder.0.reparam_conv.weight"},
      {"conv1.bias", "model.encoder.0.reparam_conv.bias"},     {"conv2.weight", "model.encoder.1.reparam_conv.weight"},
      {"conv2.bias", "model.encoder.1.reparam_conv.bias"},     {"conv3.weight", "model.encoder.2.reparam_conv.weight"},
      {"conv3.bias", "model.encoder.2.reparam_conv.bias"},     {"conv4.weight", "model.encoder.3.reparam_conv.weight"},
      {"conv4.bias", "model.encoder.3.reparam_conv.bias"},     {"lstm_cell.weight_ih", "model.decoder.rnn.weight_ih"},
      {"lstm_cell.weight_hh", "model.decoder.rnn.weight_hh"},  {"lstm_cell.bias_ih", "model.decoder.rnn.bias_ih"},
      {"lstm_cell.bias_hh", "model.decoder.rnn.bias_hh"},      {"final_conv.weight", "model.decoder.decoder.2.weight"},
      {"final_conv.bias", "model.decoder.decoder.2.bias"}};
  const auto model = hearth::onnx::read_model(onnx.string());
  if (!model.ok()) throw std::runtime_error(std::string(model.status().message()));
  nlohmann::json header;
  std::string data;
  for (const auto& [name, initializer] : kNames) {
    for (const ::hearth_onnx::TensorProto& tensor : (*model)->proto().graph().initializer()) {
      if (tensor.name() != initializer) continue;
      const auto array = hearth::onnx::to_host_tensor(tensor, *model);
      header[name] = {
          {"dtype", "F32"}, {"shape", array.shape()}, {"data_offsets", {data.size(), data.size() + array.bytes()}}};
      data.append(array.data(), array.bytes());
    }
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data;
}

}  // namespace

TEST_CASE("Silero VAD in the Tensor API with the ONNX file's weights gives ONNX Runtime's probabilities") {
  const fs::path onnx = hearth::test::model_file("silero_vad_16k_op15.onnx");
  if (onnx.empty()) SKIP_CASE(hearth::test::no_model("silero_vad_16k_op15.onnx"));
  Place place;
  const auto got = detect(place, place.write("onnx_weights.safetensors", with_weights_of(onnx)));
  const auto want = numbers(content(hearth::test::model_file("silero_probs_speech_16k.txt")));
  REQUIRE(want.size() == kChunks);
  REQUIRE(got.size() == kChunks);
  const double difference = largest_difference(got, want);
  std::cout << "Silero VAD, Tensor API: " << kChunks << " probabilities, largest difference to ONNX Runtime "
            << difference << "\n";
  CHECK(difference <= kTolerance);
}

TEST_CASE("Silero VAD in the Tensor API with the safetensors file's weights gives numpy's probabilities") {
  const fs::path weights = hearth::test::model_file("silero_vad_16k.safetensors");
  if (weights.empty()) SKIP_CASE(hearth::test::no_model("silero_vad_16k.safetensors"));
  Place place;
  const auto got = detect(place, weights.string());
  REQUIRE(got.size() == kChunks);
  const Ran numpy =
      place.run({"/usr/bin/python3", (source_dir() / "tests/integration/silero_numpy.py").string(), weights.string(),
                 hearth::test::model_file("speech_16k.wav").string(), std::to_string(kNumpyChunks)});
  INFO(numpy.err);
  REQUIRE(numpy.code == 0);
  const auto want = numbers(numpy.out);
  REQUIRE(want.size() == kNumpyChunks);
  const double difference = largest_difference(got, want);
  std::cout << "Silero VAD, Tensor API: " << kNumpyChunks << " probabilities, largest difference to numpy "
            << difference << "\n";
  CHECK(difference <= kTolerance);
}

TEST_CASE("the detector refuses weights that are not Silero VAD's by the missing name") {
  Place place;
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::uint64_t length = header.size();
  const std::string other =
      place.write("other.safetensors",
                  std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + std::string(4, '\0'));
  const std::string wav = hearth::test::model_file("speech_16k.wav").string();
  const Ran ran = place.run({"silero_vad", "--model", other, "--wav", wav});
  CHECK(ran.code == 1);
  CHECK_THAT(ran.err, Catch::Matchers::Contains("there is no tensor 'stft_conv.weight'"));
}
