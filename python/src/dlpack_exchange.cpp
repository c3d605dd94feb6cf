#include "dlpack_exchange.h"

namespace hearth::python {

const DLPackExchangeFunctions* exchange_functions(nb::handle type) {
  const nb::object capsule = nb::steal(PyObject_GetAttrString(type.ptr(), "__dlpack_c_exchange_api__"));
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* functions =
      static_cast<const DLPackExchangeFunctions*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  return functions->header.version.major == 1 && functions->view_object != nullptr ? functions : nullptr;
}

}  // namespace hearth::python
