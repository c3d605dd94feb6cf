#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges the packages of a folder in a bare Debian 12: debootstrap, root, apt.
#   tests/packages/chroot_test.sh build/packages [FOLDER]      FOLDER: kept, and used again by the next run
set -euo pipefail
packages=$(realpath "$1")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
base=${2:-}
work=$(mktemp -d)
root=$work/root
say() { printf '== %s\n' "$*"; }
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
cleanup() {
  [[ ! -d $root/proc ]] || chroot "$root" pkill -x hearthd || true
  for mount in proc dev/pts dev; do mountpoint -q "$root/$mount" && umount -l "$root/$mount"; done
  rm -rf "$work"
}
trap cleanup EXIT

if [[ -n $base && -d $base/etc ]]; then
  cp -a "$base" "$root"
else
  say "debootstrap"
  mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" "Codename: bookworm" | head -1)
  [[ -n $mirror ]] || mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" | head -1)
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -20 "$work/debootstrap.log" >&2; fail "debootstrap"; }
  [[ -z $base ]] || cp -a "$root" "$base"
fi
# How apt reaches its mirrors is this machine's matter.
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root/dev/pts"
mount --bind /dev/pts "$root/dev/pts"
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"  # there is no init
chmod 755 "$root/usr/sbin/policy-rc.d"
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { in_root setpriv --reuid=user --regid=user --clear-groups env HOME=/home/user sh -ec "$*"; }
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./packages -o -path ./root \
  -o -path ./home -o -path './etc/passwd*' -o -path './etc/group*' -o -path './etc/shadow*' -o -path './etc/gshadow*' -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print | sort); }

say "a developer's tools"
in_root apt-get update -q >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log" >&2; fail "apt-get update"; }
in_root apt-get install -qy --no-install-recommends g++ cmake make pkg-config procps >>"$work/apt.log" 2>&1 || fail "apt-get"
in_root useradd -m user
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"

say "what the packages need"  # installed first, so that a purge must leave all the rest as it is here
python=()
[[ ! -e $(echo "$root"/packages/python3-hearth_*.deb) ]] || python=(python3-hearth)
depends=$(in_root sh -c 'apt-get install -s --no-install-recommends /packages/*.deb python3-numpy' |
  sed -n 's/^Inst \(\S*\) .*/\1/p' | grep -vE '^(lib|python3-)?hearth')
in_root apt-get install -qy --no-install-recommends $depends >>"$work/apt.log" 2>&1 || fail "apt-get install $depends"
files >"$work/before"

say "apt install"
in_root sh -c 'apt-get install -qy --no-install-recommends /packages/hearth_*.deb /packages/libhearth*.deb' >>"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" >&2; fail "apt-get install"; }
cp -r "$source/examples/standalone" "$source/examples/digits" "$root/home/user/"
in_root chown -R user /home/user
digits='digits/digits.onnx digits/digits_images.npy digits/digits_labels.npy'
as_user "cd ~; hearth --version; hearth devices; hearth run digits/digits.onnx --input image=digits/digits_images.npy"
say "a CMake project"
as_user "cd ~; cmake -S standalone -B cmake >/dev/null; cmake --build cmake >/dev/null; cmake/digits $digits; cmake/run digits/digits.onnx" |
  tee "$work/out"
grep -q '395 of 400 right' "$work/out" || fail "the CMake project"
say "a Makefile"
as_user "cd ~; make -s -C standalone; standalone/digits $digits; standalone/run digits/digits.onnx" | tee "$work/out"
grep -q '395 of 400 right, 0 of' "$work/out" || fail "the Makefile"
grep -q 'probability: f32, 16000 bytes' "$work/out" || fail "the C program"
in_root test -s /usr/share/man/man1/hearth.1.gz || fail "manual page"

