// Kinds of biases as callers name them.
#pragma once

enum class bias_enum { no_bias = 0, elementwise_bias = 1, alibi = 2 };

enum class quant_scale_enum { no_scale = 0, pertensor = 1 };
