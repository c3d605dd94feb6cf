// The target of ONNX models as messages: functions that call one another, graphs within graphs, attributes that stand for
// a function's, weights in files beside the model.
#pragma once
#include "tests/fuzz/bytes/target.h"

namespace hearth::fuzz {

Target onnx_structure();

}  // namespace hearth::fuzz
