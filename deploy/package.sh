#!/bin/sh
# package.sh: builds the Debian package into dist/, takes it apart, installs it into an empty root beside this system,
# runs the installed program there as a site, and removes it again. What needs a running systemd is not tried.
set -eu
GO=${GO:-go}
NFPM=${NFPM:-"$GO run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"}
VERSION=${VERSION:-0.$(git log -1 --format=%cd --date=format:%Y%m%d.%H%M%S)}
ARCH=$($GO env GOARCH)
export VERSION ARCH

$GO build -trimpath -ldflags='-s -w' -o bin/concordat ./cmd/concordat
size=$(wc -c <bin/concordat)
# The aim is 70 MB, of which 16 are tables, fonts and PDFium; a program over 75 MB has grown by accident.
[ "$size" -le 75000000 ] || { echo "package: the program has $size bytes, more than 75000000" >&2; exit 1; }
[ "$size" -le 70000000 ] || echo "package: the program has $size bytes; the aim is 70000000"
mkdir -p dist
$NFPM package --config deploy/package/nfpm.yaml --packager deb --target dist/
deb=dist/concordat_${VERSION}_$ARCH.deb

# What is in it.
dpkg-deb --info "$deb"
files=$(dpkg-deb --contents "$deb" | awk '{print $6}')
for want in ./usr/bin/concordat ./usr/lib/systemd/system/concordat.service ./usr/lib/sysusers.d/concordat.conf ./etc/concordat/environment; do
	echo "$files" | grep -qx "$want" || { echo "package: no $want" >&2; exit 1; }
done

# Installed and run. dpkg runs the scripts outside the root, with DPKG_ROOT; needs root.
if [ "$(id -u)" != 0 ]; then
	echo "package: built and inspected; installing it needs root"
	exit 0
fi
root=$(mktemp -d)
serve=
trap '[ -z "$serve" ] || kill "$serve" 2>/dev/null || true; rm -rf "$root"' EXIT
mkdir -p "$root/var/lib/dpkg" "$root/etc"
: >"$root/var/lib/dpkg/status"
dpkg_in() { dpkg --root="$root" --force-script-chrootless --force-depends --log=/dev/null "$@"; }
dpkg_in --install "$deb"
grep -q '^concordat:' "$root/etc/passwd" || { echo "package: the user was not made" >&2; exit 1; }
program=$root/usr/bin/concordat
export CONCORDAT_DATA="$root/var/lib/concordat"
"$program" serve --listen 127.0.0.1:0 >"$root/serve.log" 2>&1 &
serve=$!
i=0
until "$program" status >/dev/null 2>&1; do
	i=$((i + 1))
	[ $i -lt 300 ] || { cat "$root/serve.log" >&2; exit 1; }
	sleep 0.2
done
"$program" add --library documents --quiet README.md
"$program" check README.md --out "$root/report.json" >/dev/null
CONCORDAT_SERVE_LISTEN=127.0.0.1:0 "$program" doctor
kill "$serve"
wait "$serve" || true
serve=
dpkg_in --purge concordat
[ ! -e "$program" ] || { echo "package: the program is still there" >&2; exit 1; }
[ -e "$CONCORDAT_DATA/site.db" ] || { echo "package: removing it took the data" >&2; exit 1; }
echo "package: $deb was installed, run and removed"
