// Whether the tests are built with a sanitizer: it takes memory of its own and turns a crash into an exit code.
//   const char* says = test::kSanitizer ? "exited with code" : "signal 11";
#pragma once

namespace hearth::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizer = true;
#else
inline constexpr bool kSanitizer = false;
#endif

}  // namespace hearth::test
