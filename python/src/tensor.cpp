#include "tensor.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "argument.h"
#include "array_libraries.h"
#include "callbacks.h"
#include "dtypes.h"
#include "errors.h"
#include "hearth/evaluate.h"
#include "hearth/graph.h"
#include "hearth/ops/elementwise.h"
#include "hearth/safetensors.h"
#include "interpreter.h"
#include "op_call.h"

namespace hearth::python {
namespace {

thread_local std::uint64_t trace_of_thread = 0;
std::uint64_t last_trace = 0;  // the GIL guards it

// Examples that stand for a placeholder while a trace by hand goes on, on the thread that makes it.
struct Registered {
  nb::object example;
  client::Tensor placeholder;
};
using Registrations = std::vector<Registered>;
// This thread's registrations; null where it has had none. Python's state of the thread owns them: it is cleared with
// the GIL held, also where the thread ends in the middle of a trace.
thread_local Registrations* registered = nullptr;

bool has_registered() { return registered != nullptr && !registered->empty(); }

void delete_registrations(void* registrations) noexcept {
  if (registered == registrations) registered = nullptr;
  delete static_cast<Registrations*>(registrations);
}

void add_registered(const nb::object& example, const client::Tensor& placeholder) {
  if (registered == nullptr) {
    PyObject* const state = PyThreadState_GetDict();
    if (state == nullptr) throw std::bad_alloc();
    auto* const made = new Registrations;
    const nb::capsule owner(made, &delete_registrations);
    if (PyDict_SetItemString(state, "hearth.registered", owner.ptr()) != 0) throw nb::python_error();
    registered = made;
  }
  registered->push_back({example, placeholder});
}

const client::Tensor* find_registered(nb::handle object) {
  if (registered == nullptr) return nullptr;
  for (const Registered& pair : *registered) {
    if (pair.example.ptr() == object.ptr()) return &pair.placeholder;
  }
  return nullptr;
}

bool is_registered(const LazyTensor& tensor) {
  if (registered == nullptr) return false;
  for (const Registered& pair : *registered) {
    LazyTensor* example = nullptr;
    if (nb::try_cast(nb::handle(pair.example), example) && example == &tensor) return true;
  }
  return false;
}

std::uint64_t begin_trace() { return trace_of_thread = ++last_trace; }
void end_trace(std::uint64_t outer) {
  trace_of_thread = outer;
  if (registered != nullptr) registered->clear();
}

client::Tensor parameter_of(const std::shared_ptr<const Array>& value) {
  const std::shared_ptr<const void> owner(value, value->memory.get());
  return client::parameter({value->shape.begin(), value->shape.end()}, value->dtype,
                           {value->memory.get(), value->size_bytes(), owner});
}

Array copy_of(const Argument& argument) {
  Array array = make_array(argument.dtype(), {argument.shape().begin(), argument.shape().end()});
  if (argument.size_bytes() > 0) std::memcpy(array.memory.get(), argument.data(), argument.size_bytes());
  return array;
}

nb::object errors_module() { return nb::module_::import_("hearth._errors"); }

nb::object package_folder() {
  static PyObject* folder = nullptr;
  if (folder == nullptr) {
    const nb::object path = nb::module_::import_("hearth").attr("__path__")[0];
    folder = nb::object(path).release().ptr();
  }
  return nb::borrow(folder);
}

bool is_evaluated(const LazyTensor& tensor) { return tensor.value != nullptr; }

nb::object item(LazyTensor& tensor) {
  const Array& value = value_of_tensor(tensor, "item()");
  if (value.size() != 1)
    raise_invalid("item() of a tensor of " + std::to_string(value.size()) + " elements; expected 1");
  return to_number(value.dtype, value.memory.get());
}

LazyTensor make_tensor(nb::handle data, nb::handle dtype) {
  if (nb::isinstance<LazyTensor>(data)) {
    const LazyTensor& given = nb::cast<const LazyTensor&>(data);
    if (dtype.is_none() || dtype_of(dtype, "dtype") == given.node.dtype()) return given;
    return {client::cast(given.node, dtype_of(dtype, "dtype")), nullptr, current_trace()};
  }
  std::optional<DType> wanted;
  if (!dtype.is_none()) wanted = dtype_of(dtype, "dtype");
  LazyTensor made = tensor_of(array_of(data, "data", wanted));
  if (wanted && made.node.dtype() != *wanted) {
    made.node = client::cast(made.node, *wanted);
    made.value = nullptr;
  }
  return made;
}

// A tensor of nested lists that Python flattened.
LazyTensor from_flat(const nb::list& numbers, const std::vector<std::int64_t>& shape, const std::string& dtype) {
  const DType type = dtype_of_numpy_name(dtype).value();
  Array array = make_array(type, shape);
  char* at = static_cast<char*>(array.memory.get());
  for (nb::handle number : numbers) {
    if (!from_number(number, type, at)) raise_invalid("data: " + repr_of(number) + " is no value of " + dtype);
    at += dtype_bytes(type);
  }
  return tensor_of(std::move(array));
}

nb::object placeholder(const std::string& name, nb::handle shape, nb::handle dtype) {
  const client::ScopedLocation here(python_location(), true);
  try {
    return to_python(client::input(name, shape_of(shape, "shape"), dtype_of(dtype, "dtype")));
  } catch (const client::JitError& error) {
    raise(error.status());
  }
}

}  // namespace

Array array_of(nb::handle object, const char* what, std::optional<DType> dtype) {
  Argument argument;
  DType wanted = DType::kF32;
  if (PyLong_Check(object.ptr())) wanted = DType::kI64;
  if (PyBool_Check(object.ptr())) wanted = DType::kBool;
  argument.read(object, what, dtype && argument.kind() == ArrayKind::kNone ? *dtype : wanted);
  argument.make_dense(what, true);
  return copy_of(argument);
}

std::uint64_t current_trace() { return trace_of_thread; }

void raise_trace_error(const std::string& text) {
  const nb::object error = errors_module().attr("TraceError")(text + " (at " + python_location() + ")");
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

LazyTensor tensor_of(Array array) {
  const auto value = std::make_shared<const Array>(std::move(array));
  return {parameter_of(value), value, 0};
}

nb::object to_python(client::Tensor node) { return nb::cast(LazyTensor{std::move(node), nullptr, current_trace()}); }

client::Tensor node_of(nb::handle object, const char* what) {
  if (has_registered()) {
    if (const client::Tensor* placeholder = find_registered(object)) return *placeholder;
  }
  LazyTensor* tensor = nullptr;
  if (!nb::try_cast(object, tensor) || tensor == nullptr) return tensor_of(array_of(object, what, std::nullopt)).node;
  if (tensor->trace != current_trace() && tensor->value == nullptr) value_of_tensor(*tensor, what);
  return tensor->node;
}

client::Operand operand_of(nb::handle object, const char* what) {
  if (PyBool_Check(object.ptr())) return {object.ptr() == Py_True};
  if (PyFloat_CheckExact(object.ptr())) return {PyFloat_AsDouble(object.ptr())};
  if (PyLong_CheckExact(object.ptr())) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow != 0) raise_invalid(std::string(what) + " is beyond 64 bits");
    return {static_cast<std::int64_t>(value)};
  }
  if (nb::isinstance<client::Dim>(object)) return {client::dim_value(nb::cast<const client::Dim&>(object))};
  return {node_of(object, what)};
}

