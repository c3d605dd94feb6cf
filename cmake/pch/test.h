// Precompiled for every test program (cmake/hearth.cmake).
#pragma once
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "library.h"
