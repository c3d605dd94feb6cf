#!/bin/bash
# Long runs of what ctest runs for seconds, on the release build. Each prints its figures and exits with 1 when something
# was wrong, lost, or over its bound.
#   scripts/soak.sh kills [SECONDS]     clients at work while daemon and workers are killed (tests/fault/daemon/soak.py)
#   scripts/soak.sh attack [SECONDS]    all attacks in turn beside another client (tests/fault/attack), SECONDS in all
#   scripts/soak.sh users [SECONDS]     kills as above, of a node's service and six clients of three users (root)
#   scripts/soak.sh users-attack [SECONDS]   attacks as above, attacker and victim being different users (root)
#   scripts/soak.sh hostile [SECONDS]   three hostile users of a node at once, and a fourth who is to be served (root)
set -euo pipefail
cd "$(dirname "$0")/.."
export HEARTH_BIN_DIR=$PWD/build/release/bin
case ${1:-} in
kills) exec /usr/bin/python3 -B tests/fault/daemon/soak.py "$HEARTH_BIN_DIR" --seconds "${2:-180}" ;;
users) exec /usr/bin/python3 -B tests/fault/daemon/soak.py "$HEARTH_BIN_DIR" --users 3 --seconds "${2:-240}" ;;
hostile)
  HEARTH_SOURCE_DIR=$PWD exec /usr/bin/python3 -B tests/fault/node/node_hostile_test.py examples --seconds "${2:-300}"
  ;;
users-attack) exec /usr/bin/python3 -B tests/fault/attack/attack_test.py --users --total "${2:-600}" ;;
attack) exec /usr/bin/python3 -B tests/fault/attack/attack_test.py --total "${2:-600}" ;;
*)
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
