#!/bin/sh
# setup.sh build|test|engines: installs what is missing with apt when run as root on Debian or Ubuntu, and
# otherwise prints the line to run. "build" needs Go and a C++ compiler; "test" a browser and a Chinese font as well; "engines" Slurm and
# Spark, on which deploy/screen is tested.
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
	[ -n "$(fc-list :lang=zh 2>/dev/null)" ] || need="$need fonts-noto-cjk" # or pictures of Chinese pages show boxes
	want pdftotext poppler-utils
	want qpdf qpdf
	want openssl openssl
	want ip iproute2
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || want initdb postgresql
	# The files alone: the service would be the package zookeeperd. Tests start servers of their own.
	[ -e /usr/share/java/zookeeper.jar ] || need="$need zookeeper"
fi
if [ "${1:-build}" = engines ]; then
	want slurmctld slurm-wlm
	want munged munge
	want java default-jre-headless
	python3 -c 'import ensurepip, venv' 2>/dev/null || need="$need python3-venv"
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

# The browser without a user interface halves the processor time of the tests of pages; without it, they use Chromium.
if [ "${1:-build}" = test ] && [ ! -x /usr/lib/chromium/chromium-headless-shell ] && [ "$(id -u)" = 0 ] &&
	apt-cache show chromium-headless-shell >/dev/null 2>&1; then
	DEBIAN_FRONTEND=noninteractive timeout 180 apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1 ||
		echo "chromium-headless-shell cannot be installed: pages are tested in Chromium"
fi

if [ "${1:-build}" = engines ]; then
	venv=${ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/concordat-engines}
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
	"$venv/bin/python" -c 'import pyspark' 2>/dev/null || "$venv/bin/pip" install --quiet pyspark==3.5.9
	echo "PYSPARK_PYTHON=$venv/bin/python CONCORDAT_LONG=1 go test ./deploy -run 'Spark|Slurm' -v"
fi

# From 1.21 on Go fetches the version that go.mod asks for. What a distribution ships may be older: then
# the toolchain is fetched from the module proxy, checked against the checksum database as any module.
if ! go list -m >/dev/null 2>&1; then
	version=$(sed -n 's/^go //p' go.mod)
	toolchain=golang.org/toolchain@v0.0.1-go$version.linux-$(go env GOARCH)
	fetched=$(go env GOMODCACHE)/$toolchain
	if [ "$(id -u)" = 0 ] && (cd / && GO111MODULE=on go mod download "$toolchain"); then
		chmod -R u+w "$fetched"
		chmod +x "$fetched"/bin/* "$fetched"/pkg/tool/*/*
		ln -sf "$fetched/bin/go" "$fetched/bin/gofmt" /usr/local/bin/
	fi
	hash -r
	if ! go list -m >/dev/null; then
		echo "this project needs Go $version: install it from https://go.dev/dl" >&2
		exit 1
	fi
fi
