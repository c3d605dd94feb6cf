// Guards: what a traced function read that is no argument of type array, as it was: globals, closure cells, defaults,
// attributes, elements. A tree: each node says how its value is fetched from its parent's and what it must be. Looking
// runs no code of the user's, and what is only looked at is not kept alive: objects and arrays are referred to weakly,
// lists and dicts are compared by what they hold. hearth/_guards.py makes them. With the GIL.
//
//   guards.find_change(owner, arguments) == -1   // the trace still stands for the function
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "captured_array.h"
#include "tensor.h"

namespace hearth::python {

namespace nb = nanobind;

class Guards {
 public:
  enum class Fetch {
    kConstant,       // the key itself
    kOwner,          // the object whose method it is
    kArgument,       // of the call's arguments that are no arrays, the one at the key
    kReferent,       // of the weak reference that is the key
    kItem,           // of a dict
    kElement,        // of a list or tuple; of a dict the value at a place
    kAttribute,      // of a type that is written in C, or a slot
    kInstanceDict,   // of an object
    kTypeAttribute,  // of the object's type, or of a class
    kMapping,        // of a class's namespace
  };
  enum class Check {
    kNothing,
    kSame,      // the object itself
    kPlain,     // a number, text or None of that type and value
    kSameWeak,  // the object that a weak reference leads to
    kScalar,    // of numpy: (type, bytes)
    kMissing,   // not there
    kSize,      // (type, length)
    kSequence,  // (type, a tuple of plain values)
    kKeys,      // (type, a tuple of keys in order, whether it is an OrderedDict), of a dict
    kItems,     // (type, a tuple of plain values in order) of a set; with the values before the last, as kKeys
    kFunction,  // (code, globals)
    kArray,     // memory and layout, and elements where there are few: see add_array
    kTensor,    // a hearth.Tensor that has not been given a new value
    kTorch,     // (weak reference, version or None, address, its elements' bytes or None)
    kSameAs,    // what another node fetched
    kType,      // of that type
  };

  // The new node's number. `parent` is ignored for what has none.
  std::size_t add(std::size_t parent, Fetch fetch, nb::object key, Check check, nb::object expected);
  // An array with a buffer. Elements are compared where they take `max_bytes` at most. False where a change in
  // place would go unnoticed: the array is larger, and its memory is writable.
  bool add_array(std::size_t parent, Fetch fetch, nb::object key, nb::object array, std::size_t max_bytes);

  // The first node that is no longer as it was; -1: none.
  std::int64_t find_change(nb::handle owner, nb::handle arguments) const;
  // What the node fetches now (None where nothing is there), for messages.
  nb::object value_now(std::size_t node, nb::handle owner, nb::handle arguments) const;

  std::size_t size() const { return nodes_.size(); }
  nb::tuple row(std::size_t node) const;  // (parent, fetch, key, check, expected)

  // For Python's collector of cycles.
  int visit(visitproc visit, void* arg) const;
  void clear() {
    nodes_.clear();
    arrays_.clear();
  }

 private:
  struct Node {
    std::uint32_t parent;
    Fetch fetch;
    Check check;
    Py_ssize_t place = 0;                // kArgument's and kElement's key
    Py_ssize_t number = 0;               // kSize's length, kTensor's version, kSameAs's node
    std::uint32_t array = 0;             // kArray's
    const LazyTensor* tensor = nullptr;  // kTensor's
    nb::object key, expected;
  };

  PyObject* fetch(const Node& node, PyObject* parent, nb::handle owner, nb::handle arguments, nb::object* held) const;
  bool holds(const Node& node, PyObject* now, PyObject* const* values) const;

  std::vector<Node> nodes_;
  std::vector<CapturedArray> arrays_;
};

void add_guards(nb::module_& module);

}  // namespace hearth::python
