// Whether a call by one function's type is a call of another: the same number of parameters, each passed alike. Addresses
// of device memory are words in CUDA and pointers in ours; enumerations and handles are numbers and pointers.
//
//   static_assert(kSameAbi<decltype(hearth::runtime::StreamApi::launch), decltype(&::cuLaunchKernel)>);
#pragma once
#include <map>
#include <string>
#include <type_traits>

namespace hearth::testing {

template <typename A, typename B>
constexpr bool kPassedAlike =
    std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
    (std::is_pointer_v<A> || std::is_integral_v<A> || std::is_enum_v<A>) &&
    (std::is_pointer_v<B> || std::is_integral_v<B> || std::is_enum_v<B>) && sizeof(A) == sizeof(B);

template <typename A, typename B>
constexpr bool kSameAbi = false;

template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
constexpr bool kSameAbi<R (*)(A...), S (*)(B...)> = (kPassedAlike<A, B> && ...) && kPassedAlike<R, S>;

// One of our entry points, which was found to be called as a header declares it, and its name there.
class CheckedEntry {
 public:
  CheckedEntry(const char* ours, const char* theirs) { all()[ours] = theirs; }
  static std::string declared(const std::string& ours) { return all()[ours]; }

 private:
  static std::map<std::string, std::string>& all() {
    static auto& entries = *new std::map<std::string, std::string>;
    return entries;
  }
};

}  // namespace hearth::testing
