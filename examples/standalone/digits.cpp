// A program of its own, against an installed Hearth: classifies images with an ONNX model.
//   digits MODEL.onnx IMAGES.npy LABELS.npy
#include <hearth/evaluate.h>
#include <hearth/npy.h>
#include <hearth/onnx.h>
#include <hearth/ops.h>
#include <hearth/prepare.h>

#include <algorithm>
#include <cstdio>

namespace {

absl::Status classify(const char* model_path, const char* images_path, const char* labels_path) {
  const absl::StatusOr<hearth::Array> images = hearth::read_npy(images_path);
  if (!images.ok()) return images.status();
  const absl::StatusOr<hearth::Array> labels = hearth::read_npy(labels_path);
  if (!labels.ok()) return labels.status();
  const absl::StatusOr<hearth::onnx::ImportedModel> model = hearth::onnx::import_model(model_path);
  if (!model.ok()) return model.status();

  const absl::StatusOr<hearth::PreparedPlan> plan = hearth::prepare(model->outputs);  // compiled once per node
  if (!plan.ok()) return plan.status();
  absl::StatusOr<hearth::Instance> run = plan->instantiate();
  if (!run.ok()) return run.status();
  absl::Status status = run->bind_input(model->inputs[0].name, images->bytes.data(), images->bytes.size());
  if (status.ok()) status = run->execute();  // as often as you like
  if (!status.ok()) return status;

  const absl::StatusOr<hearth::ConstView> output = run->output(model->results[0].name);
  if (!output.ok()) return output.status();
  const auto probability = output->as<float>();
  const auto expected = labels->elements<std::int64_t>();
  if (!probability.ok()) return probability.status();
  if (!expected.ok()) return expected.status();
  const std::size_t classes = probability->size() / expected->size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const auto row = probability->subspan(i * classes, classes);
    right += std::max_element(row.begin(), row.end()) - row.begin() == (*expected)[i] ? 1 : 0;
  }
  std::printf("%zu of %zu right, %u of %u kernels compiled now\n", right, expected->size(),
              plan->stats().compiled_kernels, plan->stats().kernels);

  // The same without a model: tensors are recorded as they are written, and evaluated in one call.
  const std::vector<float> numbers = {1, 2, 3, 4};
  const hearth::Tensor x = hearth::parameter("x", {2, 2}, hearth::DType::kF32, hearth::bytes_of(numbers));
  const absl::StatusOr<hearth::Array> y = (hearth::matmul(x, x) + 0.5).evaluate();
  if (!y.ok()) return y.status();
  std::printf("matmul: %g\n", static_cast<double>((*y->elements<float>())[3]));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: digits MODEL.onnx IMAGES.npy LABELS.npy\n");
    return 2;
  }
  const absl::Status status = classify(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "digits: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
