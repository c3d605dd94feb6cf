// list_digest: what numbers a library's blobs. Dispatchers and the embedded manifest carry it, so that a dispatcher of
// one build never calls by the list of another: hearth::blob::Dispatcher of blobs/loader/hearth_blob.h.
// Pure; thread-safe; no errors.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hearth::blobs {

// `exports`: for every blob of the library its stem and the mangled prefixes that it exports, in order. The first eight
// bytes of a SHA-256.
std::uint64_t list_digest(const std::map<std::string, std::vector<std::string>>& exports);

// As a C++ literal: "0x0123456789abcdefull".
std::string list_digest_literal(const std::map<std::string, std::vector<std::string>>& exports);

}  // namespace hearth::blobs
