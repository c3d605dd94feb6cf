#include "hearth/prepare.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/cancellation.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/plan_fetcher.h"
#include "client/jit/prepare_encoded.h"
#include "client/jit/prepared_state.h"
#include "client/jit/request.h"
#include "client/trace/encoded_graph.h"
#include "proto/target_limits.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cpu/cpu_target.h"
#include "runtime/replay/loaded_plan.h"

namespace hearth::client {

namespace {

// Sets `value` from the environment, if it is set.
template <typename T>
absl::Status read_env(const char* name, T lowest, T greatest, T* value) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return absl::OkStatus();
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < lowest || number > greatest) {
    return absl::InvalidArgumentError(
        str_cat(name, " is '", text, "'; expected a number from ", lowest, " to ", greatest));
  }
  *value = static_cast<T>(number);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PrepareConfig> PrepareConfig::from_env() {
  PrepareConfig config;
  if (const char* device = std::getenv("HEARTH_DEVICE"); device && *device) {
    const auto names = device_names(device);
    if (!names.ok()) return absl::InvalidArgumentError(str_cat("HEARTH_DEVICE: ", names.status().message()));
    // prepare() takes one of several that is there. No driver is opened here: a child of this process may want it.
    if (names->size() == 1 && !runtime::is_device_name(device)) {
      return absl::InvalidArgumentError(str_cat("HEARTH_DEVICE: ", runtime::find_device(device).status().message()));
    }
    config.device = device;
  }
  std::int64_t deadline_ms = config.deadline.count();
  std::int64_t opt_level = config.opt_level;
  std::int64_t fast_math = 0, direct_convolutions = 0, share_weights = 1, sealed = 0;
  for (const absl::Status& read : {read_env("HEARTH_THREADS", 0, kMaxTargetThreads, &config.threads),
                                   read_env<std::int64_t>("HEARTH_PREPARE_TIMEOUT_MS", 1, 86'400'000, &deadline_ms),
                                   read_env<std::int64_t>("HEARTH_OPT_LEVEL", 0, 2, &opt_level),
                                   read_env<std::int64_t>("HEARTH_FAST_MATH", 0, 1, &fast_math),
                                   read_env<std::int64_t>("HEARTH_DIRECT_CONVOLUTIONS", 0, 1, &direct_convolutions),
                                   read_env<std::int64_t>("HEARTH_SHARE_WEIGHTS", 0, 1, &share_weights),
                                   read_env<std::int64_t>("HEARTH_SEALED", 0, 1, &sealed)}) {
    if (!read.ok()) return read;
  }
  if (const char* text = std::getenv("HEARTH_SUBNORMALS"); text && *text) {
    config.subnormals = subnormals_from_name(text);
    if (!config.subnormals) {
      return absl::InvalidArgumentError(str_cat("HEARTH_SUBNORMALS is '", text, "'; expected keep, results or all"));
    }
  }
  config.deadline = std::chrono::milliseconds(deadline_ms);
  config.opt_level = static_cast<std::uint32_t>(opt_level);
  config.fast_math = fast_math != 0;
  config.direct_convolutions = direct_convolutions != 0;
  config.share_weights = share_weights != 0;
  config.sealed = sealed != 0;
  return config;
}

absl::StatusOr<int> choose_threads(int wanted) {
  if (wanted < 0 || wanted > kMaxTargetThreads) {
    return absl::InvalidArgumentError(str_cat("threads is ", wanted, "; expected 0 (all CPUs) to ", kMaxTargetThreads));
  }
  if (wanted > 0) return wanted;
  int threads = 0;
  HEARTH_RETURN_IF_ERROR(read_env("HEARTH_THREADS", 0, kMaxTargetThreads, &threads));
  return threads > 0 ? threads : runtime::available_cpus();
}

const PrepareStats& PreparedPlan::stats() const { return state_->stats; }
const std::vector<ValueInfo>& PreparedPlan::inputs() const { return state_->plan->inputs(); }
const CallSignature& PreparedPlan::call() const { return state_->call; }
const FixedInputs& PreparedPlan::fixed_inputs() const { return *state_->fixed_inputs; }
const std::vector<ValueInfo>& PreparedPlan::outputs() const { return state_->plan->outputs(); }
const std::vector<VariableInfo>& PreparedPlan::variables() const { return state_->plan->variables(); }
const std::string& PreparedPlan::device() const { return state_->device; }
const std::vector<Carried>& PreparedPlan::carried() const { return state_->carried; }
int PreparedPlan::threads() const { return state_->threads; }
std::size_t PreparedPlan::shared_bytes() const { return state_->plan->shared_bytes(); }

std::vector<Carried> carried_by(const runtime::Plan& plan) {
  std::vector<Carried> all;
  for (const runtime::PlanBuffer& buffer : plan.buffers) {
    if (buffer.carried_to) all.push_back({buffer.name, plan.buffers[*buffer.carried_to].name});
  }
  return all;
}

absl::StatusOr<Instance> PreparedPlan::instantiate() const {
  return instantiate({.threads = state_->threads, .keep_intermediates = state_->keep_intermediates});
}

absl::StatusOr<Instance> PreparedPlan::instantiate(const InstanceConfig& config) const {
  InstanceConfig own = config;
  if (!own.fixed_inputs) own.fixed_inputs = state_->fixed_inputs;
  absl::StatusOr<Instance> instance = runtime::create_instance(state_->plan, own);
  for (const Carried& carried : state_->carried) {  // an older daemon's plan does not say it
    if (!instance.ok()) break;
    HEARTH_RETURN_IF_ERROR(instance->carry(carried.output, carried.input));
  }
  return instance;
}

void connect_early(const PrepareConfig& config) {
  const absl::StatusOr<std::shared_ptr<DaemonChannel>> channel =
      DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start});
  if (channel.ok()) (*channel)->connect_early();
}

