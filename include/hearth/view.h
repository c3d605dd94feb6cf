// Views of a plan's buffers: memory that is dense and row-major at `shape`, with the dtype it has. Elements are reached
// by their C++ type (hearth/element_type.h), which has to be the dtype's: InvalidArgument naming the buffer and both
// otherwise. A view owns nothing and is valid as long as whoever gave it says. Not thread-safe beyond the memory's own.
//
//   absl::StatusOr<MutableView> mel = instance.input("mel");
//   absl::Status written = mel->copy_from(samples);          // std::vector<float>, of an f32 input
//   absl::Status rounded = half_input->round_from(samples);  // to f16, bf16, fp8, or f64
//   absl::StatusOr<std::span<const float>> y = instance.output("y")->as<float>();
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/dtype.h"
#include "hearth/element_type.h"

#pragma GCC visibility push(default)
namespace hearth::runtime {

// A container or span of elements in one piece.
template <typename R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       Element<std::remove_cv_t<std::ranges::range_value_t<R>>>;

struct ConstView {
  const void* data = nullptr;
  std::size_t size_bytes = 0;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::string name = {};  // for messages

  template <Element T>
  absl::StatusOr<std::span<const T>> as() const {
    if (absl::Status checked = check_dtype(dtype_of<T>()); !checked.ok()) return checked;
    return std::span(static_cast<const T*>(data), size_bytes / sizeof(T));
  }
  // The elements of any float dtype; those of f64 are rounded.
  absl::StatusOr<std::vector<float>> to_floats() const;

 private:
  absl::Status check_dtype(DType wanted) const;
};

struct MutableView {
  void* data = nullptr;
  std::size_t size_bytes = 0;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::string name = {};  // for messages

  template <Element T>
  absl::StatusOr<std::span<T>> as() const {
    if (absl::Status checked = check_dtype(dtype_of<T>()); !checked.ok()) return checked;
    return std::span(static_cast<T*>(data), size_bytes / sizeof(T));
  }
  // Every element.
  template <Element T>
  absl::Status fill(T value) const {
    const absl::StatusOr<std::span<T>> elements = as<T>();
    if (elements.ok()) std::fill(elements->begin(), elements->end(), value);
    return elements.status();
  }
  // Copies to the front; what is beyond stays as it is. InvalidArgument when they do not fit.
  template <ElementRange R>
  absl::Status copy_from(const R& from) const {
    using T = std::remove_cv_t<std::ranges::range_value_t<R>>;
    const absl::StatusOr<std::span<T>> elements = as<T>();
    if (!elements.ok()) return elements.status();
    if (absl::Status fit = check_room(std::ranges::size(from)); !fit.ok()) return fit;
    std::ranges::copy(from, elements->begin());
    return absl::OkStatus();
  }
  template <Element T>
  absl::Status copy_from(std::initializer_list<T> from) const {
    return copy_from(std::span(from.begin(), from.size()));
  }
  // The same for a buffer of any float dtype, to which the floats are rounded.
  absl::Status round_from(std::span<const float> from) const;

 private:
  absl::Status check_dtype(DType wanted) const;
  absl::Status check_room(std::size_t elements) const;
};

}  // namespace hearth::runtime
#pragma GCC visibility pop
