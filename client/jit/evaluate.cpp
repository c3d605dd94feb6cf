#include "hearth/evaluate.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/strings/str_join.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/jit/instance_pool.h"
#include "client/jit/prepare_encoded.h"
#include "client/trace/encoded_graph.h"

namespace hearth::client {
namespace {

// What evaluate() has prepared in this process, the most recently used first.
class EvaluatedPlans {
 public:
  static EvaluatedPlans& of_process() {
    static auto* const plans = new EvaluatedPlans;  // never destroyed: other threads may evaluate while a process ends
    return *plans;
  }

  std::shared_ptr<InstancePool> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    ++(found == by_key_.end() ? stats_.misses : stats_.hits);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().second;
  }
  void add(const std::string& key, std::shared_ptr<InstancePool> plan) {
    std::vector<std::shared_ptr<InstancePool>> gone;  // destroyed unlocked
    const std::lock_guard lock(mutex_);
    if (by_key_.contains(key)) return;  // another thread's, of the same graph at the same time
    entries_.emplace_front(key, std::move(plan));
    by_key_[key] = entries_.begin();
    while (entries_.size() > kMaxEvaluatedPlans) {
      gone.push_back(std::move(entries_.back().second));
      by_key_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }
  EvaluateStats stats() {
    const std::lock_guard lock(mutex_);
    EvaluateStats stats = stats_;
    stats.plans = entries_.size();
    return stats;
  }

 private:
  using Entries = std::list<std::pair<std::string, std::shared_ptr<InstancePool>>>;
  std::mutex mutex_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_key_;
  EvaluateStats stats_;
};

// What decides the plan: the graph's bytes (equal graphs have equal ones), its parameters and the configuration. A
// parameter with an owner is its address, which the plan keeps; a borrowed one is its bytes as they are now.
std::string key_of(const EncodedGraph& graph, const PrepareConfig& config) {
  std::string text = graph.graph.SerializeAsString();
  text = str_cat(text.size(), "|", text, "|", config.socket, "|", config.device, "|", config.threads, "|",
                 config.opt_level, config.fast_math, config.direct_convolutions, config.keep_intermediates,
                 subnormals_name(config.subnormals.value_or(Subnormals::kResults)));
  for (const auto& [name, data] : graph.parameters) {
    str_append(&text, "|", name.size(), "|", name, "|", data.size, "|");
    if (data.owner) {
      str_append(&text, "at ", reinterpret_cast<std::uintptr_t>(data.data));
    } else {
      text += to_bytes(sha256({static_cast<const char*>(data.data), data.size}));
    }
  }
  return to_bytes(sha256(text));
}

// The plan outlives the call, so borrowed parameters become its own.
void own_parameters(EncodedGraph& graph) {
  for (auto& [name, data] : graph.parameters) {
    if (!data.owner && data.size > 0) data = own_bytes(std::string(static_cast<const char*>(data.data), data.size));
  }
}

std::string text_of(DType dtype, const std::vector<std::int64_t>& shape) {
  return str_cat(dtype_name(dtype), " [", absl::StrJoin(shape, ", "), "]");
}

// Unnamed parameters are inputs here: the plan is the same whatever they hold.
InputArrays take_unnamed(EncodedGraph& graph) {
  InputArrays arrays;
  for (int i = 0; i < graph.graph.nodes_size(); ++i) {
    v1::Node& node = *graph.graph.mutable_nodes(i);
    if (node.op() != v1::PARAMETER || !graph.unnamed.contains(node.name())) continue;
    node.set_op(v1::INPUT);
    const ParameterData& data = graph.parameters.at(node.name());
    arrays[node.name()] = {data.data, data.size, static_cast<DType>(node.dtype()),
                           const_shape(graph.shapes[static_cast<std::size_t>(i)])};
  }
  for (const std::string& name : graph.unnamed) graph.parameters.erase(name);
  return arrays;
}

absl::Status check_inputs(const EncodedGraph& graph, const InputArrays& inputs) {
  if (graph.graph.vars_size() > 0) {
    return absl::InvalidArgumentError(
        str_cat("evaluate: the graph has the variable '", graph.graph.vars(0).name(),
                "', whose value evaluate() is not given; prepare() it and use Instance::set_var"));
  }
  std::size_t read = 0;
  for (int i = 0; i < graph.graph.nodes_size(); ++i) {
    const v1::Node& node = graph.graph.nodes(i);
    if (node.op() != v1::INPUT) continue;
    const auto given = inputs.find(node.name());
    if (given == inputs.end()) {
      return absl::InvalidArgumentError(str_cat("evaluate: input '", node.name(), "' is not given; pass {{\"",
                                                node.name(), "\", array}} beside the tensors"));
    }
    ++read;
    if (absl::Status checked = check_array(given->second, str_cat("input '", node.name(), "'")); !checked.ok())
      return checked;
    const auto dtype = static_cast<DType>(node.dtype());
    const std::vector<std::int64_t> shape = const_shape(graph.shapes[static_cast<std::size_t>(i)]);
    if (given->second.dtype != dtype || given->second.shape != shape) {
      return absl::InvalidArgumentError(str_cat("evaluate: input '", node.name(), "' is ", text_of(dtype, shape), ", ",
                                                text_of(given->second.dtype, given->second.shape), " is given"));
    }
  }
  if (read == inputs.size()) return absl::OkStatus();
  for (const auto& [name, array] : inputs) {
    const auto& nodes = graph.graph.nodes();
    if (std::none_of(nodes.begin(), nodes.end(), [&, &wanted = name](const v1::Node& node) {
          return node.op() == v1::INPUT && node.name() == wanted;
        }))
      return absl::InvalidArgumentError(str_cat("evaluate: no tensor reads an input '", name, "'"));
  }
  return absl::OkStatus();
}

absl::Status run(Instance& instance, const PreparedPlan& plan, const InputArrays& inputs, std::vector<Array>* results) {
  std::vector<std::unique_ptr<char[]>> copies;  // of what is not aligned to its elements
  for (const ValueInfo& info : plan.inputs()) {
    const ArrayView& given = inputs.at(info.name);
    const void* data = given.data;
    if (reinterpret_cast<std::uintptr_t>(data) % dtype_bytes(given.dtype) != 0) {
      copies.push_back(std::make_unique<char[]>(given.size_bytes));
      std::memcpy(copies.back().get(), data, given.size_bytes);
      data = copies.back().get();
    }
    HEARTH_RETURN_IF_ERROR(instance.bind_input(info.name, data, given.size_bytes));
  }
  HEARTH_RETURN_IF_ERROR(instance.execute());
  for (const ValueInfo& info : plan.outputs()) {
    HEARTH_ASSIGN_OR_RETURN(const ConstView view, instance.output(info.name));
    results->push_back(copy_of(view));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Array>> evaluate(const std::vector<Tensor>& tensors, const InputArrays& inputs,
                                            const PrepareConfig& config) {
  if (tensors.empty()) return std::vector<Array>();
  NamedTensors named;
  for (const Tensor& tensor : tensors) named.emplace_back(str_cat("out", named.size()), tensor);
  HEARTH_ASSIGN_OR_RETURN(EncodedGraph graph, encode_graph(named));
  HEARTH_RETURN_IF_ERROR(check_inputs(graph, inputs));
  InputArrays arrays = take_unnamed(graph);  // `tensors` keep their bytes
  arrays.insert(inputs.begin(), inputs.end());
  const std::string key = key_of(graph, config);
  std::shared_ptr<InstancePool> pool = EvaluatedPlans::of_process().find(key);
  if (!pool) {
    own_parameters(graph);
    PrepareConfig own = config;
    own.carried.clear();  // there is no next run
    HEARTH_ASSIGN_OR_RETURN(PreparedPlan plan, prepare(graph, own));
    pool = std::make_shared<InstancePool>(std::move(plan));
    EvaluatedPlans::of_process().add(key, pool);
  }
  HEARTH_ASSIGN_OR_RETURN(Instance instance, pool->take());
  std::vector<Array> results;
  const absl::Status ran = run(instance, pool->plan(), arrays, &results);
  pool->give_back(std::move(instance));
  if (!ran.ok()) return ran;
  return results;
}

EvaluateStats evaluate_stats() { return EvaluatedPlans::of_process().stats(); }

absl::StatusOr<Array> Tensor::evaluate() const { return evaluate(PrepareConfig()); }

absl::StatusOr<Array> Tensor::evaluate(const PrepareConfig& config) const {
  HEARTH_ASSIGN_OR_RETURN(std::vector<Array> results, client::evaluate({*this}, {}, config));
  return std::move(results.front());
}

}  // namespace hearth::client
