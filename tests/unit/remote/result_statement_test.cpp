// What a writer states of a result, and what a reader takes for stated.
#include "daemon/remote/result_statement.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels_cache/action_key.h"

using namespace hearth;
using namespace hearth::daemon;

namespace {

ResultStatement example() {
  ResultStatement statement{"hearth.plan.v3", sha256("asked"), "plan", "fleet 7",
                            sha256("worker"), "build 12",      {},     1'800'000'000};
  statement.files = {
      {"plan", sha256("the plan"), 4198}, {"k/00ff", sha256("a kernel"), 2811}, {"k/ff00", sha256(""), 0}};
  return statement;
}

struct Keys {
  Ed25519Secret writer = Ed25519Secret::made(), other = Ed25519Secret::made();
  TrustedKeys trusted = {{other.public_key(), writer.public_key()}, {}, 0};
};

void check_refused(std::string_view file, const TrustedKeys& trusted, absl::StatusCode code, const std::string& text) {
  const absl::Status status = verified_statement(file, trusted).status();
  CHECK(status.code() == code);
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("hearth.sig: ") && Catch::Contains(text));
}

}  // namespace

TEST_CASE("a statement that a trusted key signed is read as it was made") {
  const Keys keys;
  for (const std::size_t files : {std::size_t{0}, std::size_t{1}, std::size_t{3}, kMaxStatedFiles}) {
    ResultStatement statement = example();
    statement.files.resize(files, {"k/again", sha256("again"), ~std::uint64_t{0}});
    const auto stated = verified_statement(signed_statement(statement, keys.writer), keys.trusted);
    INFO(stated.status().message());
    REQUIRE(stated.ok());
    CHECK(*stated == statement);
  }
  CHECK(key_id(keys.writer.public_key()).size() == 16);
  CHECK(key_id(keys.writer.public_key()) != key_id(keys.other.public_key()));
}

TEST_CASE("a statement of which any byte differs, that is cut short or goes on, states nothing") {
  const Keys keys;
  const std::string file = signed_statement(example(), keys.writer);
  REQUIRE(verified_statement(file, keys.trusted).ok());
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    CHECK_FALSE(verified_statement(changed, keys.trusted).ok());
    CHECK_FALSE(verified_statement(file.substr(0, i), keys.trusted).ok());
  }
  CHECK_FALSE(verified_statement(file + '\0', keys.trusted).ok());
  check_refused("", keys.trusted, absl::StatusCode::kInvalidArgument, "cut short");
  check_refused(std::string(kMaxStatementBytes + 1, 'x'), keys.trusted, absl::StatusCode::kInvalidArgument,
                "1048577 bytes are more");
  check_refused(std::string(500, 'x'), keys.trusted, absl::StatusCode::kInvalidArgument, "no statement");
}

TEST_CASE("a statement of a key that is unknown, revoked or too old is refused, by the key's name") {
  const Keys keys;
  const std::string file = signed_statement(example(), keys.writer), id = key_id(keys.writer.public_key());
  constexpr auto kRefused = absl::StatusCode::kPermissionDenied;
  check_refused(file, {}, kRefused, "not trusted");
  check_refused(file, {{keys.other.public_key()}, {}, 0}, kRefused, "not trusted");
  TrustedKeys trusted = keys.trusted;
  trusted.revoked = {key_id(keys.other.public_key())};
  CHECK(verified_statement(file, trusted).ok());
  trusted.revoked.push_back(id);
  check_refused(file, trusted, kRefused, "key " + id + " is revoked");
  trusted = keys.trusted;
  trusted.not_before = example().signed_at;
  CHECK(verified_statement(file, trusted).ok());
  ++trusted.not_before;
  check_refused(file, trusted, kRefused, "key " + id + " signed this before");
  // Signed by one, in the name of another.
  const std::string unsigned_bytes = file.substr(0, file.size() - 64);
  const Ed25519Signature signature = keys.other.sign(unsigned_bytes);
  check_refused(unsigned_bytes + std::string(reinterpret_cast<const char*>(signature.data()), signature.size()),
                keys.trusted, kRefused, "key " + id + " did not sign this");
}

TEST_CASE("signed bytes of other parts, in another order or of another length are no statement") {
  const Keys keys;
  const std::string file = signed_statement(example(), keys.writer);
  const auto whole = cache::KeyMaterial::decode(std::string_view(file).substr(0, file.size() - 64));
  REQUIRE(whole.ok());
  const auto check = [&](const cache::KeyMaterial& material) {
    std::string bytes = material.encode();
    const Ed25519Signature signature = keys.writer.sign(bytes);
    bytes.append(reinterpret_cast<const char*>(signature.data()), signature.size());
    check_refused(bytes, keys.trusted, absl::StatusCode::kInvalidArgument, "no statement");
  };
  const std::size_t count = whole->parts().size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_file = whole->parts()[i].name == "file";
    cache::KeyMaterial without(whole->domain()), twice(whole->domain()), shorter(whole->domain());
    for (std::size_t k = 0; k < count; ++k) {
      const cache::KeyPart& part = whole->parts()[k];
      if (k != i) without.add(part.name, part.bytes);
      for (int times = 0; times < (k == i ? 2 : 1); ++times) twice.add(part.name, part.bytes);
      const bool has_length = part.bytes.size() == 32 || part.name == "signed_at" || is_file;
      shorter.add(part.name, k == i && has_length ? part.bytes.substr(0, 7) : part.bytes);
    }
    if (!is_file) check(without), check(twice);
    const std::string& name = whole->parts()[i].name;
    if (is_file || name == "key" || name == "flavour" || name == "signed_at") check(shorter);
  }
  cache::KeyMaterial moved(whole->domain());
  for (std::size_t k = 0; k < count; ++k) {
    const cache::KeyPart& next = whole->parts()[(k + 1) % count];
    moved.add(next.name, next.bytes);
  }
  check(moved);
  cache::KeyMaterial other_domain("hearth.remote_result.v2");
  for (const cache::KeyPart& part : whole->parts()) other_domain.add(part.name, part.bytes);
  check(other_domain);
  ResultStatement many = example();
  many.files.resize(kMaxStatedFiles + 1, {"k", sha256(""), 0});
  check_refused(signed_statement(many, keys.writer), keys.trusted, absl::StatusCode::kInvalidArgument, "no statement");
}