if ((${#python[@]} > 0)); then
  say "Python"
  in_root sh -c 'apt-get install -qy --no-install-recommends /packages/python3-hearth_*.deb' >>"$work/apt.log" 2>&1 || fail "python3-hearth"
  python3 - "$source/docs/python.md" > "$root/home/user/quickstart.py" <<'PYTHON'
import re, sys
print(re.search(r"```python\n(.*?)```", open(sys.argv[1]).read(), re.DOTALL)[1])
PYTHON
  as_user "cd ~; python3 quickstart.py" | tee "$work/out"
  grep -qE '^\[(1\. |0\.9999)' "$work/out" || fail "the quickstart"
  as_user "cd ~; python3 -c 'import hearth; print(hearth.load(\"digits/digits.onnx\"))'"
fi

say "as a service of the node: one daemon, two users"
in_root install -d -o hearth -g hearth -m 0755 /run/hearth  # as systemd-tmpfiles does
in_root install -d -o hearth -g hearth -m 0700 /var/cache/hearth
in_root useradd -m other
cp -r "$root/home/user/cmake" "$root/home/user/digits" "$root/home/other/"
in_root chown -R other /home/other
as_user "hearth daemon stop"
in_root setpriv --reuid=hearth --regid=hearth --clear-groups env HEARTH_SOCKET=/run/hearth/hearthd.sock \
  HEARTH_CACHE_DIR=/var/cache/hearth HEARTH_CLIENTS=everyone hearthd --foreground >"$work/service.log" 2>&1 &
for _ in $(seq 100); do [[ -S $root/run/hearth/hearthd.sock ]] && break; sleep 0.1; done
as_user "cd ~; cmake/digits $digits; hearth daemon status" | tee "$work/out"
grep -q "/run/hearth/hearthd.sock (the node's service)" "$work/out" || fail "the service is not found"
in_root setpriv --reuid=other --regid=other --clear-groups env HOME=/home/other sh -ec "cd ~; cmake/digits $digits" | tee "$work/out"
grep -q '395 of 400 right, 0 of 13 kernels compiled now' "$work/out" || fail "another user compiled again"
in_root pkill -x hearthd
wait
rm -rf "$root/run/hearth"

say "upgrade, while a daemon runs"
for package in "$packages"/*.deb; do
  name=$(basename "$package" | cut -d_ -f1)
  dpkg-deb -R "$package" "$work/$name"
  sed -i 's/^Version: .*/Version: 99/; s/(= [0-9.]*)/(= 99)/g' "$work/$name/DEBIAN/control"
  dpkg-deb -b --root-owner-group "$work/$name" "$root/packages/new_$name.deb" >/dev/null
done
in_root sh -c 'apt-get install -qy --no-install-recommends /packages/new_hearth.deb /packages/new_libhearth*.deb $(ls /packages/new_python3-hearth.deb 2>/dev/null)' >>"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" >&2; fail "the upgrade"; }
sleep 3  # a daemon sees that its program's file is another one
as_user "cd ~; cmake/digits $digits; hearth daemon status" | tee "$work/out"
grep -q '395 of 400 right, 0 of' "$work/out" || fail "after the upgrade"
as_user "hearth daemon stop"

say "the blobs, then all of it goes"
in_root sh -c 'apt-get install -qy --no-install-recommends /packages/new_hearth-blobs.deb' >>"$work/apt.log" 2>&1 || fail "hearth-blobs"
as_user "hearth blobs doctor" || true  # no compiler for HIP here: it says so
in_root dpkg --remove "${python[@]}" hearth-blobs libhearth-dev hearth libhearth0 >>"$work/apt.log" 2>&1 || fail "remove"
[[ ! -e $root/usr/bin/hearthd ]] || fail "hearthd is still there"
in_root dpkg --purge "${python[@]}" hearth-blobs libhearth-dev hearth libhearth0 >>"$work/apt.log" 2>&1 || fail "purge"
files >"$work/after"
in_root getent passwd hearth >/dev/null || fail "the service's user is gone: files may still be its own"
diff "$work/before" "$work/after" || fail "a purge leaves files"
say "all well"