// On the one device that `config` names, of a call that began at `start`.
static absl::StatusOr<std::shared_ptr<PreparedPlan::State>> prepare_on_device(
    std::chrono::steady_clock::time_point start, const EncodedGraph& traced, const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(v1::PrepareRequest request, request_for<v1::PrepareRequest>(traced, config));
  const int threads = static_cast<int>(request.target().threads());
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<DaemonChannel> channel,
                          DaemonChannel::get({.socket = config.socket, .auto_start = config.auto_start}));
  HEARTH_ASSIGN_OR_RETURN(FetchedPlan stored,
                          fetch_plan(*channel, std::move(request), traced, config, start + config.deadline));
  auto state = std::make_shared<PreparedPlan::State>();
  state->plan = std::move(stored.plan);
  state->plan_bytes = std::move(stored.plan_bytes);
  state->source = std::move(stored.source);
  state->source.plan = state->plan_bytes;
  state->stats = std::move(stored.stats);
  state->device = state->plan->device().name();
  state->stats.device_notes = state->plan->device().notes();
  state->threads = threads;
  state->keep_intermediates = config.keep_intermediates;
  state->share_weights = config.share_weights;
  state->carried = config.carried.empty() ? carried_by(state->plan->plan()) : config.carried;
  state->fixed_inputs = std::make_shared<FixedInputs>(config.fixed_inputs);
  state->channel = channel;
  state->lease = std::make_shared<PlanLease>(channel, stored.lease_id);
  state->stats.prepare_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return state;
}

// On the first device of those that `config` names, of a call that began at `start`.
static absl::StatusOr<PreparedPlan> prepare_since(std::chrono::steady_clock::time_point start,
                                                  const EncodedGraph& traced, const PrepareConfig& config) {
  const CancelScope scope(config.cancelled);
  std::vector<std::string> moved;
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, devices_in_order(config.device, &moved));
  std::vector<std::string> passed_over;
  for (const std::string& name : names) {
    PrepareConfig one = config;
    one.device = name;
    absl::StatusOr<std::shared_ptr<PreparedPlan::State>> plan = prepare_on_device(start, traced, one);
    if (plan.ok()) {
      if (runtime::runs_on_host(name)) passed_over.insert(passed_over.end(), moved.begin(), moved.end());
      (*plan)->stats.passed_over = std::move(passed_over);
      return PreparedPlan(*std::move(plan));
    }
    const bool may_go_on = !absl::IsDeadlineExceeded(plan.status()) && !absl::IsCancelled(plan.status());
    if (names.size() == 1 || !may_go_on) return plan.status();
    passed_over.push_back(str_cat(name, ": ", plan.status().message()));
    if (passed_over.size() == names.size()) return absl::Status(plan.status().code(), absl::StrJoin(passed_over, "; "));
  }
  return absl::InternalError("no device was tried");  // there is one
}

absl::StatusOr<PreparedPlan> prepare(const EncodedGraph& graph, const PrepareConfig& config) {
  return prepare_since(std::chrono::steady_clock::now(), graph, config);
}

absl::StatusOr<PreparedPlan> prepare(const TracedGraph& traced, const PrepareConfig& config) {
  return prepare(traced.encoded(), config);
}

absl::StatusOr<PreparedPlan> prepare(const NamedTensors& outputs, const PrepareConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  connect_early(config);
  HEARTH_ASSIGN_OR_RETURN(EncodedGraph traced, encode_graph(outputs));
  return prepare_since(start, traced, config);
}

}  // namespace hearth::client
