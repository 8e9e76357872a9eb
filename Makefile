# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
#   make            ib_sdp.ko for the running kernel, or KVER=..., in build/KVER/
#   make install    the module under /lib/modules, the user header under /usr/include
#   make demo       see it work, without an adapter
#   make shell      a guest with everything loaded (KERNEL=6.1|6.12)
#   make check      all tests on both kernels; SUITE=name KERNEL=6.1|6.12 for a part
#   make check-full everything there is; so far the same as check
#   make lint       every warning of gcc, sparse and checkpatch.pl
#   make bench      figures that do not depend on the machine
#   make clean

all: modules

modules:
	@scripts/host build
	@scripts/build $(KVER)

install: modules
	@scripts/install $(KVER)

clean:
	rm -rf build
	@for d in tests/core tests/socket; do [ ! -e $$d/Makefile ] || $(MAKE) -s -C $$d clean; done

lint:
	@scripts/host lint
	@scripts/lint

shell demo bench:
	@scripts/host demo
	@KERNEL=$(KERNEL) scripts/$@

check check-full:
	@scripts/host check
	@SUITE='$(SUITE)' KERNEL='$(KERNEL)' scripts/check

.PHONY: all modules install clean lint shell demo bench check check-full
