// Precompiled for what hands on rather than computes (cmake/hearth.cmake): the command line, the daemon, blobs' tools.
#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "library.h"
