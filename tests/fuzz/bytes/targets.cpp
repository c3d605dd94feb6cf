#include <google/protobuf/stubs/logging.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "client/trace/encoded_graph.h"
#include "compiler/passes/import/import.h"
#include "daemon/config.h"
#include "daemon/worker_pool/framing.h"
#include "hearth/npy.h"
#include "hearth/onnx.h"
#include "hearth/safetensors.h"
#include "hearth/v1/worker.pb.h"
#include "runtime/devices/devices.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/conformance/ops/random_graph.h"
#include "tests/fuzz/bytes/onnx_structure_target.h"
#include "tests/fuzz/bytes/pack_target.h"
#include "tests/fuzz/bytes/plan_file_target.h"
#include "tests/fuzz/bytes/remote_target.h"
#include "tests/fuzz/bytes/target.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

// A refusal is the sender's fault and says something.
std::string wrong_refusal(const absl::Status& status) {
  if (status.message().empty()) return "a refusal without a word";
  if (absl::IsInternal(status) || absl::IsUnknown(status)) return absl::StrCat("a refusal as ", status.ToString());
  return "";
}

template <class T>
std::string verdict(const absl::StatusOr<T>& result, Answer* answer) {
  answer->accepted = result.ok();
  answer->message = std::string(result.status().message());
  return result.ok() ? "" : wrong_refusal(result.status());
}

template <class Message>
std::function<std::string(const std::string&, Random&)> by_message() {
  return [](const std::string& bytes, Random& random) {
    if (random.one_in(4)) return mutated_bytes(bytes, random);
    Message message;
    message.ParseFromString(bytes);
    mutate_message(message, random);
    return message.SerializePartialAsString();
  };
}

Target npy() {
  const std::string path = testing::scratch_folder() + "/sound.npy";
  Target target{"npy", {}, [](const std::string& bytes, Answer* answer) {
                  return verdict(client::parse_npy(bytes, "fuzz.npy"), answer);
                }};
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
    const std::string data(24, '\1');
    const std::int64_t elements = 24 / static_cast<std::int64_t>(dtype_bytes(dtype));
    client::write_npy(path, dtype, {elements, 1}, data.data(), data.size()).IgnoreError();
    target.corpus.push_back(runtime::read_file(path).value());
  }
  target.num_inputs = 1500;
  return target;
}

Target safetensors() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header + std::string(24, '\2');
  return {"safetensors",
          {file},
          [](const std::string& bytes, Answer* answer) {
            const auto owner = std::make_shared<std::string>(bytes);
            const auto parsed = client::Safetensors::parse(*owner, "fuzz.safetensors", owner);
            if (parsed.ok()) {
              for (const auto& [name, array] : parsed->tensors()) {  // every byte that is promised is there
                const auto* data = static_cast<const char*>(array.data);
                volatile char last = array.size_bytes == 0 ? '\0' : data[array.size_bytes - 1];
                static_cast<void>(last);
              }
            }
            return verdict(parsed, answer);
          },
          {},
          1500};
}

Target onnx_model() {
  onnx::ModelBuilder m(17), branch(17);
  branch.node("Relu", {"x"}, {"z"}).output("z");
  m.input("x", {2, 3}).symbolic_input("s", {"n", "m"}).floats("w", {3, 4}, std::vector<float>(12, 1));
  m.ints("axes", {1}, {1}).ints("shape", {2}, {3, 2});
  m.node("MatMul", {"x", "w"}, {"y"}).node("Reshape", {"x", "shape"}, {"r"}).node("Softmax", {"y"}, {"p"});
  m.attr("axis", std::int64_t{1}).node("ReduceSum", {"s", "axes"}, {"t"}).node("Add", {"s", "t"}, {"u"});
  m.output("p").output("r").output("u");
  return {"ONNX model",
          {m.proto().SerializeAsString()},
          [](const std::string& bytes, Answer* answer) {
            const auto model = onnx::import_model_bytes(bytes, "fuzz.onnx", {.dims = {{"n", {1, 8}}, {"m", 3}}});
            if (model.ok()) client::encode_graph(model->outputs).IgnoreError();
            return verdict(model, answer);
          },
          mutated_wire,
          1500};
}

Target traced_graph() {
  Target target{"traced graph",
                {},
                [](const std::string& bytes, Answer* answer) -> std::string {
                  v1::Graph graph;
                  if (!graph.ParseFromString(bytes)) return "";
                  ir::Graph arena;
                  return verdict(passes::import_graph(arena, graph), answer);
                },
                by_message<v1::Graph>(),
                2500};
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    target.corpus.push_back(conformance::random_graph(seed).graph.SerializeAsString());
  return target;
}