const Array& value_of_tensor(LazyTensor& tensor, const char* what) {
  if (tensor.value == nullptr || has_registered()) evaluate_all({&tensor}, what);
  return *tensor.value;
}

void evaluate_all(const std::vector<LazyTensor*>& tensors, const char* what) {
  std::vector<LazyTensor*> open;
  std::vector<client::Tensor> nodes;
  for (LazyTensor* tensor : tensors) {
    if (has_registered() && is_registered(*tensor))
      raise_trace_error(std::string(what) + " needs a tensor's value, which a trace has not: it is one of its inputs");
    if (tensor->value != nullptr) continue;
    if (tensor->trace != 0) {
      if (tensor->trace == current_trace()) {
        raise_trace_error(std::string(what) +
                          " needs a tensor's value, which a trace has not: use hearth.where, or "
                          "return the tensor from the traced function");
      }
      raise_trace_error(std::string(what) +
                        ": the tensor is of a trace that has ended; return it from the traced function");
    }
    open.push_back(tensor);
    nodes.push_back(tensor->node);
  }
  if (open.empty()) return;
  client::PrepareConfig config = value_of(client::PrepareConfig::from_env());
  Callbacks callbacks{nb::none()};
  absl::StatusOr<std::vector<client::Array>> values = std::vector<client::Array>();
  {
    WithoutGil released;
    const Waiting waiting;
    callbacks.add_to(&config, &released);
    values = client::evaluate(nodes, {}, config);
  }
  callbacks.rethrow();
  check(values.status());
  for (std::size_t i = 0; i < open.size(); ++i) {
    const client::Array& made = (*values)[i];
    Array array = make_array(made.dtype, made.shape);
    if (!made.bytes.empty()) std::memcpy(array.memory.get(), made.bytes.data(), made.bytes.size());
    open[i]->value = std::make_shared<const Array>(std::move(array));
    open[i]->node = parameter_of(open[i]->value);
    open[i]->trace = 0;
  }
}

std::string python_location() {
  const nb::object folder = package_folder();
  const std::string inside = str_of(folder) + "/";
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const std::string file = str_of(code.attr("co_filename"));
    if (!file.starts_with(inside)) {
      const std::size_t slash = file.rfind('/');
      return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" +
             std::to_string(PyFrame_GetLineNumber(raw));
    }
    frame = nb::object(frame.attr("f_back"));
  }
  return "Python";
}

