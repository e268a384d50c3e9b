#!/bin/sh
# innocent.sh: innocent documents, this program beside JPlag (doc/evaluation/innocent.md). It prints for batches of all
# documents, with and without the template, how many pairs that are no copies are listed, and how many copies. CONCORDAT_CORPORA
# names the folder of evaluation text, CONCORDAT_PEERS that of the programs measured against; JPlag needs Java 17, Maven and
# Python, and is left out with the reason if one is missing. Figures out of bounds end it with 1.
set -eu
LAB=${LAB:-bin/concordat-lab}
: "${CONCORDAT_CORPORA:?names no folder of evaluation text}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
"$LAB" eval run innocent --mode all --mode tmpl >"$dir/ours" || status=1

# jplag leaves its figures in jplag.txt, or says why it is left out.
jplag() {
	[ -f "${CONCORDAT_PEERS:-}/jplag/run.py" ] || { echo 'CONCORDAT_PEERS names no folder of programs to measure against, with jplag/run.py'; return; }
	for tool in java javac mvn python3 zstd; do
		command -v "$tool" >/dev/null || { echo "no $tool here"; return; }
	done
	mkdir "$dir/texts" "$dir/work"
	zstd -dc "$CONCORDAT_CORPORA/innocent/innocent.tar.zst" | tar -x -C "$dir/texts" -f -
	python3 "$CONCORDAT_PEERS/jplag/run.py" "$dir/texts" "$dir/work" >"$dir/jplag.txt" 2>"$dir/jplag.err" || {
		echo "it failed: $(tail -n 1 "$dir/jplag.err")"
		rm -f "$dir/jplag.txt"
	}
}
left=$(jplag)

row='%-37s %-9s %7s %9s %9s %9s %10s %10s\n'
# shellcheck disable=SC2059 # the format is ours
printf "$row" program template pairs 'false 0.3' 'false 0.1' copies 'found 0.3' 'found 0.1'
awk -v row="$row" '
$1 == "mode" { mode = $2 }
mode == "all" || mode == "tmpl" {
	for (i = 1; i < NF; i++) if ($(i + 1) == "of" && $i ~ /^[0-9]+$/) { n = $i; total = $(i + 2) + 0 }
	if (/no copies, listed at 0.3/) { false30[mode] = n; pairs[mode] = total }
	if (/the same at 0.1/) false10[mode] = n
	if (/that are not listed/) { found10[mode] = total - n; copies[mode] = total }
	if (/that are listed at 0.3/) found30[mode] = n
}
/^  three keys/ { mode = "" }
END {
	for (i = 1; i <= 2; i++) {
		m = i == 1 ? "all" : "tmpl"
		printf row, "concordat, the larger share", i == 1 ? "no" : "yes", pairs[m], false30[m], false10[m], copies[m], found30[m], found10[m]
	}
}' "$dir/ours"
if [ -f "$dir/jplag.txt" ]; then
	awk -v row="$row" '
	$1 == "plain" || $1 == "template" {
		if (NF == 3) { is[$1, $2] = $3 } # pairs, and true ones
		if (NF == 5) { is[$1, $2, $3, $4] = $5 }
	}
	END {
		for (i = 1; i <= 4; i++) {
			m = i % 2 ? "plain" : "template"; k = i < 3 ? "mean" : "largest"
			printf row, "JPlag 4.3 (text), " k " similarity", i % 2 ? "no" : "yes", is[m, "pairs"], is[m, k, "0.3", "false"], is[m, k, "0.1", "false"], is[m, "true"], is[m, k, "0.3", "found"], is[m, k, "0.1", "found"]
		}
	}' "$dir/jplag.txt"
else
	echo "JPlag: left out: $left"
fi
exit $status
