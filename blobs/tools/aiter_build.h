// What aiter's compile.py leaves behind and does not tell.
//
// It copies each library into its checkout, where its next run would import it as a Python module and fail: while a
// CheckoutLibraries is alive such files are out of the way, in the build's temporary folder, and at its end the
// checkout has what it had before. And it goes on when a generator of sources fails, so that a library lacks an API:
// failed_generator finds that in its log. One build a temporary folder at a time. Errors: PermissionDenied. Example:
//   CheckoutLibraries aside;
//   absl::Status status = aside.move("/src/aiter/op_tests/cpp/mha", {"libmha_fwd.so"}, "/tmp/mha");
#pragma once
#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::blobs {

class CheckoutLibraries {
 public:
  CheckoutLibraries() = default;
  CheckoutLibraries(const CheckoutLibraries&) = delete;
  CheckoutLibraries& operator=(const CheckoutLibraries&) = delete;
  ~CheckoutLibraries();

  // A file that a killed build moved is brought back at the end of this one.
  absl::Status move(const std::string& folder, const std::vector<std::string>& names, const std::string& tmp);

 private:
  std::vector<std::pair<std::string, std::string>> moved_;  // where it is in the checkout, where it is meanwhile
};

// "generate.py: KeyError: 'batch_prefill'" for the first traceback or refusal of a generator in what compile.py
// printed; empty: there is none. Tracebacks of other programs are compile.py's own business.
std::string failed_generator(std::string_view log);

}  // namespace hearth::blobs
