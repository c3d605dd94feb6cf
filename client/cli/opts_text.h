// Opts as people read them, named as the compiler names them: "LANES(1, 16) UNROLL(0, 4)". Pure function.
#pragma once
#include <string>

#include "google/protobuf/repeated_field.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::cli {

std::string opts_text(const google::protobuf::RepeatedPtrField<v1::Opt>& opts);

}  // namespace hearth::cli
