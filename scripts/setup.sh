#!/usr/bin/env bash
# Installs what building Hearth needs (scripts/packages.txt) on Debian 12. Root or sudo; apt only; does nothing when
# everything is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

mapfile -t packages < <(grep -v '^#' "$here/packages.txt")
mapfile -t missing < <(
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || echo "$package"
  done)
if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: ${#missing[@]} packages are missing and neither root nor sudo is available; as root run:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
  echo "setup: apt-get not found; Hearth builds on Debian 12. Missing: ${missing[*]}" >&2
  exit 1
fi

echo "setup: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
echo "setup: done"
