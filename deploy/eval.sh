#!/bin/sh
# eval.sh: the figures of doc/evaluation/README.md, evaluation/align.md, evaluation/retrieval.md, evaluation/score.md and
# evaluation/short.md and evaluation/report.md, and the costs of evaluation/federation.md, measured again: first quality, then speed. Extraction,
# screening and the experiment of three sites (deploy/federate.sh) have their commands on their own pages. CONCORDAT_CORPORA names the folder of evaluation
# text (deploy/batch.sh has the figures of evaluation/batch.md, deploy/innocent.sh the peer of evaluation/innocent.md). Tables go to standard output; with JSON=1 quality and speed come as one JSON object a line. Figures out of bounds
# end it with 1, at the end.
set -eu
GO=${GO:-go}
BIN=${BIN:-bin/concordat}
LAB=${LAB:-bin/concordat-lab}
json=${JSON:+--json}
status=0

"$LAB" eval run $json || status=1

echo '# speed' >&2
"$LAB" bench index $json
"$LAB" bench query $json
"$LAB" bench check $json -n 1000000
"$LAB" bench check $json -n 1000000 --channel fingerprints
"$LAB" bench check $json --documents 100000 --per-document 20 --submission 480
if [ -n "${CONCORDAT_CORPORA:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	zstd -dc "$CONCORDAT_CORPORA/bulk-en-reviews/reviews.tsv.zst" | cut -f2 | head -n 8000 >"$dir/en.txt"
	zstd -dc "$CONCORDAT_CORPORA/bulk-zh-histories-modern/sentences.tsv.zst" | cut -f3 | head -n 60000 >"$dir/zh.txt"
	for scheme in natural packed natural-simhash; do
		"$LAB" bench fingerprint $json --scheme $scheme "$dir/en.txt"
	done
	for scheme in natural packed; do
		"$LAB" bench fingerprint $json --scheme $scheme "$dir/zh.txt"
	done
fi
if [ -n "${CONCORDAT_CORPORA:-}" ]; then
	BIN="$BIN" sh deploy/batch.sh || status=1
	LAB="$LAB" sh deploy/innocent.sh || status=1
fi
CONCORDAT_TESTS=all CONCORDAT_EVAL=all $GO -C lab test ./eval -run 'Calibration|ShortTexts' -v -timeout 40m || status=1
$GO -C lab test ./eval -run XXX -bench PairTime
$GO -C lab test ./eval -run XXX -bench FederatedCheck -benchtime 20x
$GO test ./site/answer -run XXX -bench 'Answer|CatchUp'
$GO test ./federation -run XXX -bench 'Sealing|Exchange|Refused' -benchtime 200x
$GO test ./index -run XXX -bench Lookup
$GO test ./minhash -run Estim -v
CONCORDAT_TESTS=all CONCORDAT_SIM=4 $GO test -timeout 20m ./cluster/replica -run Simulation -v || status=1
CONCORDAT_RULES=1000 $GO test -timeout 20m ./cluster/replica -run RulesAreNeeded -v
$GO test ./cluster -run Kill -v || status=1
$GO test ./cmd/concordat/program -run XXX -bench ReportPDF -benchtime 5x
$GO test ./extract -run XXX -bench Pages -benchtime 3x
exit $status
