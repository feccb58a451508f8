# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# For people; the kernel's build system reads Kbuild. "make help" says what
# there is. Everything is built below build/, nothing beside the sources:
#
#   build/RELEASE/        the modules for the kernel RELEASE
#   build/user-CODENAME/  library, tools and test programs, for this system
#   build/deb/            the Debian packages
#   build/log/            what tests leave

KDIR ?= $(or $(wildcard /lib/modules/$(shell uname -r)/build),\
	/lib/modules/$(shell scripts/kernel.sh --version)/build)
# Not kernel.release: in Debian's headers, that is the upstream version alone.
KRELEASE = $(or $(shell cut -d'"' -f2 $(KDIR)/include/generated/utsrelease.h),\
	$(error no kernel headers in '$(KDIR)': run scripts/deps.sh build))
BUILD ?= build
MODULE = $(BUILD)/$(KRELEASE)
USERSPACE ?= $(abspath $(BUILD)/user-$(shell . /etc/os-release && \
	echo $${VERSION_CODENAME:-$$ID}))

# What has a Makefile in these folders builds itself to the BUILD that it is
# given. All need the library.
library = userspace/libcompch
userspace = $(library) $(filter-out $(library),\
	$(patsubst %/Makefile,%,$(sort $(wildcard userspace/*/Makefile))))
tests = $(patsubst %/Makefile,%,$(sort $(wildcard tests/*/Makefile)))

# each FOLDERS,TARGET
each = set -e; $(foreach dir,$(1),$(MAKE) --no-print-directory -C $(dir) \
	BUILD=$(USERSPACE) $(2);)

# What an installed system gets.
installed = $(library) userspace/compch
VERSION := $(shell cat VERSION)
PREFIX ?= /usr/local
MODPROBEDIR ?= /etc/modprobe.d
MODULESLOADDIR ?= /etc/modules-load.d
INSTALL ?= install

all: module userspace

# With OFA_DIR, for the RDMA stack there and not for the kernel's own.
module:
	@MAKE="$(MAKE)" OFA_DIR=$(OFA_DIR) scripts/build-module.sh $(KDIR) $(MODULE)

userspace:
	@$(call each,$(userspace),all)

# Where it is, for scripts
userspace-dir:
	@echo $(USERSPACE)

# The programs of the tests, to be run in a virtual machine.
tests: userspace
	@$(call each,$(tests),all)

# The library on a model of libibverbs and the kernel; no device is needed.
check-library: tests
	@$(MAKE) --no-print-directory -C tests/shim BUILD=$(USERSPACE) check

sanitize:
	@scripts/deps.sh build sanitize
	@tests/sanitize.sh

install: install-module install-userspace install-boot

install-module: module
	$(MAKE) -C $(KDIR) M=$(abspath $(MODULE)) \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install

install-userspace:
	@$(call each,$(installed),install)
	$(if $(DESTDIR),,-ldconfig)

# What loads the module before the drivers, at boot and in the initramfs.
install-boot:
	$(INSTALL) -d $(DESTDIR)$(MODPROBEDIR) $(DESTDIR)$(MODULESLOADDIR)
	$(INSTALL) -m 644 boot/modprobe.conf $(DESTDIR)$(MODPROBEDIR)/compch.conf
	$(INSTALL) -m 644 boot/modules-load.conf \
		$(DESTDIR)$(MODULESLOADDIR)/compch.conf

# What "dkms add compch/VERSION" looks for
dkms_files = $(wildcard Kbuild VERSION dkms.conf include/uapi/rdma/*.h \
	drivers/infiniband/compch/*.[ch] drivers/infiniband/compch/Makefile \
	drivers/infiniband/compch/compat/*)
dkms_dir = $(DESTDIR)/usr/src/compch-$(VERSION)

install-dkms:
	@set -e; for file in $(dkms_files); do \
		$(INSTALL) -m 644 -D $$file $(dkms_dir)/$$file; \
	done

# All but what "make install-dkms" has installed, which is dkms' to remove.  The
# module's rule is the last: it needs to know which kernel's.
uninstall: uninstall-userspace uninstall-boot
	@$(MAKE) --no-print-directory uninstall-module

uninstall-userspace:
	@$(call each,$(installed),uninstall)

uninstall-boot:
	rm -f $(DESTDIR)$(MODPROBEDIR)/compch.conf \
		$(DESTDIR)$(MODULESLOADDIR)/compch.conf

uninstall-module:
	[ ! -d $(DESTDIR)/lib/modules/$(KRELEASE) ] || \
		find $(DESTDIR)/lib/modules/$(KRELEASE)/ \
		-path '*/drivers/infiniband/compch/ib_compch.ko*' -delete
	$(if $(DESTDIR),,depmod $(KRELEASE))

deb:
	@scripts/deps.sh build deb
	@scripts/deb.sh

clean:
	rm -rf $(BUILD)

demo:
	@scripts/deps.sh build test
	@scripts/demo.sh

test:
	@scripts/deps.sh build test uml
	@tests/run.sh selftest library tool kunit uml host

kunit:
	@scripts/deps.sh build uml
	@kunit/run.sh

test-uml:
	@scripts/deps.sh build test uml
	@tests/uml.sh

coverage:
	@scripts/deps.sh build test uml coverage
	@tests/coverage.sh
clients:
	@scripts/deps.sh build test clients
	@tests/clients/run.sh

mutate:
	@scripts/deps.sh build test uml
	@tests/mutate/run.sh

bench:
	@scripts/deps.sh build test bench
	@tests/bench/run.sh

test-packages:
	@scripts/deps.sh build test deb packages
	@tests/packages/run.sh

model:
	@scripts/deps.sh model
	@tests/model/run.sh

newer:
	@scripts/deps.sh build test newer
	@tests/run.sh trixie trixie-backports

check:
	@scripts/deps.sh build check
	@scripts/check.sh

help:
	@echo 'make          build the module (for KDIR) and the userspace'
	@echo 'make install  install both (DESTDIR, PREFIX, LIBDIR), and what loads the module at'
	@echo '              boot; make uninstall removes them'
	@echo 'make deb      Debian packages, into build/deb/'
	@echo 'make demo     a verbs program on the new channels, in a virtual machine'
	@echo 'make test     all tests, in virtual machines: User Mode Linux with its'
	@echo '              sanitizers, and the stock kernel of this Debian release'
	@echo 'make bench    measure stock channels and ours, in virtual machines; the figures'
	@echo '              are in build/bench.csv, see Documentation/performance.rst'
	@echo 'make newer    the same as on that with the kernels of trixie and trixie-backports,'
	@echo '              in a chroot of their own'
	@echo 'make kunit    the KUnit suites, in User Mode Linux, under its sanitizers'
	@echo 'make test-uml the other tests there'
	@echo 'make coverage what the tests in User Mode Linux reach of the module'
	@echo 'make clients  perftest, rping, UCX and other programs, on stock channels and'
	@echo '              on ours; the table is build/clients.csv'
	@echo 'make test-packages'
	@echo '              the Debian packages on a host that is a virtual machine: installed,'
	@echo '              used after a reboot, purged'
	@echo 'make mutate   does a test fail for each way to break the module?'
	@echo 'make sanitize the library, on a model of what is around it, under sanitizers'
	@echo '              and valgrind'
	@echo 'make model    every interleaving of models of the event queue and its ring'
	@echo 'make check    static checks: compilers, sparse, checkpatch, spelling'
	@echo 'make clean    remove build/'
	@echo
	@echo 'They install the Debian packages that they need, as'
	@echo 'root. What is fetched is kept in $${XDG_CACHE_HOME:-~/.cache}/compch.'
	@echo
	@echo 'KDIR = $(KDIR)'

.PHONY: all module userspace userspace-dir tests check-library clean deb \
	install install-module install-userspace install-boot install-dkms uninstall \
	uninstall-module uninstall-userspace uninstall-boot \
	demo test newer kunit test-uml coverage mutate model check help \
	sanitize bench clients test-packages
