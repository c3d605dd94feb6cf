#!/bin/sh
# The launcher of the compiles that make precompiled headers: runs the command, then writes beside X.gch or X.pch the
# file X.gch.sum, a digest of every file the header was made of. ccache (CCACHE_PCH_EXTSUM) takes the digest in the
# place of the precompiled header, whose bytes hold the path of the build tree: so clones share objects.
set -e
"$@"
out='' depends=''
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2 ;;
    -MF) depends=$2 ;;
  esac
  shift
done
case $out in *.gch | *.pch) ;; *) exit 0 ;; esac
rm -f "$out.sum"
[ -f "$depends" ] || exit 0
# A depfile is "target: file file \", one or more a line. Where a file cannot be read there is no digest, and ccache goes
# by the header's own bytes. The temporary takes care of two builds at once.
all=$out.all.$$
if sed -e '1s/^[^:]*: *//' -e 's/ *\\$//' "$depends" | tr -s ' ' '\n' | sed '/^$/d' | xargs cat >"$all"; then
  sha256sum <"$all" >"$all.sum"
  mv "$all.sum" "$out.sum"
fi
rm -f "$all"
