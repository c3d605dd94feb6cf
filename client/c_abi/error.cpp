// Errors and versions of the C ABI.
#include "hearth/error.h"
#include "base/text.h"
#include "client/c_abi/handles.h"
#include "hearth/dtype.h"

namespace hearth::c_abi {

hearth_code end_call(const absl::Status& status, hearth_error** error) noexcept {
  if (error != nullptr) *error = nullptr;
  if (status.ok()) return HEARTH_OK;
  if (error != nullptr) {
    try {
      *error = new hearth_error{status.code(), std::string(status.message())};
    } catch (...) {  // no memory: the code says enough
    }
  }
  const int code = static_cast<int>(status.code());
  return code <= HEARTH_UNAUTHENTICATED ? static_cast<hearth_code>(code) : HEARTH_UNKNOWN;
}

absl::Status status_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const client::JitError& refused) {
    return refused.status();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory");
  } catch (const std::exception& other) {
    return absl::InternalError(other.what());
  } catch (...) {
    return absl::InternalError("an exception of an unknown type");
  }
}

absl::Status check_given(std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (argument.pointer == nullptr) return absl::InvalidArgumentError(std::string(argument.name) + " is NULL");
  }
  return absl::OkStatus();
}

absl::Status check_index(std::size_t index, std::size_t count, std::string_view what) {
  if (index < count) return absl::OkStatus();
  return absl::OutOfRangeError(str_cat(what, " ", index, " of ", count));
}

}  // namespace hearth::c_abi

extern "C" {

const char* hearth_version(void) { return HEARTH_VERSION; }
int hearth_abi_version(void) { return HEARTH_ABI_VERSION; }

hearth_code hearth_error_code(const hearth_error* error) {
  return error == nullptr ? HEARTH_OK : static_cast<hearth_code>(error->code);
}
const char* hearth_error_message(const hearth_error* error) { return error == nullptr ? "" : error->message.c_str(); }
void hearth_error_free(hearth_error* error) { delete error; }

const char* hearth_code_name(hearth_code code) {
  switch (code) {
    case HEARTH_OK:
      return "OK";
    case HEARTH_CANCELLED:
      return "CANCELLED";
    case HEARTH_UNKNOWN:
      return "UNKNOWN";
    case HEARTH_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case HEARTH_DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case HEARTH_NOT_FOUND:
      return "NOT_FOUND";
    case HEARTH_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case HEARTH_PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case HEARTH_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case HEARTH_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case HEARTH_ABORTED:
      return "ABORTED";
    case HEARTH_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case HEARTH_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case HEARTH_INTERNAL:
      return "INTERNAL";
    case HEARTH_UNAVAILABLE:
      return "UNAVAILABLE";
    case HEARTH_DATA_LOSS:
      return "DATA_LOSS";
    case HEARTH_UNAUTHENTICATED:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

size_t hearth_dtype_bytes(hearth_dtype dtype) {
  const auto known = hearth::dtype_from_wire(dtype);
  return known ? hearth::dtype_bytes(*known) : 0;
}
const char* hearth_dtype_name(hearth_dtype dtype) {
  const auto known = hearth::dtype_from_wire(dtype);
  return known ? hearth::dtype_name(*known).data() : nullptr;  // names are literals
}

}  // extern "C"
