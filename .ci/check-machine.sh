#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check-machine.sh ARCH BUILD ROOT TEST...: run tests of a cross build (make cross-ARCH) in an emulated
# machine with the files of the folder ROOT. What tests need of the tree is there by the same names.
# MACHINE="--append x" gives more options to machine.sh, MACHINE_SECONDS a limit for all (3600).
set -eu
arch=$1 build=$2 root=$3
shift 3
cd "$(dirname "$0")/.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
trap 'exit 130' INT TERM HUP
# No compiler is there for it, but this machine's makes programs for all.
case " $* " in *go_static*)
	! command -v go > /dev/null ||
		GOARCH=$arch CGO_ENABLED=0 go build -o "$build/fixtures/go_static" fixtures/go_static.go ;;
esac
tar -c --exclude='*.o' --exclude='*.a' --exclude='*.d' --exclude=flags docs fixtures tests README.md "$build" |
	tar -x -C "$tree"
env=(UBP_SRC="$PWD" UBP_BUILD="$PWD/$build" UPROBE="$PWD/$build/uprobe" USDT="$PWD/$build/usdt"
     UBP_BENCH="$PWD/$build/ubp-bench" FIXTURES="$PWD/$build/fixtures" TOOLS="$PWD/$build/tests/tool"
     FUZZERS=/none UBP_SLOWER=10 BUSY=1 TIMEOUT="${TIMEOUT:-300}" TEST_TIMEOUT="${TEST_TIMEOUT:-1200}")
# shellcheck disable=SC2086 # the options are split on purpose
.ci/machine.sh --arch "$arch" --seconds "${MACHINE_SECONDS:-3600}" "${env[@]/#/--env=}" \
	--share "$tree:$PWD" ${MACHINE:-} "$root" tests/run.bash "$@"
