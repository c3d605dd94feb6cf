#include "client/cli/opts_text.h"

#include "base/text.h"

namespace hearth::cli {

std::string opts_text(const google::protobuf::RepeatedPtrField<v1::Opt>& opts) {
  std::string text;
  for (const v1::Opt& opt : opts) {
    const std::string name = opt.kind() == v1::Opt::PAD_TO ? "PADTO" : v1::Opt::Kind_Name(opt.kind());
    text += str_cat(text.empty() ? "" : " ", name, "(", opt.axis());
    text += opt.kind() == v1::Opt::PACK ? ")" : str_cat(", ", opt.amount(), ")");
  }
  return text;
}

}  // namespace hearth::cli
