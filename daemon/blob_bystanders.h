// Bystanders of a compile: files that an include could have found instead of one of the files it was made of, because
// they lie in a folder it looks into and end in the same names. That they were passed over says that the compiler does
// not take them; one that appears later may be taken, so results made before it are void.
//
// Folders looked into: those of -I, -iquote, -isystem, -idirafter, of the source, and of every file used that lies
// below one of these or below the root. More are looked at than a compiler would: that costs a compile, never a stale
// result. Not seen: what `__has_include` asks for in vain. Paths below the root begin with "{root}". Example:
//   std::vector<std::string> now = bystanders_of(spec, record.files(), files);   // sorted
#pragma once
#include <string>
#include <vector>

#include "daemon/file_memo.h"
#include "hearth/v1/blob.pb.h"

namespace hearth::daemon {

using BlobFiles = google::protobuf::RepeatedPtrField<v1::BlobFile>;

// `watched`, when given, gets the folders looked into.
std::vector<std::string> bystanders_of(const v1::BlobSpec& spec, const BlobFiles& used, FileMemo& files,
                                       Watched* watched = nullptr);

// "{root}/x" ↔ "ROOT/x".
std::string with_root(const std::string& path, const std::string& root);
std::string without_root(const std::string& path, const std::string& root);

}  // namespace hearth::daemon
