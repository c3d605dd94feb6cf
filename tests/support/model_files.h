// Where tests find models. The build makes those that every test needs (tests/models); HEARTH_TEST_MODELS names a folder
// of more, of the same form, whose files come first.
//
//   const fs::path model = test::model_file("silero_vad.onnx");
//   if (model.empty()) SKIP_CASE(test::no_model("silero_vad.onnx"));
#pragma once
#include <filesystem>
#include <string>

namespace hearth::test {

// Empty where neither folder has it. A recording and its probabilities are of one folder: one that has only one of the
// two is not asked for either.
std::filesystem::path model_file(const std::string& name);
// What is missing, and what brings it.
std::string no_model(const std::string& name);

// The folder that the build made, beside bin/. Its bench/ has workloads with inputs and numpy's results.
std::filesystem::path made_models();

}  // namespace hearth::test
