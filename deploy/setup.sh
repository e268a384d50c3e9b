#!/bin/sh
# setup.sh build|test: installs what is missing with apt when run as root on Debian or Ubuntu, and
# otherwise prints the line to run. "build" needs Go and a C++ compiler; "test" a browser as well.
set -eu

need=""
want() { # want COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || need="$need $2"
}

want gcc gcc
want g++ g++
want git git
want make make
want zstd zstd
if [ "${1:-build}" = test ]; then
	want chromium chromium
	want pdftotext poppler-utils
fi
if ! command -v go >/dev/null 2>&1; then
	need="$need golang-go"
fi

if [ -n "$need" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "installing:$need"
		apt-get update -qq >/dev/null
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
	else
		echo "missing:$need" >&2
		echo "run: sudo apt-get install -y$need" >&2
		exit 1
	fi
fi

# The toolchain line of go.mod lets an older Go fetch the right one; a Go that cannot says so here.
go version >/dev/null
