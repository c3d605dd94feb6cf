#!/usr/bin/env bash
# The wheels in bare Debians, without a network and without a compiler: python3 -m venv, pip install from a folder, the
# quickstart of docs/python.md. One client wheel for each suite's Python. Root, debootstrap; an index for pip to fetch what
# the wheels need.
#   tests/packages/chroot_wheels_test.sh build/wheels [FOLDER] [SUITE...]      FOLDER: keeps the suites for the next run
set -euo pipefail
wheels=$(realpath "$1")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
base=${2:-}
suites=("${@:3}")
((${#suites[@]} > 0)) || suites=(bookworm trixie forky)
work=$(mktemp -d)
root=$work/root
say() { printf '== %s\n' "$*"; }
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
leave() {
  for mount in proc dev; do mountpoint -q "$root/$mount" && umount -l "$root/$mount"; done
  rm -rf "$root"
}
trap 'leave; rm -rf "$work"' EXIT
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" "Codename: bookworm" | head -1)
[[ -n $mirror ]] || mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" | head -1)
python3 - "$source/docs/python.md" > "$work/quickstart.py" <<'PYTHON'
import re, sys
print(re.search(r"```python\n(.*?)```", open(sys.argv[1]).read(), re.DOTALL)[1])
PYTHON

for suite in "${suites[@]}"; do
  say "$suite"
  if [[ -n $base && -d $base/$suite/etc ]]; then
    cp -a "$base/$suite" "$root"
  else
    script=/usr/share/debootstrap/scripts/$suite
    [[ -e $script ]] || script=/usr/share/debootstrap/scripts/sid  # newer than this Debian
    debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root" "$mirror" "$script" > "$work/debootstrap.log" 2>&1 ||
      { tail -20 "$work/debootstrap.log" >&2; fail "debootstrap of $suite"; }
    if [[ -n $base ]]; then mkdir -p "$base" && cp -a "$root" "$base/$suite"; fi
  fi
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  version=$(in_root python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  mkdir "$root/wheels"
  cp "$wheels"/hearth_compiler*.whl "$root/wheels"
  python3 -m pip --disable-pip-version-check --quiet download -d "$root/wheels" --only-binary :all: --no-deps --python-version "$version" \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 nanobind-backend numpy || fail "no wheels for Python $version"
  cp "$work/quickstart.py" "$root/root"
  in_root sh -c 'command -v gcc g++ clang' && fail "$suite has a compiler"
  # No network from here on, not even a loopback.
  cat > "$root/root/steps.sh" <<'STEPS'
set -e
cd /root
python3 -m venv env
env/bin/pip --disable-pip-version-check --quiet install --no-index --find-links /wheels hearth-compiler hearth-compiler-daemon
env/bin/python -c 'import hearth, sys; assert "numpy" not in sys.modules'
env/bin/pip --disable-pip-version-check --quiet install --no-index --find-links /wheels numpy
env/bin/python quickstart.py
env/bin/python -c '
import hearth, numpy as np
f = hearth.jit(lambda x: hearth.softmax(x @ x.T))
x = np.random.rand(4, 8).astype("f")
wanted = np.exp(x @ x.T); wanted /= wanted.sum(axis=-1, keepdims=True)
for _ in range(2): np.testing.assert_allclose(f(x), wanted, rtol=1e-5)
print("Python", __import__("sys").version.split()[0], "right")'
env/bin/hearth daemon stop
STEPS
  unshare --net chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root sh -e /root/steps.sh | tee "$work/out"
  grep -q "^Python $version.* right" "$work/out" || fail "$suite"
  leave
done
say "all well"