DType dtype_of(nb::handle object, const char* what) {
  std::string name;
  if (PyUnicode_Check(object.ptr())) {
    name = str_of(object);
  } else if (nb::hasattr(object, "name")) {  // numpy.dtype("float32")
    name = str_of(object.attr("name"));
  } else if (nb::hasattr(object, "__name__")) {  // numpy.float32, bool, float
    name = str_of(object.attr("__name__"));
    if (name == "bool_") name = "bool";
    if (name == "float") name = "float32";
    if (name == "int") name = "int64";
  } else {  // torch.float32
    name = str_of(object);
    if (name.starts_with("torch.")) name = name.substr(6);
  }
  const std::optional<DType> dtype = dtype_of_numpy_name(name);
  if (!dtype) raise_invalid(std::string(what) + " is " + repr_of(object) + "; expected a dtype such as \"float32\"");
  return *dtype;
}

void add_tensor(nb::module_& module) {
  nb::class_<LazyTensor>(
      module, "Tensor",
      "A lazy value: shape and dtype are known, elements are computed when they are asked for.\n\n"
      "hearth.tensor(data) makes one; ops on it record a graph. t.evaluate(), float(t), t.tolist(),\n"
      "numpy.asarray(t) compute it once and keep the value.")
      .def("__init__",
           [](LazyTensor*, const nb::args&, const nb::kwargs&) {
             raise_call_error("hearth.Tensor(...): use hearth.tensor(data), hearth.zeros(shape) and their like");
           })
      .def_prop_ro(
          "shape", [](const LazyTensor& tensor) { return to_python(tensor.node.shape()); },
          "The lengths: ints, or Dims.")
      .def_prop_ro("dtype", [](const LazyTensor& tensor) { return dtype_object(tensor.node.dtype()); })
      .def_prop_ro("ndim", [](const LazyTensor& tensor) { return tensor.node.rank(); })
      .def_prop_ro("is_evaluated", &is_evaluated, "Whether the value is there.")
      .def("item", &item, "The only element as a Python number.")
      .def("_value",
           [](LazyTensor& tensor, const char* what) {
             Array shared = value_of_tensor(tensor, what);
             shared.is_read_only = true;  // other tensors, and what was recorded, have the same memory
             return nb::cast(std::move(shared));
           })
      .def(
          "_as_number",
          [](const LazyTensor& tensor) {
            LazyTensor made = tensor;
            made.is_weak = true;
            return made;
          },
          "The same, with the type of a Python number: that of the other operands.")
      .def("_is_traced", [](const LazyTensor& tensor) { return tensor.trace != 0 && tensor.trace == current_trace(); })
      .def("_rebind", [](LazyTensor& tensor, const LazyTensor& other) {
        static std::uint64_t last_version = 0;  // the GIL guards it
        tensor = other;
        tensor.version = ++last_version;
      });
  module.def("dtype_name", [](nb::handle object, const char* what) { return numpy_name(dtype_of(object, what)); });
  module.def("tensor", &make_tensor, nb::arg("data").none(), nb::arg("dtype").none() = nb::none());
  module.def("from_flat", &from_flat);
  module.def("placeholder", &placeholder);
  module.def("parameter", &named_parameter, nb::arg("data").none(), nb::arg("name").none() = nb::none(), nb::kw_only(),
             nb::arg("copy") = true);
  module.def("tensor_of_bytes", [](const nb::bytes& data, const std::string& dtype, const nb::tuple& shape) {
    Array array = make_array(dtype_of(nb::str(dtype.c_str()), "dtype"), integers_of(shape, "shape"));
    if (data.size() != array.size_bytes()) raise_invalid("a pickled tensor has another number of bytes than its shape");
    if (data.size() > 0) std::memcpy(array.memory.get(), data.c_str(), data.size());
    return tensor_of(std::move(array));
  });
  module.def("tensor_of_array", [](const Array& array) { return tensor_of(array); });
  module.def("evaluate", [](const nb::args& tensors) {
    std::vector<LazyTensor*> all;
    for (nb::handle tensor : tensors) all.push_back(nb::cast<LazyTensor*>(tensor));
    evaluate_all(all, "evaluate()");
  });
  module.def("evaluate_stats", [] {
    const client::EvaluateStats stats = client::evaluate_stats();
    return nb::make_tuple(stats.hits, stats.misses, stats.plans);
  });
  module.def("register_input", [](const nb::object& example, const LazyTensor& placeholder) {
    add_registered(example, placeholder.node);
  });
  module.def("safetensors", [](const nb::bytes& path) {
    const client::Safetensors file = value_of(client::Safetensors::open({path.c_str(), path.size()}));
    nb::dict all;
    for (const auto& [name, view] : file.tensors()) {
      const client::Tensor node = file.parameter(name);
      const auto value = std::make_shared<const Array>(borrow_array(view.data, view.dtype, view.shape, file.owner()));
      all[nb::cast(name)] = nb::cast(LazyTensor{node, value, 0});
    }
    nb::dict metadata;
    for (const auto& [name, text] : file.metadata()) metadata[nb::cast(name)] = nb::cast(text);
    return nb::make_tuple(all, metadata);
  });
  module.def("begin_trace", &begin_trace);
  module.def("end_trace", &end_trace);
  module.def("current_trace", &current_trace);
  module.def("location", &python_location);
}

}  // namespace hearth::python
