// Every recording op: client/ops/*.h together.
#pragma once
#include "client/ops/attention.h"
#include "client/ops/conv.h"
#include "client/ops/elementwise.h"
#include "client/ops/linear.h"
#include "client/ops/loss.h"
#include "client/ops/movement.h"
#include "client/ops/nn.h"
#include "client/ops/recurrent.h"
#include "client/ops/reduce.h"
#include "client/tensor.h"
