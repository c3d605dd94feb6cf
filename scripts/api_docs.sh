#!/usr/bin/env bash
# Makes the API reference in build/api/html; fails on any warning of Doxygen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/api
doxygen docs/Doxyfile
echo "api_docs: build/api/html/index.html"