// What is accepted is loaded and replayed on the null device, which touches every buffer that a launch names.
std::string replay(const std::string& bytes, Answer* answer) {
  const auto parsed = runtime::parse_plan(bytes);
  if (!parsed.ok()) return verdict(parsed, answer);
  if (parsed->arena_bytes + parsed->persistent_bytes > (64u << 20)) return "";  // legal, and no use here
  std::map<std::string, std::string> memory;
  runtime::LoadRequest request;
  request.plan = bytes;
  request.find = &runtime::find_device;
  for (const runtime::PlanBuffer& buffer : parsed->buffers) {
    if (buffer.max_bytes > (64u << 20)) return "";
    if (buffer.kind == v1::PlanBuffer::PARAMETER) {
      std::string& data = memory[buffer.name] = std::string(buffer.max_bytes, '\0');
      request.parameters[buffer.name] = {data.data(), data.size(), nullptr};
    }
  }
  const auto loaded = runtime::LoadedPlan::create(request);
  if (!loaded.ok()) return verdict(loaded, answer);
  answer->accepted = true;
  auto instance = runtime::create_instance(*loaded, {});
  if (!instance.ok()) return wrong_refusal(instance.status());
  for (const runtime::VariableInfo& variable : (*loaded)->variables()) {
    for (const std::int64_t value : {variable.min, variable.max}) {
      if (!instance->set_var(variable.name, value).ok()) return "a variable refuses its own bound";
    }
  }
  for (const runtime::PlanBuffer& buffer : parsed->buffers) {
    if (buffer.kind != v1::PlanBuffer::INPUT) continue;
    const auto view = instance->input(buffer.name);
    if (view.ok()) {
      std::memset(view->data, 1, view->size_bytes);
    } else if (!instance->set_carried(buffer.name).ok()) {  // a plan may carry an output to it
      return "an input is not there: " + std::string(view.status().message());
    }
  }
  if (absl::Status ran = instance->execute(); !ran.ok()) return wrong_refusal(ran);
  for (const runtime::ValueInfo& output : (*loaded)->outputs()) {
    const auto view = instance->output(output.name);
    if (!view.ok()) return "an output is not there: " + std::string(view.status().message());
    std::string copy(static_cast<const char*>(view->data), view->size_bytes);
  }
  return "";
}

// The output becomes the next run's "y".
void carry_output(v1::Plan& plan) {
  const auto is_y = [](const v1::PlanBuffer& buffer) { return buffer.name() == "y"; };
  const auto y = std::find_if(plan.buffers().begin(), plan.buffers().end(), is_y);
  const auto index = static_cast<std::uint32_t>(y - plan.buffers().begin());
  for (v1::PlanBuffer& buffer : *plan.mutable_buffers()) {
    if (buffer.kind() == v1::PlanBuffer::OUTPUT) buffer.set_carried_to(index);
  }
}

Target plan() {
  Target target{"plan", {}, replay, by_message<v1::Plan>(), 2500};
  for (const bool symbolic : {false, true}) {
    v1::Plan plan = testing::saxpy_plan(100, symbolic).plan;
    plan.mutable_target()->set_device("null");
    for (v1::PlanKernel& kernel : *plan.mutable_kernels()) kernel.clear_artifact();
    target.corpus.push_back(plan.SerializeAsString());
    carry_output(plan);
    target.corpus.push_back(plan.SerializeAsString());
  }
  return target;
}

Target config_file() {
  const std::string path = testing::scratch_folder() + "/fuzz.toml";
  return {"configuration",
          {"socket = \"/tmp/h.sock\"\ncache_limit = \"10GiB\"\nworkers = 3\nlog_level = \"info\"\ndrain_s = 2.5\n"
           "blob_libraries = \"/a:/b\"\nallow_network_fs = false\n"},
          [path](const std::string& bytes, Answer* answer) {
            std::ofstream(path, std::ios::binary) << bytes;
            const char* const words[] = {"hearthd", "--config", path.c_str()};
            const auto config = daemon::load_config(3, words);
            std::string what = verdict(config, answer);
            if (what.empty() && !config.ok() && std::string(config.status().message()).find('\n') != std::string::npos)
              what = "an error of more than one line";
            return what;
          },
          {},
          1000};
}

// Both ends' messages, as they come over the socket between daemon and worker, until the stream ends.
Target worker_frames() {
  const auto framed = [](const google::protobuf::Message& message) {
    const std::string bytes = message.SerializeAsString();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    return std::string(reinterpret_cast<const char*>(&size), 4) + bytes;
  };
  v1::WorkerReply reply;
  reply.set_id(7);
  reply.mutable_compiled()->mutable_artifact()->set_data("ELF");
  v1::WorkerRequest request;
  request.set_id(7);
  *request.mutable_lower() = conformance::random_graph(3).graph;
  return {
      "worker frames",
      {framed(reply) + framed(reply), framed(request), framed(request) + framed(reply)},
      [](const std::string& bytes, Answer* answer) -> std::string {
        constexpr std::uint32_t kLimit = 1u << 20;
        for (google::protobuf::Message* message : {static_cast<google::protobuf::Message*>(new v1::WorkerReply),
                                                   static_cast<google::protobuf::Message*>(new v1::WorkerRequest)}) {
          const std::unique_ptr<google::protobuf::Message> owned(message);
          int ends[2];
          if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "no socket pair";
          const std::string sent = bytes.substr(0, 60'000);  // what the socket holds without a reader
          const bool wrote = send(ends[0], sent.data(), sent.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(sent.size());
          close(ends[0]);
          absl::Status status;
          while (wrote && (status = daemon::read_frame(ends[1], *message, kLimit, daemon::wait_for_ever)).ok())
            answer->accepted = true;
          close(ends[1]);
          if (!wrote) return "the socket takes no bytes";
          if (!absl::IsOutOfRange(status) && !absl::IsUnavailable(status) && !absl::IsDataLoss(status))
            return status.ToString();
        }
        return "";
      },
      {},
      2000};
}

}  // namespace

std::string mutant_of(const Target& target, Random& random) {
  const std::string& base = random.pick(target.corpus);
  return target.mutate ? target.mutate(base, random) : mutated_bytes(base, random);
}

const std::vector<Target>& targets() {
  google::protobuf::SetLogHandler(nullptr);  // says once a mutant that a string is no UTF-8
  static const std::vector<Target> all = {npy(),           safetensors(),  onnx_model(),       onnx_structure(),
                                          traced_graph(),  plan(),         plan_file(),        config_file(),
                                          worker_frames(), remote_reply(), remote_statement(), pack()};
  return all;
}

}  // namespace hearth::fuzz
