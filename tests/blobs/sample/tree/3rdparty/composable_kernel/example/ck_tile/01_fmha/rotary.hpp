// Kinds of rotary embeddings as callers name them: pairs of neighbours, or of the two halves.
#pragma once

enum class rope_enum { none = 0, interleaved = 1, half_rotated = 2 };
