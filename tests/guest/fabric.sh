# The software InfiniBand fabric in a guest (docs/fabric.md); sourced after lib.sh. ib_loop's port 1 has ib0 here,
# port 2 ib1 in the network namespace b: their packets cross the cable, unless somebody takes a short cut.
# shellcheck shell=bash disable=SC2154,SC2034

ib0=10.2.0.1 ib1=10.2.0.2 # the addresses
ib0_6=fd02::1 ib1_6=fd02::2
in_b() { ip netns exec b "$@"; }

fabric_load() {
  modprobe -a rdmavt ib_umad ib_uverbs rdma_ucm || return 1
  insmod "$mods/tests/ib_loop/ib_loop.ko" "$@"
}

# A field of a port, from sysfs: fabric_port NUMBER lid|state|link_layer|rate...
fabric_port() { cat "/sys/class/infiniband/ibl0/ports/$1/$2"; }
fabric_in_state() { # STATE: both ports
  local p
  for p in 1 2; do
    [ "$(fabric_port $p state)" = "$1" ] || { echo "port $p is $(fabric_port $p state)"; return 1; }
  done
}

fabric_sm() {
  opensm -B -f /tmp/opensm.log "$@" > /tmp/opensm.out 2>&1 || { cat /tmp/opensm.out; return 1; }
  wait_for fabric_in_state "4: ACTIVE" || { tail -n 20 /tmp/opensm.log; return 1; }
}

fabric_ipoib() {
  modprobe ib_ipoib && wait_for test -e /sys/class/net/ib1 || return 1
  ip netns add b && ip link set ib1 netns b || return 1
  ip -n b link set lo up
  ip addr add $ib0/24 dev ib0; ip -n b addr add $ib1/24 dev ib1
  ip addr add $ib0_6/64 dev ib0 nodad; ip -n b addr add $ib1_6/64 dev ib1 nodad
  ip link set ib0 up; ip -n b link set ib1 up
  wait_for ping -c 1 -W 1 $ib1
}

# The module goes first: without a subnet manager IPoIB would wait for answers when it leaves its groups. And opensm
# without a port does not end by itself.
fabric_down() {
  local pid
  timeout 60 rmmod ib_loop || { echo "rmmod ib_loop failed: $?"; return 1; }
  [ ! -e /sys/class/infiniband/ibl0 ] || { echo "ibl0 did not go"; return 1; }
  ip netns del b 2>/dev/null
  pid=$(pidof opensm) || return 0
  kill -9 "$pid"
  wait_for test ! -e "/proc/$pid"
}
