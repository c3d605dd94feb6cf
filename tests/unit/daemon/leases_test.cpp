#include "daemon/leases.h"

#include <catch2/catch.hpp>

namespace hearth::daemon {
namespace {

TEST_CASE("leases: release, double release and a session's end let go") {
  Leases leases;
  auto held = std::make_shared<const int>(1);
  const std::uint64_t a = leases.open_session();
  const std::uint64_t b = leases.open_session();
  const std::uint64_t first = leases.add(a, held).value();
  REQUIRE(leases.add(a, held).ok());
  REQUIRE(leases.add(b, held).ok());
  CHECK((leases.num_sessions() == 2 && leases.num_leases() == 3 && held.use_count() == 4));
  leases.release(b, first);  // another session's lease is not b's to release
  CHECK(leases.num_leases() == 3);
  leases.release(a, first);
  leases.release(a, first);
  CHECK((leases.num_leases() == 2 && held.use_count() == 3));
  leases.close_session(a);
  leases.close_session(a);
  CHECK((leases.num_sessions() == 1 && held.use_count() == 2));
  CHECK(absl::IsFailedPrecondition(leases.add(a, held).status()));
}

}  // namespace
}  // namespace hearth::daemon
