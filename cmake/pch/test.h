// Precompiled for every test program (cmake/hearth.cmake).
#pragma once
#include <catch2/catch.hpp>

#include "library.h"
