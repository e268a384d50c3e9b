#!/bin/sh
# bench.sh: every speed figure of doc/evaluation.md and doc/evaluation-growth.md again, each with its ratio to a plain table
# in memory in the same run, to the memory of the machine, and to Lucene on the same fingerprints. CONCORDAT_CORPORA names
# the folder of evaluation text, CONCORDAT_PEERS that of the programs measured against; what needs them, or Java,
# is skipped with a reason. JSON=1: one JSON object a line. SIZES: numbers of sentences of the growth part.
set -eu
GO=${GO:-go}
BIN=${BIN:-bin/concordat}
json=${JSON:+--json}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$BIN" bench memory $json
"$BIN" bench index $json
"$BIN" bench query $json
"$BIN" bench join $json
"$BIN" bench growth $json --sizes "${SIZES:-200000,1000000,5000000}"
"$BIN" bench check $json -n 1000000
"$BIN" bench check $json --documents 100000 --per-document 20 --submission 480

if [ -n "${CONCORDAT_CORPORA:-}" ]; then
	zstd -dqc "$CONCORDAT_CORPORA/bulk-en-reviews/reviews.tsv.zst" >"$dir/reviews.tsv"
	cut -f2 "$dir/reviews.tsv" >"$dir/reviews.txt"
	head -n 8000 "$dir/reviews.txt" >"$dir/en.txt"
	head -n 20000 "$dir/reviews.tsv" >"$dir/20000.tsv"
	zstd -dqc "$CONCORDAT_CORPORA/bulk-zh-histories-modern/sentences.tsv.zst" | cut -f3 | head -n 60000 >"$dir/zh.txt"
	for scheme in natural packed; do
		"$BIN" bench fingerprint $json --scheme $scheme "$dir/en.txt" "$dir/zh.txt"
	done
	"$BIN" bench fingerprint $json --scheme natural-simhash "$dir/en.txt"
	"$BIN" bench fingerprint $json --lines "$dir/en.txt"
	mkdir "$dir/formats"
	tar --zstd -xf "$CONCORDAT_CORPORA/formats/formats.tar.zst" -C "$dir/formats"
	for kind in docx pdf; do
		find "$dir/formats" -type f -name "*.$kind" -print0 | xargs -0 "$BIN" bench ingest $json
	done
	"$BIN" bench ingest $json "$dir/20000.tsv"
	"$BIN" bench growth $json --text "$dir/reviews.txt" --sizes "${SIZES:-200000,1000000,5000000}"
else
	echo 'real text skipped: CONCORDAT_CORPORA names no folder of evaluation text' >&2
fi

jars=${LUCENE_JARS:-/usr/share/java}
if [ -z "${CONCORDAT_PEERS:-}" ]; then
	echo 'Lucene skipped: CONCORDAT_PEERS names no folder of programs to measure against' >&2
elif ! command -v javac >/dev/null || ! command -v java >/dev/null; then
	echo 'Lucene skipped: there is no Java compiler' >&2
elif ! ls "$jars"/lucene-core*.jar >/dev/null 2>&1; then
	echo "Lucene skipped: no lucene-core in $jars; LUCENE_JARS names another folder" >&2
else
	javac -nowarn -cp "$jars/*" -d "$dir" "$CONCORDAT_PEERS/lucene/LucenePeer.java"
	"$BIN" bench query $json --queries 10000 --dump "$dir/prints"
	for mode in build query; do
		java -Xmx2g -cp "$dir:$jars/*" LucenePeer $mode "$dir/prints" "$dir/lucene"
	done
fi
