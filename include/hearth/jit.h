// jit(fn): a function of Tensors that is traced and prepared on its first call and replayed afterwards. Plans are kept
// by what they were traced for: number, shape and dtype of the arrays, value and type of every other argument, device;
// the least recently used one goes when there are more than JitOptions::capacity. Arguments are arrays (ArrayView,
// Array) or scalars (arithmetic types and enums), which the function takes by value as C++ values: a branch on one is
// guarded, and calling with another value traces anew. Values that are no arguments are captured as they were when the
// plan was traced. Copies share plans; thread-safe: calls of traced plans run side by side, whatever is prepared
// meanwhile; the function is traced by one thread at a time, and callers of one new shape share one trace and one plan.
// Errors: absl::Status; FailedPrecondition when called while this thread traces.
//
//   auto forward = jit([&](const Tensor& x, bool negate) { return negate ? -relu(x) : relu(x); });
//   absl::StatusOr<std::vector<Array>> y = forward(view_of(samples, {1, 512}), true);
#pragma once
#include <array>
#include <concepts>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

#include "hearth/trace.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct JitOptions {
  PrepareConfig config = {};
  std::size_t capacity = 16;  // plans kept; at least 1
};

struct JitStats {
  std::uint64_t traces = 0;
  std::uint64_t hits = 0;
  std::uint64_t evictions = 0;
  std::size_t plans = 0;
};

// The plans of one jitted function.
class JitCache {
 public:
  explicit JitCache(JitOptions options) : options_(std::move(options)) {}

  // `scalars` stands for every argument that is no array, in order.
  absl::StatusOr<std::vector<Array>> call(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                          const std::string& scalars, Loc loc);
  void set_device(const std::string& device);
  JitStats stats() const;

 private:
  struct Entry {
    std::string key;
    TracedFunction function;
  };
  struct Flight;  // a trace and its prepare that are under way
  std::string key_of(std::span<const ArrayView> arrays, const std::string& scalars) const;
  absl::StatusOr<TracedFunction> find_or_trace(const TensorFunction& fn, std::span<const ArrayView> arrays,
                                               const std::string& scalars, Loc loc);
  void land(Flight& flight, const absl::StatusOr<TracedFunction>* result);

  std::mutex trace_mutex_;    // one thread at a time calls the function; never taken with mutex_ held
  mutable std::mutex mutex_;  // of all below; not held while anything is traced or prepared
  JitOptions options_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator> by_key_;
  JitStats stats_;
};

template <typename T>
concept JitArray = std::convertible_to<const T&, ArrayView>;
template <typename T>
concept JitScalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename F>
class JitFunction {
 public:
  JitFunction(F fn, JitOptions options) : fn_(std::move(fn)), cache_(std::make_shared<JitCache>(std::move(options))) {}

  template <typename... Args>
    requires((JitArray<Args> || JitScalar<Args>) && ...)
  absl::StatusOr<std::vector<Array>> operator()(const Args&... args) const {
    std::vector<ArrayView> arrays;
    std::string scalars;
    (note(args, &arrays, &scalars), ...);
    const TensorFunction call = [&](std::span<const Tensor> tensors) {
      std::size_t next = 0;
      // Braces keep the order of evaluation.
      return std::apply([&](const auto&... values) { return results_of(fn_(values...)); },
                        std::tuple{argument(args, tensors, &next)...});
    };
    return cache_->call(call, arrays, scalars, Loc::current());
  }

  // Later calls run on this device; plans of other devices are kept.
  void set_device(const std::string& device) { cache_->set_device(device); }
  JitStats stats() const { return cache_->stats(); }

 private:
  template <typename T>
  static void note(const T& arg, std::vector<ArrayView>* arrays, std::string* scalars) {
    if constexpr (JitArray<T>) {
      arrays->push_back(arg);
      *scalars += 'a';
    } else {
      // A double's 1 and an int's 1 are different arguments; bytes tell -0 from 0 and keep NaN equal to itself.
      *scalars += std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
      *scalars += static_cast<char>(sizeof(T));
      scalars->append(reinterpret_cast<const char*>(&arg), sizeof(T));
    }
  }
  template <typename T>
  static auto argument(const T& arg, std::span<const Tensor> tensors, std::size_t* next) {
    if constexpr (JitArray<T>) {
      return tensors[(*next)++];
    } else {
      return arg;
    }
  }

  F fn_;
  std::shared_ptr<JitCache> cache_;
};

template <typename F>
JitFunction<F> jit(F fn, JitOptions options = {}) {
  return {std::move(fn), std::move(options)};
}

}  // namespace hearth::client
#pragma GCC visibility pop
