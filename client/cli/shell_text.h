// Words of a command line that a person may copy into a shell. Pure function.
//
//   print_line("run it: hearth run ", shell_path(path));
#pragma once
#include <string>

namespace hearth::cli {

// `word` as one word of a POSIX shell, whatever it holds: quoted where it must be. Control characters, which a terminal
// would not show as they are, become $'…' escapes.
std::string shell_word(const std::string& word);
// The same for a path; one that begins with '-' is made to begin with "./", so that it is no flag.
std::string shell_path(const std::string& path);

}  // namespace hearth::cli
