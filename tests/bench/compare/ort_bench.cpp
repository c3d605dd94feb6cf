// ONNX Runtime as a peer, by the C interface of the library inside npm's onnxruntime-node: through node itself every
// run costs about 3 µs of JavaScript, as much as a tiny model. Inputs and outputs are allocated once.
//
//   ort_bench LIBRARY MODEL THREADS SECONDS FOLDER NAME=TYPE:SHAPE:FILE.npy... -- OUTPUT...
//
// TYPE is f32 or i64, SHAPE 1x576 (empty for a scalar). Output number i is written, raw, as FOLDER/i.bin.
#include <dlfcn.h>

#include <cstdint>
#include <fstream>
#include <iterator>

#include "tests/bench/compare/bench.h"

namespace {

using hearth::compare::Array;

// The library's interface is a table of functions that only grows at its end, so places in it are stable; these are
// the places (counted in onnxruntime_c_api.h) and signatures of the few that a run needs. Every handle is opaque.
using Handle = void;
using Status = Handle*;
constexpr std::uint32_t kVersion = 17;
struct ApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};
enum Place : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetGraphOptimization = 23,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kCreateTensorWithData = 49,
  kGetTensorData = 51,
  kGetTensorElementType = 60,
  kGetTensorNumDimensions = 61,
  kGetTensorDimensions = 62,
  kGetTensorElementCount = 64,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
};
constexpr int kF32 = 1;
constexpr int kI64 = 7;

const void* const* g_api = nullptr;

template <typename... Arguments>
Status call_raw(Place place, Arguments... arguments) {
  return reinterpret_cast<Status (*)(Arguments...)>(const_cast<void*>(g_api[place]))(arguments...);
}

void check(Status status) {
  if (status == nullptr) return;
  throw std::runtime_error(
      reinterpret_cast<const char* (*)(Status)>(const_cast<void*>(g_api[kGetErrorMessage]))(status));
}

template <typename... Arguments>
void call(Place place, Arguments... arguments) {
  check(call_raw(place, arguments...));
}

void load(const std::string& library) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw std::runtime_error(dlerror());
  const auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(loaded, "OrtGetApiBase"));
  if (base == nullptr) throw std::runtime_error(library + " is not ONNX Runtime");
  g_api = base()->get_api(kVersion);
  if (g_api == nullptr) throw std::runtime_error(library + " is older than ONNX Runtime 1.17");
}

Handle* open_session(const char* model, int threads) {
  Handle* env = nullptr;
  Handle* options = nullptr;
  Handle* session = nullptr;
  call(kCreateEnv, 3, "compare", &env);  // 3: errors only
  call(kCreateSessionOptions, &options);
  call(kSetGraphOptimization, options, 99);  // 99: all
  call(kSetIntraOpThreads, options, threads);
  call(kSetInterOpThreads, options, 1);
  call(kCreateSession, env, model, static_cast<const Handle*>(options), &session);
  return session;
}

struct Tensor {
  std::string name;
  std::shared_ptr<Array> memory;
  Handle* value = nullptr;
};

Tensor tensor_of(const std::string& name, const std::vector<std::int64_t>& shape, int type, std::size_t num_bytes,
                 const Handle* memory_info) {
  Tensor tensor{name, std::make_shared<Array>((num_bytes + 3) / sizeof(float)), nullptr};
  call(kCreateTensorWithData, memory_info, static_cast<void*>(tensor.memory->data()), num_bytes, shape.data(),
       shape.size(), type, &tensor.value);
  return tensor;
}

