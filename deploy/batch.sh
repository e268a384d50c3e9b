#!/bin/sh
# batch.sh: the figures of doc/evaluation/batch.md, measured again. It makes DOCUMENTS texts (400) of WORDS words (3,000)
# from the reviews under CONCORDAT_CORPORA, plants reuse among them, makes a site with a library of other reviews, and
# times "concordat batch" from the files to the clusters. FORM=1 has every text begin with one form of 150 words.
# What was planted and what was found is compared at the end; figures out of bounds end it with 1.
set -eu
BIN=${BIN:-bin/concordat}
N=${DOCUMENTS:-400}
WORDS=${WORDS:-3000}
: "${CONCORDAT_CORPORA:?names no folder of evaluation text}"
dir=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/files"
# Documents 10k+1 take 40 % of their words from 10k, every twelfth word left out; 10k+2 takes 35 % of 10k+1's own.
zstd -dc "$CONCORDAT_CORPORA/bulk-en-reviews/reviews.tsv.zst" | awk -F'\t' -v n="$N" -v words="$WORDS" -v dir="$dir" -v form="${FORM:-0}" '
function flush(   i, out, k, from, take, m, w) {
	out = ""
	if (form) out = blank "\n\n"
	from = ""
	if (doc % 10 == 1) { from = last; take = int(words * 0.4) }
	if (doc % 10 == 2) { from = last; take = int(words * 0.35) }
	m = 0
	if (from != "") {
		k = split(from, w, " ")
		for (i = k - take + 1; i <= k; i++) { if (i % 12) { out = out w[i] " "; m++ } }
		out = out "\n\n"
		printf "doc-%04d.txt\tdoc-%04d.txt\n", doc - 1, doc > (dir "/truth.tsv")
	}
	k = split(text, w, " ")
	last = ""
	for (i = 1; i <= k && m < words; i++) { last = last w[i] " "; m++; out = out w[i] (i % 120 ? " " : "\n\n") }
	printf "%s\n", out > sprintf("%s/files/doc-%04d.txt", dir, doc)
	close(sprintf("%s/files/doc-%04d.txt", dir, doc))
	doc++; text = ""; count = 0
}
NR == 1 { split($2, b, " "); for (i = 1; i <= 150; i++) blank = blank b[i] " "; next }
doc < n { text = text $2 " "; count += split($2, b, " "); if (count >= words) flush(); next }
kept < 5000 { printf "r%d\t%s\n", ++kept, $2 > (dir "/library.tsv"); next }
{ exit }'
"$BIN" init --site bench "$dir/site" >/dev/null
"$BIN" --data "$dir/site" library create reviews >/dev/null
"$BIN" --data "$dir/site" -q add --library reviews "$dir/library.tsv"
cat /proc/loadavg 2>/dev/null | sed 's/^/machine load before: /'
/usr/bin/time -f 'files to clusters: %e s wall, %U s user, %S s system, peak %M KiB' \
	"$BIN" --data "$dir/site" batch "$dir/files" --out "$dir/out" | tail -n 4
cat /proc/loadavg 2>/dev/null | sed 's/^/machine load after: /'
du -sk "$dir/out" "$dir/site/batches" | awk '{print $1 " KiB " $2}'
# Every planted pair, and nothing else but copies that the reviews have of their own.
tail -n +2 "$dir/out/pairs.csv" | tr -d '\r' | awk -F, '{print $2 "\t" $4}' | sort >"$dir/found.tsv"
sort "$dir/truth.tsv" >"$dir/planted.tsv"
planted=$(wc -l <"$dir/planted.tsv")
found=$(wc -l <"$dir/found.tsv")
both=$(comm -12 "$dir/planted.tsv" "$dir/found.tsv" | wc -l)
echo "planted pairs: $planted, found of them: $both, all pairs at the threshold: $found"
[ "$both" -eq "$planted" ]
