#include "dtypes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hearth/small_float.h"

namespace hearth::python {
namespace {

struct Row {
  DType dtype;
  const char* name;
  const char* format;
};
constexpr Row kRows[] = {{DType::kBool, "bool", "?"},
                         {DType::kI8, "int8", "b"},
                         {DType::kI16, "int16", "h"},
                         {DType::kI32, "int32", "i"},
                         {DType::kI64, "int64", "q"},
                         {DType::kU8, "uint8", "B"},
                         {DType::kU16, "uint16", "H"},
                         {DType::kU32, "uint32", "I"},
                         {DType::kU64, "uint64", "Q"},
                         {DType::kF16, "float16", "e"},
                         {DType::kBF16, "bfloat16", nullptr},
                         {DType::kF32, "float32", "f"},
                         {DType::kF64, "float64", "d"},
                         {DType::kF8E4M3, "float8_e4m3fn", nullptr},
                         {DType::kF8E5M2, "float8_e5m2", nullptr}};

const Row& row_of(DType dtype) { return kRows[static_cast<std::size_t>(dtype) - 1]; }

template <typename T>
T read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
bool write(T value, void* element) {
  std::memcpy(element, &value, sizeof value);
  return true;
}

template <typename T>
bool write_integer(nb::handle number, void* element) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (value == -1 && PyErr_Occurred()) PyErr_Clear();
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (overflow > 0) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(number.ptr());
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      return write<T>(large, element);
    }
  }
  if (overflow != 0 || !std::in_range<T>(value)) return false;
  return write(static_cast<T>(value), element);
}

}  // namespace

const char* numpy_name(DType dtype) { return row_of(dtype).name; }
const char* buffer_format(DType dtype) { return row_of(dtype).format; }

nb::object dtype_object(DType dtype) {
  static PyObject* known[32] = {};  // for the process's life
  PyObject*& one = known[static_cast<std::size_t>(dtype)];
  if (one == nullptr)
    one = nb::object(nb::module_::import_("hearth._dtypes").attr("known")(numpy_name(dtype))).release().ptr();
  return nb::borrow(one);
}

std::optional<DType> dtype_of_numpy_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t itemsize) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 0 || format[1] != 0) return std::nullopt;
  const auto sized = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    switch (itemsize) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return std::nullopt;
    }
  };
  switch (*format) {
    case '?':
      return DType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return sized(DType::kI8, DType::kI16, DType::kI32, DType::kI64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return sized(DType::kU8, DType::kU16, DType::kU32, DType::kU64);
    case 'e':
      return DType::kF16;
    case 'f':
      return DType::kF32;
    case 'd':
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

nb::object to_number(DType dtype, const void* element) {
  switch (dtype) {
    case DType::kBool:
      return nb::bool_(read<std::uint8_t>(element) != 0);
    case DType::kI8:
      return nb::int_(read<std::int8_t>(element));
    case DType::kI16:
      return nb::int_(read<std::int16_t>(element));
    case DType::kI32:
      return nb::int_(read<std::int32_t>(element));
    case DType::kI64:
      return nb::int_(read<std::int64_t>(element));
    case DType::kU8:
      return nb::int_(read<std::uint8_t>(element));
    case DType::kU16:
      return nb::int_(read<std::uint16_t>(element));
    case DType::kU32:
      return nb::int_(read<std::uint32_t>(element));
    case DType::kU64:
      return nb::int_(read<std::uint64_t>(element));
    case DType::kF16:
      return nb::float_(static_cast<double>(static_cast<float>(read<Float16>(element))));
    case DType::kBF16:
      return nb::float_(static_cast<double>(static_cast<float>(read<BFloat16>(element))));
    case DType::kF32:
      return nb::float_(static_cast<double>(read<float>(element)));
    case DType::kF64:
      return nb::float_(read<double>(element));
    case DType::kF8E4M3:
      return nb::float_(static_cast<double>(static_cast<float>(read<Float8E4M3>(element))));
    case DType::kF8E5M2:
      return nb::float_(static_cast<double>(static_cast<float>(read<Float8E5M2>(element))));
  }
  return nb::none();
}

bool from_number(nb::handle number, DType dtype, void* element) {
  if (dtype == DType::kBool)
    return PyBool_Check(number.ptr()) && write<std::uint8_t>(number.ptr() == Py_True ? 1 : 0, element);
  if (is_float(dtype)) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    switch (dtype) {
      case DType::kF64:
        return write(value, element);
      case DType::kF32:
        return write(static_cast<float>(value), element);
      case DType::kF16:
        return write(Float16(value), element);
      case DType::kBF16:
        return write(BFloat16(value), element);
      case DType::kF8E4M3:
        return write(Float8E4M3(value), element);
      default:
        return write(Float8E5M2(value), element);
    }
  }
  if (!PyLong_Check(number.ptr())) return false;
  switch (dtype) {
    case DType::kI8:
      return write_integer<std::int8_t>(number, element);
    case DType::kI16:
      return write_integer<std::int16_t>(number, element);
    case DType::kI32:
      return write_integer<std::int32_t>(number, element);
    case DType::kI64:
      return write_integer<std::int64_t>(number, element);
    case DType::kU8:
      return write_integer<std::uint8_t>(number, element);
    case DType::kU16:
      return write_integer<std::uint16_t>(number, element);
    case DType::kU32:
      return write_integer<std::uint32_t>(number, element);
    default:
      return write_integer<std::uint64_t>(number, element);
  }
}

}  // namespace hearth::python
