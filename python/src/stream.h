// hearth.Stream: one instance of a model whose carried outputs are the next call's inputs. With the GIL; what waits for a
// device lets it go.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "function.h"
#include "replay.h"

namespace hearth::python {

class Stream {
 public:
  Stream(const Function& function, const std::vector<client::Carried>& carried);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  nb::object call(const nb::args& args, const nb::kwargs& kwargs);
  // State by input, of any length that the input may have; zeros, and a growing cache empty, where none is given.
  void reset(const nb::kwargs& state);
  nb::dict state();
  const Signature& signature() const { return signature_; }

 private:
  class Use;  // of the instance, by one thread at a time
  // A length that carried inputs alone have, such as that of a cache which grows: a call that does not say it means what
  // the call before left.
  struct Counted {
    std::string name;
    nb::object variable;  // the same
    std::string input;
    std::size_t axis = 0, output = 0;
    std::optional<std::int64_t> value;
  };
  void count();
  nb::kwargs with_counted(const nb::kwargs& kwargs) const;
  void check_state(const Argument& argument, const client::ValueInfo& input, const std::string& what) const;

  const client::PreparedPlan plan_;
  const Signature signature_;
  const std::vector<client::Carried> carried_;
  const bool may_copy_;
  const std::unique_ptr<Replay> replay_;
  std::vector<Counted> counted_;
  bool is_busy_ = false;
  bool has_run_ = false;
};

void add_stream(nb::module_& module);

}  // namespace hearth::python
