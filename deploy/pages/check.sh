#!/bin/sh
# check.sh [html|lighthouse]: two programs that nobody here wrote look at the pages of served sites, both if none is named. The
# Nu HTML checker reads every page and state of TestMarkup, and reports that stand alone: any error fails. Lighthouse opens the
# pages of TestLighthouse, throttled as it does by itself, and prints its scores: below those that the test names it fails.
# Their versions are those of package.json, kept in the cache of the user. It needs npm, java and a Chromium.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/concordat/page-tools
if ! cmp -s "$here/package.json" "$tools/package.json"; then
	rm -rf "$tools"
	mkdir -p "$tools"
	cp "$here/package.json" "$tools/new.json"
	(cd "$tools" && mv new.json package.json && npm install --ignore-scripts --no-audit --no-fund --silent) || { rm -rf "$tools"; exit 1; }
fi
cd "$here/../.."
if [ "${1:-html}" = html ]; then
	pages=$(mktemp -d)
	trap 'rm -rf "$pages"' EXIT
	CONCORDAT_PAGES=$pages go test -vet=off -count=1 -run 'TestMarkup$' ./web
	# vector-effect is a property of SVG 2 that the checker's table of CSS lacks.
	java -jar "$tools/node_modules/vnu-jar/build/dist/vnu.jar" --errors-only --filterpattern '.*vector-effect.*' "$pages"/*.html
	echo "Nu HTML checker: 0 errors on $(ls "$pages" | wc -l) pages"
fi
if [ "${1:-lighthouse}" = lighthouse ]; then
	CONCORDAT_LIGHTHOUSE=$tools/node_modules/lighthouse go test -vet=off -count=1 -timeout 30m -run 'TestLighthouse$' -v ./web
fi
