# Shared by the scripts here; sourced, never run.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
cache=${SDP_CACHE:-${HOME:-/root}/.cache/ib_sdp}
# where runs put their files: a cache that somebody else filled is only read
work=$cache
[ ! -e "$cache/guest" ] || [ -w "$cache" ] || work=$top/build/work
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

say() { echo "-- $*"; }
die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# Run a command whose output nobody wants unless it fails, and show that it lives: a line every 10 s.
quietly() { # WHAT COMMAND...
  local what=$1 log pid n=0; shift
  mkdir -p "$work"
  log=$(mktemp "$work/log.XXXXXX")
  say "$what"
  "$@" > "$log" 2>&1 < /dev/null &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    sleep 0.2; n=$((n + 1))
    [ $((n % 50)) != 0 ] || echo "   ... $((n / 5)) s: $(tail -n 1 "$log" | cut -c1-70)"
  done
  if wait $pid; then rm -f "$log"; return 0; fi
  tail -n 20 "$log" >&2; rm -f "$log"
  die "failed: $what"
}

# The paths of the lab's parts; each exists only when complete (see scripts/lab).
guest_root() { echo "$cache/guest"; }
# 6.1 or 6.12 -> the full version of the lab's kernel of that line
lab_kver() {
  cat "$cache/guest/kver.$1" 2>/dev/null || cat "$cache/headers/kver.$1" 2>/dev/null ||
    die "the lab has no kernel $1: run scripts/lab guest"
}

# Where a kernel of this version is built against: the machine's headers, or the lab's.
headers_of() { # KVER
  local d
  for d in "/lib/modules/$1/build" "$cache/headers/lib/modules/$1/build"; do
    if [ -e "$d/Makefile" ]; then echo "$d"; return 0; fi
  done
  return 1
}
