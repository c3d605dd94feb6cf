// Files that would be found instead of a header that was used, did an include directive name them: they lie in a folder
// that is searched earlier, under the name by which the header may have been included.
//
// Folders are listed once each, so that a look costs a few system calls a folder, not one a header. Pure but for the
// file system; thread-safe; no errors: a folder that cannot be read holds nothing. Example:
//   std::set<std::string> now = include_shadows({"/x/first", "/x/second"}, {"/x/second/a.h"});  // "/x/first/a.h"?
#pragma once
#include <set>
#include <string>
#include <vector>

namespace hearth::blobs {

// `folders` in the order of the search; `used` absolute. What is in `used` is never in the result.
std::set<std::string> include_shadows(const std::vector<std::string>& folders, const std::set<std::string>& used);

}  // namespace hearth::blobs
