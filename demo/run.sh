#!/bin/sh
# run.sh BIN: one site from the bundled texts, one submission checked. Everything it makes is in
# demo/site, which it removes first. Its last line is "report: <absolute path>.html".
set -eu
if [ $# -ne 1 ] || [ ! -x "$1" ]; then
	echo "usage: demo/run.sh BIN, where BIN is the concordat program (make build makes bin/concordat)" >&2
	exit 2
fi
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
site=${DEMO_SITE:-$here/site}

rm -rf "$site"
unset CONCORDAT_DATA
"$bin" --data "$site" init --site demo --title "Demonstration"
echo "taking in the bundled library (the first run of a user also prepares the PDF reader, some seconds)"
for library in laws calls commons; do
	"$bin" --data "$site" library create "$library" >/dev/null
	"$bin" --data "$site" add --library "$library" "$here/library/$library"
done
echo
echo "checking $here/submission/shared-evidence-commons.docx"
echo
"$bin" --data "$site" check "$here/submission/shared-evidence-commons.docx" --out "$site/report.html"