// NAME=TYPE:SHAPE:FILE.npy
Tensor input(const std::string& spec, const Handle* memory_info) {
  const std::size_t equals = spec.find('=');
  const std::size_t shape_at = spec.find(':', equals);
  const std::size_t file_at = spec.find(':', shape_at + 1);
  if (file_at == std::string::npos) throw std::runtime_error("not NAME=TYPE:SHAPE:FILE: " + spec);
  const bool is_i64 = spec.compare(equals + 1, shape_at - equals - 1, "i64") == 0;
  std::vector<std::int64_t> shape;
  for (std::size_t at = shape_at + 1; at < file_at; at = std::min(spec.find('x', at), file_at) + 1) {
    shape.push_back(std::stoll(spec.substr(at)));
  }
  std::ifstream file(spec.substr(file_at + 1), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < 10) throw std::runtime_error("not an array: " + spec);
  const std::size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  std::size_t num_bytes = is_i64 ? 8 : 4;
  for (const std::int64_t length : shape) num_bytes *= static_cast<std::size_t>(length);
  if (bytes.size() != header + num_bytes) throw std::runtime_error("the array's size does not fit its shape: " + spec);
  Tensor tensor = tensor_of(spec.substr(0, equals), shape, is_i64 ? kI64 : kF32, num_bytes, memory_info);
  std::memcpy(tensor.memory->data(), bytes.data() + header, num_bytes);
  return tensor;
}

// Writes what the first run allocated to `file` and gives a tensor of that shape in huge pages for all other runs.
Tensor output(Handle* first, const std::string& name, const std::string& file, const Handle* memory_info) {
  Handle* made = nullptr;
  int type = 0;
  std::size_t count = 0;
  std::size_t num_dimensions = 0;
  void* data = nullptr;
  call(kGetTensorTypeAndShape, static_cast<const Handle*>(first), &made);
  const Handle* info = made;
  call(kGetTensorElementType, info, &type);
  call(kGetTensorElementCount, info, &count);
  call(kGetTensorNumDimensions, info, &num_dimensions);
  std::vector<std::int64_t> shape(num_dimensions);
  call(kGetTensorDimensions, info, shape.data(), num_dimensions);
  call(kGetTensorData, first, &data);
  if (type != kF32) throw std::runtime_error("output " + name + " is not f32");
  const std::size_t num_bytes = count * sizeof(float);
  std::ofstream(file, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(num_bytes));
  return tensor_of(name, shape, kF32, num_bytes, memory_info);
}

void bench(const std::vector<std::string>& arguments) {
  load(arguments[0]);
  const int threads = std::atoi(arguments[2].c_str());
  Handle* const session = open_session(arguments[1].c_str(), threads);
  Handle* memory_info = nullptr;
  call(kCreateCpuMemoryInfo, 0, 0, &memory_info);  // device allocator, default kind
  std::vector<Tensor> inputs;
  std::vector<const char*> output_names;
  bool is_output = false;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      is_output = true;
    } else if (is_output) {
      output_names.push_back(arguments[i].c_str());
    } else {
      inputs.push_back(input(arguments[i], memory_info));
    }
  }
  std::vector<const char*> input_names;
  std::vector<const Handle*> values;
  for (const Tensor& tensor : inputs) {
    input_names.push_back(tensor.name.c_str());
    values.push_back(tensor.value);
  }
  std::vector<Handle*> outputs(output_names.size(), nullptr);
  const auto run = [&] {
    call(kRun, session, static_cast<const Handle*>(nullptr), input_names.data(), values.data(), values.size(),
         output_names.data(), output_names.size(), outputs.data());
  };
  run();
  std::vector<Tensor> own;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    own.push_back(output(outputs[i], output_names[i], arguments[4] + "/" + std::to_string(i) + ".bin", memory_info));
    outputs[i] = own.back().value;
  }
  hearth::compare::report("model", threads, std::atof(arguments[3].c_str()), {{"all optimizations", run}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr,
                 "usage: ort_bench LIBRARY MODEL THREADS SECONDS FOLDER NAME=TYPE:SHAPE:FILE... -- OUTPUT...\n");
    return 2;
  }
  try {
    bench({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ort_bench: %s\n", error.what());
    return 1;
  }
  std::fflush(stdout);
  std::_Exit(0);  // the session and its threads end with the process
}
