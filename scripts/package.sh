#!/usr/bin/env bash
# Makes the Debian packages in build/packages:  hearth, libhearth0, libhearth-dev, hearth-blobs, python3-hearth (where
# scripts/python.sh venv has made its environment), and their debug symbols.
#   scripts/package.sh             builds for packages (build/package), packs, runs lintian
#   scripts/package.sh --release   packs build/release as it is: no debug symbols
#   scripts/package.sh --test      then installs, uses, upgrades, removes and purges them in a bare Debian 12
#                                  (debootstrap, root; tests/packages/chroot_test.sh)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/package
test=no
for argument in "$@"; do
  case $argument in
    --release) build=build/release ;;
    --test) test=yes ;;
    *)
      echo "usage: scripts/package.sh [--release] [--test]" >&2
      exit 2
      ;;
  esac
done

bash scripts/setup.sh
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
if [[ $build == build/package ]]; then
  cmake --preset package
  cmake --build --preset package --parallel "$(nproc)" --target package_contents
else
  cmake --build --preset release --parallel "$(nproc)" --target package_contents
fi
packages=$PWD/build/packages
rm -rf "$packages"
mkdir -p "$packages"
(cd "$build" && cpack -B "$packages" >"$packages/cpack.log" 2>&1) || { cat "$packages/cpack.log" >&2; exit 1; }
rm -rf "$packages/_CPack_Packages" "$packages/cpack.log"
for package in "$packages"/*deb; do
  printf '%8.1f MB  %8.1f MB installed  %s\n' "$(stat -c %s "$package")e-6" \
    "$(dpkg-deb -f "$package" Installed-Size)e-3" "${package#"$PWD/"}"
done
if command -v lintian >/dev/null; then
  lintian --fail-on error --tag-display-limit 0 "$packages"/*.deb
else
  echo "package: lintian is not installed: the packages were not checked" >&2
fi
[[ $test == no ]] || bash tests/packages/chroot_test.sh "$packages"
