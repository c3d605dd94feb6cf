// Every recording op: client/ops/*.h together.
#pragma once
#include "client/ops/blocks.h"
#include "client/ops/conv.h"
#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/loss.h"
#include "client/ops/movement.h"
#include "client/ops/nn.h"
#include "client/ops/quantize.h"
#include "client/ops/reduce.h"
#include "client/ops/resize.h"
#include "client/ops/sample.h"
#include "client/tensor.h"
