# Shared by the suites that run in a guest; sourced, never run. A suite prints `ok NAME`, `not ok NAME: why`
# and `skip NAME: why`; scripts/check counts them.
# shellcheck shell=bash

kver=$(uname -r)
mods=/src/build/$kver
me=10.1.0.1
[ "${NODE:-a}" = a ] || me=10.1.0.2

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
# NAME COMMAND...: the command's status decides; what it printed is shown when it fails
check() {
  local name=$1 log; shift
  log=$(mktemp)
  if "$@" > "$log" 2>&1; then ok "$name"; rm -f "$log"; return 0; fi
  sed 's/^/  | /' "$log" | tail -n 30
  not_ok "$name" "$(tail -n 1 "$log" | cut -c1-120)"
  rm -f "$log"
  return 1
}
# Wait for something that will happen, 20 s at most: COMMAND...
wait_for() {
  local end=$((SECONDS + ${LIMIT:-20}))
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || { echo "waited in vain for: $*" >&2; return 1; }
    sleep 0.1
  done
}
load_sdp() { insmod "$mods/ib_sdp.ko" "$@"; }

# A counter of /proc/net/sdpstats; 0 when there is no such name.
stat_of() { awk -v n="$1" '$1 == n {v = $2} END {print v + 0}' /proc/net/sdpstats; }

# Somebody listens on a TCP or SDP port.
listening() { # tcp|sdp PORT
  awk -v p=":$(printf %04X "$2")" 'substr($2, length($2) - 4) == p && ($4 == "0A" || $NF == "0A" || $NF == 10) {f = 1} END {exit !f}' \
    "/proc/net/$1" "$(ls /proc/net/"$1"6 2>/dev/null || echo /dev/null)"
}

# Both nodes of a pair arrive here before either goes on.
meet() { # NAME
  local other=b
  [ "$NODE" = a ] || other=a
  : > "/run/vm/meet.$1.$NODE"
  LIMIT=${2:-120} wait_for test -e "/run/vm/meet.$1.$other"
}

# qperf answers only the first test of a kind that needs rdma_cm, and a used port lingers: a new server on a new
# port for each test. Prints what qperf prints.
qperf_server() { # -> starts one on $qperf_port; the count is a file because callers run in subshells
  echo >> /tmp/qperf.count
  qperf_port=$((19800 + $(wc -l < /tmp/qperf.count)))
  nice -n "${SERVER_NICE:-0}" qperf -lp $qperf_port > /dev/null 2>&1 &
  qperf_pid=$!
  wait_for listening tcp $qperf_port
}
qperf_run() { # HOST ARGS...
  local host=$1 rc=0; shift
  qperf_server || return 1
  timeout "${LIMIT:-60}" qperf -lp $qperf_port "$host" "$@" || rc=$?
  kill $qperf_pid 2>/dev/null; wait $qperf_pid 2>/dev/null
  return $rc
}
