// Kinds of masks as callers name them; the numbers are those of the kernels' mask_type.
#pragma once

enum class mask_enum { no_mask = 0, mask_top_left = 1, mask_bottom_right = 2, window_generic = 3 };
