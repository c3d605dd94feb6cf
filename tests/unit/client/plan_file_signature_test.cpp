// Signed plan files: where keys are trusted, only what one of their owners signed is loaded.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/ed25519_text.h"
#include "base/file.h"
#include "client/files/plan_file_signature.h"
#include "hearth/plan_file.h"
#include "tests/unit/client/fake_service.h"
#include "tests/unit/client/saxpy_file.h"

namespace {

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;

struct Signer {
  const Ed25519Secret secret = Ed25519Secret::made();
  const std::string file = testing::fresh_path(".key");
  const std::string trusted = public_key_text(secret.public_key());
  Signer() {
    REQUIRE(runtime::write_file(file, {secret_text(secret)}).ok());
    std::filesystem::permissions(file, std::filesystem::perms(0600));
  }
};

absl::Status loaded(const std::string& path, std::vector<std::string> keys) {
  return load_plan(path, {.trusted_keys = std::move(keys)}).status();
}
std::string message_of(const absl::Status& status) { return std::string(status.message()); }

}  // namespace

TEST_CASE("a signed plan file is loaded by who trusts its key, and by who trusts all") {
  const Signer signer, other;
  const std::string path = testing::exported_saxpy({.signing_key = signer.file});
  CHECK(testing::computes_saxpy(*load_plan(path)));
  CHECK(testing::computes_saxpy(*load_plan(path, {.trusted_keys = {other.trusted, signer.trusted}})));
  const std::string bytes = *runtime::read_file(path);
  CHECK(load_plan_bytes(bytes, {.trusted_keys = {signer.trusted}}).ok());
}

TEST_CASE("a plan file that no trusted key signed is refused, with the remedy") {
  const Signer signer, other;
  for (const std::string& path : {testing::exported_saxpy({}), testing::exported_saxpy({.signing_key = other.file})}) {
    const absl::Status status = loaded(path, {signer.trusted});
    CHECK(absl::IsPermissionDenied(status));
    CHECK_THAT(message_of(status), Contains(path) && Contains("signed") && Contains("--sign"));
  }
}

TEST_CASE("HEARTH_TRUSTED_KEYS holds for every load that names no keys itself") {
  const Signer signer, other;
  const std::string path = testing::exported_saxpy({.signing_key = signer.file});
  const auto load_with = [&](const char* value) {
    ::setenv("HEARTH_TRUSTED_KEYS", value, 1);
    const absl::Status status = loaded(path, {});
    ::unsetenv("HEARTH_TRUSTED_KEYS");
    return status;
  };
  CHECK(load_with("").ok());
  CHECK(load_with((other.trusted + ", " + signer.trusted).c_str()).ok());
  CHECK(absl::IsPermissionDenied(load_with(other.trusted.c_str())));
  CHECK(absl::IsPermissionDenied(load_with(",")));
  const absl::Status none = load_with("not\na key");
  CHECK(absl::IsInvalidArgument(none));
  CHECK_THAT(message_of(none), Contains("HEARTH_TRUSTED_KEYS: 'not\\na key' is no public key"));
}

TEST_CASE("a signature taken away, moved to another file or put on another manifest is refused") {
  const Signer signer;
  const std::string path = testing::exported_saxpy({.signing_key = signer.file});
  const std::string bytes = *runtime::read_file(path), plain = *runtime::read_file(testing::exported_saxpy({}));
  v1::PlanFileSignature signature;
  testing::with_manifest(bytes, [&](v1::PlanFileManifest& manifest) { signature = manifest.signature(); });
  const auto refused = [&](const std::string& from, const std::function<void(v1::PlanFileManifest&)>& change) {
    const absl::Status status =
        load_plan_bytes(testing::with_manifest(from, change), {.trusted_keys = {signer.trusted}}).status();
    CHECK(absl::IsPermissionDenied(status));
  };
  refused(bytes, [](v1::PlanFileManifest& manifest) { manifest.clear_signature(); });
  refused(bytes, [](v1::PlanFileManifest& manifest) { manifest.set_threads(manifest.threads() + 1); });
  refused(bytes, [](v1::PlanFileManifest& manifest) { manifest.mutable_signature()->set_signed_at(1); });
  refused(bytes, [](v1::PlanFileManifest& manifest) { manifest.mutable_signature()->mutable_signature()->pop_back(); });
  refused(bytes, [](v1::PlanFileManifest& manifest) { manifest.mutable_signature()->mutable_signature()->at(9) ^= 1; });
  refused(plain, [&](v1::PlanFileManifest& manifest) {
    manifest.set_threads(manifest.threads() + 1);
    *manifest.mutable_signature() = signature;
  });
  // The signed manifest as it is: sound.
  CHECK(load_plan_bytes(testing::with_manifest(bytes, [](v1::PlanFileManifest&) {}), {.trusted_keys = {signer.trusted}})
            .ok());
}

TEST_CASE("fields behind a signature, or a second one, make a manifest that nobody signed") {
  const Signer signer;
  v1::PlanFileManifest manifest;
  manifest.set_threads(3);
  const std::string sound = *signed_manifest(manifest.SerializeAsString(), signer.file);
  const auto checked = [&](const std::string& bytes) {
    v1::PlanFileManifest parsed;
    REQUIRE(parsed.ParseFromString(bytes));
    return check_signed(bytes, parsed, {signer.trusted});
  };
  CHECK(checked(sound).ok());
  v1::PlanFileManifest more;
  more.set_threads(4);
  CHECK(absl::IsPermissionDenied(checked(sound + more.SerializeAsString())));
  CHECK(absl::IsPermissionDenied(checked(more.SerializeAsString() + sound)));
  const std::string twice = *signed_manifest(sound, signer.file);
  CHECK(absl::IsPermissionDenied(checked(twice)));
}

TEST_CASE("a key that others may read, or that is none, signs nothing") {
  const Signer signer;
  std::filesystem::permissions(signer.file, std::filesystem::perms(0640));
  const auto open = signed_manifest("m", signer.file);
  CHECK(absl::IsFailedPrecondition(open.status()));
  CHECK_THAT(message_of(open.status()), Contains(signer.file) && Contains("chmod 600"));
  const std::string nonsense = testing::fresh_path(".key");
  REQUIRE(runtime::write_file(nonsense, {"nonsense"}).ok());
  std::filesystem::permissions(nonsense, std::filesystem::perms(0600));
  CHECK_THAT(message_of(signed_manifest("m", nonsense).status()), Contains("hearth remote keygen"));
  CHECK(absl::IsNotFound(signed_manifest("m", nonsense + ".missing").status()));
}
