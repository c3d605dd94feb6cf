// DispatcherText: the C++ that the rewriter puts into a dispatcher, and before it.
//
// hearth_sites has a row for each blob in use and a column for each of its exports; hearth_blob<family, types…> gives a
// blob's row by its family of functions and the C++ type it is for, so that the compiler checks what the rewriter read.
// Pure; thread-safe. No errors.
//   std::string text = preamble(index, rows) + "#line 7 \"fmha_fwd_api.cpp\"\n" + …;
#pragma once
#include <map>
#include <string>
#include <vector>

#include "blobs/tools/blob_index.h"
#include "blobs/tools/helper_templates.h"

namespace hearth::blobs {

using BlobRows = std::map<int, int>;  // number in the index -> row of hearth_sites

// Declarations and, for code outside the dispatcher that calls blobs, definitions of the leaf templates.
std::string preamble(const BlobIndex& index, const BlobRows& rows);

// The function that `name<arguments>` names, as an expression of its type.
std::string leaf_expression(const BlobIndex& index, const std::string& name, const std::string& arguments);
// The same inside of a shared helper: of whatever blob is in that row of the group it was given.
std::string shared_leaf_expression(const BlobIndex& index, const std::string& name, const std::string& arguments,
                                   int row);

// The group of the blobs of a helper's call: of all of them, or of a shared helper's rows, where void is no blob.
std::string group_expression(const HelperCall& call);
std::string group_expression(const HelperCall& call, const SharedHelper& helper);

// A helper's parameter and name once it is shared.
inline constexpr char kGroupParameter[] = "const ::hearth::blob::SiteGroup* hearth_group_of_call";  // [=] copies it
inline constexpr char kSharedPrefix[] = "hearth_";

// As a string literal of #line.
std::string quoted(const std::string& path);

// The addresses of all functions of some blobs, in a section of their own, to be appended to an unmodified dispatcher:
// what they are called in its object, relocations say. In the order of `blobs`, each with its leaves.
inline constexpr char kNamesSection[] = "hearth_names";
std::string names_table(const BlobIndex& index, const std::vector<int>& blobs);

}  // namespace hearth::blobs
