// What the build body of a wrapped model threw or returned, as it comes out of prepare().
#include "hearth/build_error.h"

#include <catch2/catch.hpp>

#include "absl/strings/cord.h"
#include "tests/integration/jit_checks.h"

using namespace hearth;
using namespace hearth::client;
using namespace hearth::integration;

namespace {

struct MissingWeights : std::runtime_error {
  std::string file;
  explicit MissingWeights(std::string name) : std::runtime_error("no weights in " + name), file(std::move(name)) {}
};
HEARTH_JIT_WRAPPER(MissingJit, Line, (x)) { throw MissingWeights("model.bin"); }
HEARTH_JIT_WRAPPER(NestedJit, Line, (x)) {
  try {
    throw MissingWeights("layer.bin");
  } catch (...) {
    std::throw_with_nested(std::logic_error("layer 3"));
  }
}
HEARTH_JIT_WRAPPER(NumberJit, Line, (x)) { throw 7; }
absl::Status with_details() {
  absl::Status status = absl::NotFoundError("no such voice");
  status.SetPayload("example.com/voice", absl::Cord("anna"));
  return status;
}
HEARTH_JIT_WRAPPER(PayloadJit, Line, (x)) { return with_details(); }
HEARTH_JIT_WRAPPER(EmptyHandedJit, Line, (x)) { return absl::OkStatus(); }
HEARTH_JIT_WRAPPER(ReshapeJit, Line, (x)) { return reshape(x, {7}); }
HEARTH_JIT_WRAPPER(UnreadJit, Line, (x, unread)) { return x + 1.0; }
// A body that prepares another model, which fails.
HEARTH_JIT_WRAPPER(OuterJit, Line, (x)) {
  return UnreadJit(model).prepare(InputSpec::f32({1, 2}), InputSpec::f32({1, 2})).status();
}

}  // namespace

TEST_CASE("a build body's exception comes back as it was thrown") {
  const PrepareConfig config;  // nobody is asked
  const InputSpec spec = InputSpec::f32({1, 2});
  const absl::Status missing = MissingJit(Line()).prepare_with_config(spec, config).status();
  check_kind(missing, JitErrorKind::kBuild, "Build: no weights in model.bin");
  CHECK(absl::IsUnknown(missing));
  std::exception_ptr inner = build_error(missing);
  REQUIRE(inner);
  try {
    std::rethrow_exception(inner);
  } catch (const MissingWeights& error) {
    CHECK(error.file == "model.bin");
  }
  // An exception with another one nested in it, and one that is no std::exception.
  const absl::Status nested = NestedJit(Line()).prepare_with_config(spec, config).status();
  check_kind(nested, JitErrorKind::kBuild, "Build: layer 3: no weights in layer.bin");
  try {
    std::rethrow_exception(build_error(nested));
  } catch (const std::logic_error& error) {
    CHECK_THROWS_AS(std::rethrow_if_nested(error), MissingWeights);
  }
  const absl::Status number = NumberJit(Line()).prepare_with_config(spec, config).status();
  check_kind(number, JitErrorKind::kBuild, "Build: an exception of type int");
  CHECK_THROWS_AS(std::rethrow_exception(build_error(number)), int);
  // Others have none, and a text that looks like one gives none.
  CHECK_FALSE(build_error(absl::OkStatus()));
  CHECK_FALSE(build_error(ReshapeJit(Line()).prepare_with_config(spec, config).status()));
  absl::Status forged = absl::UnknownError("x");
  missing.ForEachPayload([&](absl::string_view type, const absl::Cord& bytes) {
    forged.SetPayload(type, absl::Cord(std::string(bytes) + "0"));
  });
  CHECK_FALSE(build_error(forged));
}

TEST_CASE("a build body's exception lives as long as the status that holds it") {
  struct Noticing {
    std::shared_ptr<int> alive;
  };
  auto alive = std::make_shared<int>(0);
  absl::Status kept = build_failed(std::make_exception_ptr(Noticing{alive}));
  CHECK(alive.use_count() > 1);
  {
    const absl::Status copy = kept;
    kept = absl::OkStatus();
    CHECK(alive.use_count() > 1);
    CHECK_THROWS_AS(std::rethrow_exception(build_error(copy)), Noticing);
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("a build body's status comes back with its code, text and payloads") {
  const PrepareConfig config;
  const InputSpec spec = InputSpec::f32({1, 2});
  const absl::Status status = PayloadJit(Line()).prepare_with_config(spec, config).status();
  check_kind(status, JitErrorKind::kBuild, "Build: no such voice");
  CHECK(absl::IsNotFound(status));
  CHECK(status.GetPayload("example.com/voice") == absl::Cord("anna"));
  try {
    std::rethrow_exception(build_error(status));
  } catch (const JitError& error) {
    CHECK(error.status() == with_details());
  }
  check_kind(EmptyHandedJit(Line()).prepare_with_config(spec, config), JitErrorKind::kBuild,
             "returned OK and no tensor");
  // The error of another wrapper, which has a kind of its own, is this body's error.
  const absl::Status outer = OuterJit(Line()).prepare_with_config(spec, config).status();
  check_kind(outer, JitErrorKind::kBuild, "Build: InputBufferNotFound: ");
  try {
    std::rethrow_exception(build_error(outer));
  } catch (const JitError& error) {
    CHECK(jit_error_kind(error.status()) == JitErrorKind::kInputBufferNotFound);
  }
}
