#include "tests/support/model_files.h"

#include <cstdlib>

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRecording = "speech_16k.wav";
constexpr const char* kProbabilities = "silero_probs_speech_16k.txt";

bool is_asked_for(const fs::path& folder, const std::string& name) {
  if (name != kRecording && name != kProbabilities) return true;
  return fs::exists(folder / kRecording) && fs::exists(folder / kProbabilities);
}

}  // namespace

fs::path made_models() {
  const char* bin = std::getenv("HEARTH_BIN_DIR");
  const fs::path programs = bin != nullptr ? fs::absolute(bin) : fs::read_symlink("/proc/self/exe").parent_path();
  return (programs / ".." / "test_models").lexically_normal();
}

fs::path model_file(const std::string& name) {
  const char* more = std::getenv("HEARTH_TEST_MODELS");
  if (more != nullptr && fs::exists(fs::path(more) / name) && is_asked_for(more, name))
    return fs::absolute(fs::path(more) / name).lexically_normal();
  const fs::path made = made_models() / name;
  return fs::exists(made) ? made : fs::path();
}

std::string no_model(const std::string& name) {
  return name +
         " is not there: scripts/python.sh venv takes it out of the package silero-vad where an index answers, " +
         "HEARTH_TEST_MODELS names a folder that has it";
}

}  // namespace hearth::test
