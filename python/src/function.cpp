#include "function.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>

#include "dtypes.h"
#include "errors.h"
#include "hearth/plan_file.h"
#include "interpreter.h"
#include "stream.h"
#include "tensor.h"
#include "watch.h"

namespace hearth::python {
namespace {

// Instances that so many calls did not need are given up: seldom enough to cost a call nothing, and a burst of threads
// leaves no memory behind for long.
constexpr std::size_t kCallsBetweenTrims = 256;

// 4, or "batch".
nb::tuple shape_of(const std::vector<std::string>& lengths) {
  nb::list shape;
  for (const std::string& length : lengths) {
    const bool is_number = length.find_first_not_of("0123456789") == std::string::npos;
    shape.append(is_number ? nb::object(nb::int_(std::stoll(length))) : text_of(length));
  }
  return nb::tuple(shape);
}

nb::object types(const char* name) { return nb::module_::import_("hearth._types").attr(name); }

}  // namespace

nb::tuple inputs_of(const Signature& signature) {
  const nb::object value = types("Value");
  nb::list all;
  for (const Parameter& parameter : signature.parameters)
    all.append(value(parameter.key, nb::str(name_of_elements(parameter.dtype, parameter.stored).c_str()),
                     shape_of(parameter.lengths)));
  return nb::tuple(all);
}

nb::tuple names_of(const Signature& signature, Parameter::Kind kind) {
  nb::list all;
  for (const Parameter& parameter : signature.parameters)
    if (parameter.kind == kind) all.append(parameter.key);
  return nb::tuple(all);
}

nb::tuple outputs_of(const Signature& signature) {
  const nb::object value = types("Value");
  nb::list all;
  for (const Result& result : signature.results)
    all.append(value(text_of(result.name), nb::str(name_of_elements(result.dtype, result.stored).c_str()),
                     shape_of(result.lengths)));
  return nb::tuple(all);
}

namespace {

nb::tuple variables(const Function& function) {
  const nb::object variable = types("Variable");
  nb::list all;
  for (const client::VariableInfo& info : function.plan().variables())
    all.append(variable(text_of(info.name), info.min, info.max, info.unit));
  return nb::tuple(all);
}

nb::object stats(const Function& function) {
  const client::PrepareStats& of = function.plan().stats();
  nb::list passed_over, notes;
  for (const std::string& line : of.passed_over) passed_over.append(text_of(line));
  for (const std::string& line : of.device_notes) notes.append(text_of(line));
  return types("Stats")(of.prepare_ms, of.rpc_ms, of.kernels, of.compiled_kernels, of.cache_hits, of.plan_hit,
                        of.joined, of.shared_weight_bytes, function.plan().shared_bytes(), nb::tuple(passed_over),
                        nb::tuple(notes));
}

nb::object weights_report(const Function& function) {
  const onnx::WeightsReport& of = function.info().weights;
  nb::list kept;
  for (const std::string& name : of.kept) kept.append(text_of(name));
  return types("WeightsReport")(of.tensors, of.f32_bytes, of.stored_bytes, text_of(of.worst), of.worst_error,
                                nb::tuple(kept));
}

nb::tuple warnings(const Function& function) {
  nb::list all;
  for (const std::string& line : function.info().warnings) all.append(text_of(line));
  return nb::tuple(all);
}

std::string path_text(const nb::object& path) {
  const nb::object plain = nb::module_::import_("os").attr("fsdecode")(path);
  const nb::object bytes = nb::module_::import_("os").attr("fsencode")(plain);
  return {nb::borrow<nb::bytes>(bytes).c_str(), nb::borrow<nb::bytes>(bytes).size()};
}

void save(const Function& function, const nb::object& path, bool parameters) {
  const std::string to = path_text(path);
  if (to.find('\0') != std::string::npos) raise_invalid("path: it holds a zero byte");
  const client::ExportConfig config{parameters, function.signature().call(function.plan())};
  check(without_gil([&] { return function.plan().export_to(to, config); }));
}

nb::bytes to_bytes(const Function& function, bool parameters) {
  const client::ExportConfig config{parameters, function.signature().call(function.plan())};
  const absl::StatusOr<std::string> file = without_gil([&] { return function.plan().export_bytes(config); });
  check(file.status());
  return nb::bytes(file->data(), file->size());
}

nb::object reduce(const Function& function) {
  return nb::make_tuple(nb::module_::import_("hearth._load").attr("_unpickle"),
                        nb::make_tuple(to_bytes(function, true), function.plan().device(), function.plan().threads(),
                                       function.info().may_copy, text_of(function.info().name)));
}

std::string join(const nb::tuple& values) {
  std::string all;
  for (nb::handle value : values) {
    all += (all.empty() ? "" : ", ") + printable_name(value.attr("name")) + ": " + str_of(value.attr("dtype")) +
           repr_of(nb::list(value.attr("shape")));
  }
  return all;
}

nb::object repr(const Function& function) {
  return text_of("hearth.Function(" + printable_name(text_of(function.info().name)) + ": (" +
                 join(inputs_of(function.signature())) + ") -> (" + join(outputs_of(function.signature())) +
                 "), device='" + function.plan().device() + "')");
}

Function* rebind(const Function& function, const nb::dict& parameters, bool copy) {
  std::map<std::string, client::ParameterData> bytes;
  for (const auto& [key, array] : parameters) {
    const std::string name = str_of(key), what = "parameter '" + name + "'";
    Array view;
    if (!copy) {
      bytes[name] = parameter_in_place(array, what.c_str(), &view);
      continue;
    }
    const auto kept = std::make_shared<const Array>(array_of(array, what.c_str(), std::nullopt));
    bytes[name] = {kept->memory.get(), kept->size_bytes(), std::shared_ptr<const void>(kept, kept->memory.get())};
  }
  absl::StatusOr<client::PreparedPlan> plan = without_gil([&] { return function.plan().with_parameters(bytes); });
  check(plan.status());
  return new Function(*std::move(plan), function.signature(), function.info());
}

Function* with_threads(const Function& function, nb::handle threads) {
  const nb::object number = nb::steal(PyNumber_Index(threads.ptr()));
  if (!number.is_valid()) PyErr_Clear();
  int overflow = 0;
  const long wanted = number.is_valid() ? PyLong_AsLongAndOverflow(number.ptr(), &overflow) : -1;
  if (PyBool_Check(threads.ptr()) || overflow != 0 || wanted < 0 || wanted > 1 << 20)
    raise_invalid("threads is " + repr_of(threads) + "; expected an int, 0 for every CPU");
  absl::StatusOr<client::PreparedPlan> plan = function.plan().with_threads(static_cast<int>(wanted));
  check(plan.status());
  return new Function(*std::move(plan), function.signature(), function.info());
}

nb::dict carry(const Function& function) {
  nb::dict pairs;
  for (const client::Carried& pair : function.plan().carried()) pairs[text_of(pair.output)] = text_of(pair.input);
  return pairs;
}

Stream* make_stream(const Function& function, const nb::dict& carry) {
  std::vector<client::Carried> carried = function.plan().carried();
  const std::vector<client::Carried> more = carried_pairs(carry);
  const auto is_new = [&](const client::Carried& pair) {
    return std::none_of(carried.begin(), carried.end(), [&](const client::Carried& known) {
      return known.output == pair.output && known.input == pair.input;
    });
  };
  std::vector<client::Carried> added;
  std::copy_if(more.begin(), more.end(), std::back_inserter(added), is_new);
  carried.insert(carried.end(), added.begin(), added.end());
  return new Stream(function, carried);
}

}  // namespace

std::vector<client::Carried> carried_pairs(const nb::dict& carry) {
  std::vector<client::Carried> pairs;
  for (const auto& [output, input] : carry) {
    for (nb::handle name : {output, input}) {
      if (!PyUnicode_Check(name.ptr()))
        raise_call_error("carry: " + repr_of(name) + " is no name; expected {output: the input that it becomes}");
    }
    pairs.push_back({str_of(output), str_of(input)});
  }
  return pairs;
}

void Function::refuse_state() const {
  const std::vector<client::Carried>& carried = plan_.carried();
  if (carried.empty()) return;
  raise_call_error("'" + info_.name + "' carries '" + carried.front().output + "' to its next call's '" +
                   carried.front().input + "'; f.stream() makes what is called");
}

std::unique_ptr<Replay> Function::take() {
  most_at_once_ = std::max(most_at_once_, ++num_taken_);
  if (!idle_.empty()) {
    std::unique_ptr<Replay> replay = std::move(idle_.back());
    idle_.pop_back();
    return replay;
  }
  try {
    return std::make_unique<Replay>(plan_);
  } catch (...) {
    --num_taken_;
    throw;
  }
}

void Function::give_back(std::unique_ptr<Replay> replay) {
  --num_taken_;
  idle_.push_back(std::move(replay));
  if (++num_calls_ < kCallsBetweenTrims) return;
  const std::size_t in_use = std::min(num_taken_, most_at_once_);
  const std::size_t wanted = most_at_once_ - in_use;
  if (idle_.size() > wanted) idle_.erase(idle_.begin(), idle_.end() - static_cast<std::ptrdiff_t>(wanted));
  num_calls_ = 0;
  most_at_once_ = num_taken_;
}

// A replay of the pool for the time of a call.
struct Function::Taken {
  explicit Taken(Function* of) : function(of) {
    of->refuse_state();
    replay = of->take();
  }
  ~Taken() { function->give_back(std::move(replay)); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  Function* function;
  std::unique_ptr<Replay> replay;
};

nb::object Function::into(const nb::args& args, const nb::dict& out, const nb::kwargs& kwargs) {
  const Taken taken(this);
  return taken.replay->call(signature_, args, kwargs, out, info_.may_copy);
}

nb::object Function::call_list(nb::handle arrays, nb::handle watch, nb::handle lengths) {
  if (PyList_Check(arrays.ptr()) == 0)
    raise_call_error("call_list: expected a list of arrays, not " + repr_of(arrays.type()));
  const auto given = nb::borrow<nb::list>(arrays);
  const Watch* watched = nullptr;
  if (!watch.is_none() && (!nb::try_cast(watch, watched) || watched == nullptr))
    raise_call_error("call_list: watch is of type " + repr_of(watch.type()) + "; expected a hearth.Watch");
  if (watched != nullptr && !watched->holds(given.ptr())) return nb::none();
  static const std::vector<Py_ssize_t> none;
  const std::vector<Py_ssize_t>& passed_over = watched == nullptr ? none : watched->places();
  std::vector<PyObject*> inputs;
  inputs.reserve(signature_.parameters.size());
  auto next = passed_over.begin();
  const Py_ssize_t count = PyList_Size(given.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (next != passed_over.end() && *next == i) {
      ++next;
    } else {
      inputs.push_back(PyList_GetItem(given.ptr(), i));
    }
  }
  if (inputs.size() != signature_.parameters.size()) {
    raise_call_error("call_list: " + std::to_string(inputs.size()) +
                     " arrays beside those that are watched; the model takes " +
                     std::to_string(signature_.parameters.size()));
  }
  if (!lengths.is_none() && PyDict_Check(lengths.ptr()) == 0)
    raise_call_error("call_list: lengths is of type " + repr_of(lengths.type()) + "; expected a dict by dimension");
  const Taken taken(this);
  return taken.replay->call_list(signature_, inputs, lengths, watched == nullptr ? ArrayKind::kOwn : watched->kind());
}

nb::object Function::profile(const nb::args& args, const nb::kwargs& kwargs) {
  const Taken taken(this);
  const nb::object measured = taken.replay->profile(signature_, args, kwargs);
  return nb::module_::import_("hearth._show").attr("Profile")(measured[0], measured[1]);
}

nb::dict Function::facts() {
  // An instance of its own: at the variables' upper bounds, its inputs zero.
  Replay replay(plan_);
  const absl::StatusOr<client::Profile> profile = without_gil([&] { return replay.instance().execute_profiled(); });
  check(profile.status());
  std::uint64_t launches = 0, num_ops = 0;
  const std::vector<client::Profile::Row> rows = profile->by_kernel();
  for (const client::Profile::Row& row : rows) launches += row.launches, num_ops += row.num_ops;
  const client::InstanceMemory memory = replay.instance().memory();
  nb::dict made;
  made["kernels"] = rows.size();
  made["launches"] = launches;
  made["num_ops"] = num_ops;
  made["shared_bytes"] = plan_.shared_bytes();
  made["instance_bytes"] = memory.arena_bytes + memory.io_bytes;
  return made;
}

double Function::time_executes(std::int64_t count) {
  const Taken taken(this);
  Replay* const replay = taken.replay.get();
  replay->instance().unbind();  // the arrays of the last call are gone
  absl::Status status;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count && status.ok(); ++i) status = replay->instance().execute();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  check(status);
  return took.count();
}

nb::object Function::call(const nb::args& args, const nb::kwargs& kwargs) {
  static PyObject* const nothing = PyDict_New();  // of the process
  return into(args, nb::borrow<nb::dict>(nothing), kwargs);
}

void add_function(nb::module_& module) {
  nb::class_<Function>(
      module, "Function",
      "A prepared model, called with arrays: f(x, y), f(input=x).\n\n"
      "What comes out is of the kind of the first array that went in: numpy's for numpy's, torch's for\n"
      "torch's, else hearth.Array. One output is the array, several are a tuple with the model's names.\n"
      "Dimensions that vary take their values from the arrays' lengths; a keyword says one. Any number of\n"
      "threads may call it: each call that goes on beside others has memory of its own, and what the last\n"
      "256 calls did not need at once is given back.")
      .def("__call__", &Function::call)
      .def("into", &Function::into, nb::arg("args"), nb::arg("out"), nb::arg("kwargs"),
           "The same, with results written to the caller's arrays: f.into(x, out={\"y\": buffer}).\n\n"
           "They are dense in C order, of the output's type and shape, and overlap nothing.")
      .def(
          "call_list", &Function::call_list, nb::arg("arrays"), nb::arg("watch").none() = nb::none(),
          nb::arg("lengths").none() = nb::none(),
          "The same for a list, with little beside the replay: an array for each of f.inputs, in order, and a list of\n"
          "results. torch's tensors may require gradients, which results have not.\n\n"
          "watch: a hearth.Watch of places in the list where parameters stand that the function was prepared with. "
          "None\n"
          "is returned, and nothing computed, where one of them is no longer what it was (Watch.holds): rebind() "
          "then.\n"
          "lengths: values of dimensions that no input's length says, by name.")
      .def("rebind", &rebind, nb::arg("parameters"), nb::kw_only(), nb::arg("copy") = true,
           "The same plan with other arrays for those of its named parameters that the dict has: another Function. "
           "They\n"
           "are of the parameters' types and sizes; copy=False reads them where they lie, as hearth.parameter does.")
      .def("with_threads", &with_threads, nb::arg("threads"),
           "The same plan, replayed on so many threads (0: every CPU): another Function.")
      .def("stream", &make_stream, nb::arg("carry") = nb::dict(),
           "A Stream, whose state stays in it: carry={\"stateN\": \"state\"}, outputs by the inputs that they become,\n"
           "beside those that the plan was prepared to carry (f.carry).")
      .def("save", &save, nb::arg("path"), nb::kw_only(), nb::arg("parameters") = true,
           "Writes a plan file, which hearth.load() reads with no daemon; whole or not at all.")
      .def("to_bytes", &to_bytes, nb::kw_only(), nb::arg("parameters") = true, "What save() writes.")
      .def_prop_ro("name", [](const Function& function) { return text_of(function.info().name); })
      .def_prop_ro("_plan_key",
                   [](const Function& function) {
                     const std::string& key = function.plan().stats().plan_key;
                     return nb::bytes(key.data(), key.size()).attr("hex")();
                   })
      .def_prop_ro("_fixed",
                   [](const Function& function) { return names_of(function.signature(), Parameter::Kind::kFixed); })
      .def_prop_ro("_unread",
                   [](const Function& function) { return names_of(function.signature(), Parameter::Kind::kUnread); })
      .def_prop_ro(
          "inputs", [](const Function& function) { return inputs_of(function.signature()); },
          "A Value(name, dtype, shape) for every input, in the order of positional arguments.")
      .def_prop_ro("outputs", [](const Function& function) { return outputs_of(function.signature()); })
      .def_prop_ro("variables", &variables, "A Variable(name, min, max, unit) for every dimension that varies.")
      .def_prop_ro("carry", &carry, "What every stream carries: the plan was prepared for it (hearth.load's carry).")
      .def_prop_ro("stats", &stats, "What preparing it took.")
      .def_prop_ro("weights", &weights_report, "What was stored narrow, and how exact that is.")
      .def_prop_ro("warnings", &warnings, "What the file says of itself and is not so.")
      .def_prop_ro("opset", [](const Function& function) { return function.info().opset; })
      .def_prop_ro("device", [](const Function& function) { return function.plan().device(); })
      .def_prop_ro("threads", [](const Function& function) { return function.plan().threads(); })
      .def("profile", &Function::profile, "A call whose launches are measured: a hearth.Profile, slowest kernel first.")
      .def("_facts", &Function::facts)
      .def_prop_ro("_num_idle", &Function::num_idle)
      .def("_time_executes", &Function::time_executes, nb::arg("count"))
      .def("__reduce__", &reduce)
      .def("__repr__", &repr);
}

}  // namespace hearth::python
