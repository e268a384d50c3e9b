#!/bin/sh
# bench.sh [STEP...]: every figure of speed of doc/evaluation/README.md and doc/evaluation/growth.md again, each with its ratio to a
# plain table in memory in the same run, to the memory of the machine, and to Lucene on the same fingerprints.
# "make bench" takes all steps, "make bench STEPS='query join'" these two:
#
#	memory       what memory gives one core at this moment
#	index        building an index: live, through the log, in bulk
#	query        asking it, of N sentences: by the table and by Bleve itself, next to a plain table
#	large        the same of LARGE sentences, by the table alone
#	join         two libraries of N sentences with each other
#	growth       indexes of SIZES sentences
#	check        whole checks against N sentences, and of 10,000 words against DOCUMENTS documents
#	fingerprint  text to fingerprints, English and Chinese                       needs CORPORA
#	ingest       where the time of taking in 20,000 reviews goes                 needs CORPORA
#	files        the same of DOCX and PDF files                                  needs CORPORA
#	text         indexes of SIZES fingerprints of real text                      needs CORPORA
#	commands     a cold "concordat check", "concordat add" of all reviews,
#	             checks of one and of 500 files against them, reindex           needs CORPORA
#	delete       "concordat delete document" in a library of 10,000 reviews      needs CORPORA
#	go           the Go benchmarks that the documents name; some need CORPORA
#	store        the store by SQLite, and by PostgreSQL in POSTGRES
#	web          the pages of a serving site, asked by 100 people at once, without and with uploads
#	lucene       Lucene on the same N fingerprints      needs PEERS, javac, java and Lucene's jars
#	before       index, query and fingerprint in turn with the code of the commit BEFORE; the last needs CORPORA
#
# What a step needs and is not there is said, and the step skipped; a step that fails is named, the others run, and the
# exit status is 1. Variables: CONCORDAT_CORPORA, CONCORDAT_PEERS name the folders of evaluation text and of programs measured against,
# CONCORDAT_POSTGRES an empty database, LUCENE_JARS the folder of lucene-core; N (1,000,000), LARGE (5,000,000), SIZES
# (200000,1000000,5000000), DOCUMENTS (100,000), ROWS (reviews taken, all) and TIME (of a Go benchmark, 1s) make it shorter; ROUNDS (5)
# is how often a question is asked or a text taken for one figure; COUNT (1) how often everything is measured; JSON=1 gives an object a line.
#
# All figures also go to figures.txt and go.txt in OUT (build/bench/TIME) in the format of Go's benchmarks, so that
# "benchstat build/bench/A/go.txt build/bench/B/go.txt" compares two runs; for it COUNT=6 or more. With the defaults
# it takes seven minutes of two quiet processors, 3 GB of memory and 3 GB of disk in TMPDIR, which is left as it was.
set -eu
GO=${GO:-go}
BIN=${BIN:-bin/concordat}
LAB=${LAB:-bin/concordat-lab}
N=${N:-1000000}
LARGE=${LARGE:-5000000}
SIZES=${SIZES:-200000,1000000,5000000}
DOCUMENTS=${DOCUMENTS:-100000}
ROWS=${ROWS:-100000000}
TIME=${TIME:-1s}
ROUNDS=${ROUNDS:-5}
COUNT=${COUNT:-1}
corpora=${CONCORDAT_CORPORA:-}
every='memory index query large join growth check fingerprint ingest files text commands delete go store web lucene before'
steps=${*:-${STEPS:-$every}}
for step in $steps; do
	case " $every " in
	*" $step "*) ;;
	*) echo "bench: there is no step $step; there are $every" >&2 && exit 2 ;;
	esac
done
out=${OUT:-build/bench/$(date +%Y%m%d-%H%M%S)}
mkdir -p "$out"
BIN=$(realpath "$BIN")
LAB=$(realpath "$LAB")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
trap 'exit 130' INT TERM HUP
export TMPDIR="$top" # what an interrupted command leaves goes with it
[ "$(df -Pk "$top" | awk 'NR == 2 { print $4 }')" -ge 3000000 ] || { echo "bench: less than 3 GB of room in $top; TMPDIR names another place" >&2 && exit 1; }
json=${JSON:+--json}
[ -z "$json" ] && exec 3>&1 || exec 3>&2

heading() {
	printf '\n# %s: %s (load %s)\n' "$step" "$1" "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || uptime)" >&3
}

skip() { # ends the step, which is a shell of its own
	printf '\n# %s skipped: %s\n' "$step" "$*" >&3
	exit 0
}

# bench WHAT...: concordat-lab bench.
bench() {
	what=$1
	shift
	"$LAB" bench "$what" $json --benchfmt "$out/figures.txt" "$@"
}

# run NAME ROUNDS COMMAND...: what a command costs; what it says is shown if it fails.
run() {
	name=$1 times=$2
	shift 2
	bench run --name "$name" --rounds "$times" -- "$@" 2>"$dir/said" || { cat "$dir/said" >&2 && return 1; }
}

quietly() {
	"$@" >"$dir/said" 2>&1 || { cat "$dir/said" >&2 && return 1; }
}

# reviews makes the texts that several steps need, once.
reviews() {
	[ -n "$corpora" ] || skip 'CONCORDAT_CORPORA names no folder of evaluation text'
	[ -s "$top/zh.txt" ] && return
	zstd -dqc "$corpora/bulk-en-reviews/reviews.tsv.zst" | awk -v n="$ROWS" 'NR <= n' >"$top/reviews.tsv"
	cut -f2 "$top/reviews.tsv" >"$top/reviews.txt"
	awk 'NR <= 8000' "$top/reviews.txt" >"$top/en.txt"
	zstd -dqc "$corpora/bulk-zh-histories-modern/sentences.tsv.zst" | cut -f3 | awk 'NR <= 60000' >"$top/zh.txt"
	[ -s "$top/en.txt" ] && [ -s "$top/zh.txt" ]
}

# gotest PACKAGE BENCHMARK TIME: a Go benchmark.
gotest() {
	"$GO" test "$1" -run '^$' -bench "$2" -benchtime "$3" -count "$COUNT" -timeout 1h >"$dir/said" 2>&1 || { cat "$dir/said" >&2 && return 1; }
	cat "$dir/said" >>"$out/go.txt"
	cat "$dir/said" >&3
}

step_memory() {
	heading 'what memory gives one core'
	bench memory
}

step_index() {
	heading "building an index of $N sentences"
	bench index -n "$N"
}

step_query() {
	heading "asking an index of $N sentences"
	bench query -n "$N" --rounds "$ROUNDS"
}

step_large() {
	heading "asking an index of $LARGE sentences"
	bench query -n "$LARGE" --rounds "$ROUNDS" --path table
}

step_join() {
	heading "two libraries of $N sentences with each other"
	bench join -n "$N"
}

step_growth() {
	heading "indexes of $SIZES sentences"
	bench growth --sizes "$SIZES" --rounds "$ROUNDS"
}

step_check() {
	heading "checks of 200 sentences against $N, and of 10,000 words against $DOCUMENTS documents"
	bench check -n "$N"
	bench check --documents "$DOCUMENTS" --per-document 20 --submission 480
}

step_fingerprint() {
	reviews
	heading "text to fingerprints, $((ROUNDS * 5)) rounds"
	for scheme in natural packed; do
		bench fingerprint --rounds $((ROUNDS * 5)) --scheme $scheme "$top/en.txt" "$top/zh.txt"
	done
	bench fingerprint --rounds $((ROUNDS * 5)) --scheme natural-simhash "$top/en.txt"
	bench fingerprint --rounds $((ROUNDS * 5)) --lines "$top/en.txt"
}

step_ingest() {
	reviews
	heading 'the first 20,000 reviews taken in, stage by stage'
	awk 'NR <= 20000' "$top/reviews.tsv" >"$dir/20000.tsv"
	bench ingest --rounds "$ROUNDS" "$dir/20000.tsv"
}

step_files() {
	[ -n "$corpora" ] || skip 'CONCORDAT_CORPORA names no folder of evaluation text'
	heading 'files taken in, stage by stage'
	tar --zstd -xf "$corpora/formats/formats.tar.zst" -C "$dir"
	for kind in docx pdf; do
		find "$dir" -type f -name "*.$kind" >"$dir/names"
		tr '\n' '\0' <"$dir/names" | xargs -0 "$LAB" bench ingest $json --rounds "$ROUNDS" --benchfmt "$out/figures.txt"
	done
}

step_text() {
	reviews
	heading "indexes of $SIZES fingerprints of real text"
	bench growth --text "$top/reviews.txt" --sizes "$SIZES" --rounds "$ROUNDS"
}

# library FOLDER TABLE: a site with the documents of a table.
library() {
	export CONCORDAT_DATA="$dir/$1"
	quietly "$BIN" init --site bench
	quietly "$BIN" library create reviews
	[ -z "$2" ] || quietly "$BIN" add --quiet --library reviews "$2"
}

# sizes says what a library of one shard takes on disk: its index, the log of writes, the kept table, the store.
sizes() {
	(cd "$CONCORDAT_DATA" && du -sk index/00/store index/00/log index/00/table site.db 2>/dev/null || true) | awk '{ printf "%s %.1f MB  ", $2, $1 * 1.024e-3 } END { print "" }' >&3
}

step_commands() {
	reviews
	heading 'commands as processes of their own'
	awk 'NR <= 50' "$top/reviews.tsv" >"$dir/50.tsv"
	awk 'NR > 50 && NR <= 55' "$top/reviews.txt" >"$dir/english.txt"
	awk 'NR <= 40' "$top/zh.txt" >"$dir/chinese.txt"
	library small "$dir/50.tsv"
	run 'check: 50 reviews, English' 10 "$BIN" check "$dir/english.txt"
	run 'check: 50 reviews, Chinese' 10 "$BIN" check "$dir/chinese.txt"
	library whole ''
	run "add: $(wc -l <"$top/reviews.tsv") reviews" 1 "$BIN" add --quiet --library reviews "$top/reviews.tsv"
	sizes
	run 'add: nothing new' 1 "$BIN" add --quiet --library reviews "$top/reviews.tsv"
	awk '{ print; words += NF } words > 9300 { exit }' "$top/reviews.txt" >"$dir/long.txt"
	run "check: $(wc -w <"$dir/long.txt") words, kept table" 5 "$BIN" check "$dir/long.txt"
	mkdir "$dir/many"
	awk -v dir="$dir/many" 'NR > 2000 && NR <= 2500 { f = dir "/" NR ".txt"; print > f; close(f) }' "$top/reviews.txt"
	run 'check: 500 files' 1 "$BIN" check --quiet "$dir/many"
	export CONCORDAT_INDEX_KEEP_TABLE=false
	run "check: $(wc -w <"$dir/long.txt") words, table derived" 5 "$BIN" check "$dir/long.txt"
	unset CONCORDAT_INDEX_KEEP_TABLE
	run 'reindex' 3 "$BIN" reindex --quiet
}

step_delete() {
	reviews
	heading 'a document deleted for good'
	awk 'NR <= 10000' "$top/reviews.tsv" >"$dir/10000.tsv"
	library l "$dir/10000.tsv"
	sizes
	for row in 1 2 3; do
		run 'delete: of 10,000 reviews' 1 "$BIN" delete document reviews "$(sed -n "${row}p" "$dir/10000.tsv" | cut -f1)" --reason measure
	done
}

step_go() {
	heading 'Go benchmarks'
	[ -n "$corpora" ] || echo 'Profile, Answer and CatchUp skipped: CONCORDAT_CORPORA names no folder of evaluation text' >&3
	gotest ./minhash Sketch "$TIME"
	gotest ./profile Profile "$TIME"
	gotest ./index 'Lookup|Touch' "$TIME"
	gotest ./index/internal/fst Writer "$TIME"
	gotest ./site/answer Answer 20x
	CONCORDAT_BENCH_SENTENCES=${CONCORDAT_BENCH_SENTENCES:-2000000} gotest ./site/answer CatchUp 1x
}

step_store() {
	heading 'what one process does with the store'
	[ -n "${CONCORDAT_POSTGRES:-}" ] || echo 'PostgreSQL skipped: CONCORDAT_POSTGRES names no database' >&3
	gotest ./store Engines "$TIME"
}

step_web() {
	heading "pages of a serving site, asked by 100 people at once, $((ROUNDS * 2)) rounds"
	bench web --program "$BIN" --rounds $((ROUNDS * 2))
}

step_lucene() {
	jars=${LUCENE_JARS:-/usr/share/java}
	[ -n "${CONCORDAT_PEERS:-}" ] || skip 'CONCORDAT_PEERS names no folder of programs to measure against'
	command -v javac >/dev/null && command -v java >/dev/null || skip 'there is no Java compiler'
	ls "$jars"/lucene-core*.jar >/dev/null 2>&1 || skip "no lucene-core in $jars; LUCENE_JARS names another folder"
	heading "Lucene on the same $N fingerprints, the best of its repetitions and of $ROUNDS rounds"
	quietly javac -nowarn -cp "$jars/*" -d "$dir" "$CONCORDAT_PEERS/lucene/LucenePeer.java"
	"$LAB" bench query -n "$N" --queries 10000 --rounds "$ROUNDS" --path table --dump "$dir/prints" --json >"$dir/ratios"
	"$LAB" bench index --prints "$dir/prints" --json >>"$dir/ratios"
	for mode in build query; do
		java -Xmx2g -cp "$dir:$jars/*" LucenePeer $mode "$dir/prints" "$dir/lucene" >>"$dir/ratios"
	done
	cp "$dir/ratios" "$out/lucene.txt"
	awk -v json="$json" '
function of(name) { return match($0, "[\" ]" name "[\"]?[:=][-0-9.]+") ? substr($0, RSTART + length(name) + 2 + (substr($0, RSTART, 1) == "\"")) + 0 : 0 }
function least(key, x) { if (!(key in low) || x < low[key]) low[key] = x }
function row(what, ours, theirs, format) {
	if (!theirs) exit failed = 1
	if (json) printf "{\"against\":\"lucene\",\"measure\":\"%s\",\"concordat\":%g,\"lucene\":%g,\"ratio\":%.3g}\n", what, ours, theirs, theirs / ours
	else printf "%-52s Concordat " format ", Lucene " format ", Lucene over Concordat %.3g\n", what, ours, theirs, theirs / ours
}
/"path":"table"/ { least(/"probe":"exact"/ ? "exact" : "one", of("best_cpu_us")) }
/"build":/ { match($0, /"build":"[a-z]+/); way = substr($0, RSTART + 9, RLENGTH - 9); rate[way] = of("sentences_per_cpu_second"); bytes[way] = of("bytes_per_sentence") }
/^LUCENE BUILD/ { match($0, /with_forcemerge=[0-9.]+s \([0-9]+\/cpu/); s = substr($0, RSTART, RLENGTH); sub(/.*\(/, "", s); built = s + 0; size = of("bytes/sent") }
/^LUCENE QUERY/ { match($0, /mode=[a-z]+/); least(substr($0, RSTART + 5, RLENGTH - 5) (/probe=true/ ? "-probes" : ""), of("cpu/q")) }
/^LUCENE BATCH/ && /size=200 / { match($0, /sorted=[0-9.]+/); least("batch", substr($0, RSTART + 7, RLENGTH - 7) + 0) }
END {
	if (failed) exit 1
	row("exact query, us, raw postings", low["exact"], low["low"], "%.2f")
	row("exact query, us, collector", low["exact"], low["coll"], "%.2f")
	row("exact query, us, scored as in the base paper", low["exact"], low["top"], "%.2f")
	row("probes, us, 380 look-ups and 105", low["one"], low["low-probes"], "%.1f")
	row("document of 200, exact, ms", low["exact"] / 5, low["batch"], "%.3f")
	row("build with merge, CPU us a sentence, live", 1e6 / rate["live"], 1e6 / built, "%.2f")
	row("build with merge, CPU us a sentence, bulk", 1e6 / rate["bulk"], 1e6 / built, "%.2f")
	row("bytes a sentence, live", bytes["live"], size, "%.1f")
	row("bytes a sentence, bulk", bytes["bulk"], size, "%.1f")
}' "$dir/ratios"
}

step_before() {
	[ -n "${BEFORE:-}" ] || skip 'BEFORE names no commit to measure against'
	heading "in turn with commit $BEFORE, medians of $ROUNDS runs"
	mkdir "$dir/src"
	git archive "$BEFORE" >"$dir/src.tar"
	tar -xf "$dir/src.tar" -C "$dir/src"
	# The measuring program is a module of its own; earlier it was a command, and before that a part of concordat.
	if [ -d "$dir/src/lab" ]; then src=$dir/src/lab main=.; elif [ -d "$dir/src/cmd/concordat-lab" ]; then src=$dir/src main=./cmd/concordat-lab; else src=$dir/src main=./cmd/concordat; fi
	"$GO" -C "$src" build -buildvcs=false -o "$dir/before" "$main"
	[ -z "$corpora" ] || reviews
	i=0
	while [ $((i += 1)) -le "$ROUNDS" ]; do
		for binary in "$dir/before" "$LAB"; do
			"$binary" bench index -n "$N" --json | sed "s:^:${binary##*/} :" >>"$dir/runs"
			"$binary" bench query -n "$N" --queries 20000 --json | sed "s:^:${binary##*/} :" >>"$dir/runs"
			[ -z "$corpora" ] || "$binary" bench fingerprint "$top/en.txt" "$top/zh.txt" --json | sed "s:^:${binary##*/} :" >>"$dir/runs"
		done
	done
	# Half the numbers of a key lie on either side of what is printed.
	awk '{
		what = $0; sub(/^[a-z]+ /, "", what)
		if (match(what, /"mb_per_cpu_second":[0-9.]+/)) unit = "MB per CPU second"
		else if (match(what, /"cpu_us":[0-9.]+/)) unit = "CPU us"
		else if (match(what, /"sentences_per_cpu_second":[0-9.]+/)) unit = "sentences per CPU second"
		else next
		value = substr(what, RSTART, RLENGTH); sub(/.*:/, "", value)
		label = match(what, /"file":"[^"]+/) ? substr(what, RSTART + 8, RLENGTH - 8) : what
		if (label == what) { match(what, /"(build|path)":"[a-z]+"(,"probe":"[a-z]+")?/); label = substr(what, RSTART + 1, RLENGTH - 2); gsub(/[",:]+/, " ", label) }
		print label ", " unit "\t" ($1 == "before" ? "before" : "present") "\t" value
	}' "$dir/runs" | sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n | awk -F'\t' -v json="$json" '
	{ key = $1 "\t" $2; n[key]++; v[key, n[key]] = $3; names[$1] }
	function median(key) { return (v[key, int((n[key] + 1) / 2)] + v[key, int(n[key] / 2) + 1]) / 2 }
	END {
		for (k in names) {
			if (!n[k "\tbefore"] || !n[k "\tpresent"]) continue # what only one of them measures
			b = median(k "\tbefore"); p = median(k "\tpresent")
			if (json) printf "{\"against\":\"before\",\"measure\":\"%s\",\"concordat\":%g,\"before\":%g,\"ratio\":%.3g}\n", k, p, b, p / b
			else printf "%-40s present %.4g, before %.4g, ratio %.3g\n", k, p, b, p / b
		}
	}' | sort
}

failed=
for step in $steps; do
	i=0
	while [ $((i += 1)) -le "$COUNT" ]; do
		dir=$top/$step
		mkdir "$dir"
		set +e
		(set -e && "step_$step")
		status=$?
		set -e
		rm -rf "$dir"
		if [ $status -ne 0 ]; then
			echo "bench: step $step failed with status $status" >&2
			failed="$failed $step"
			break
		fi
		case $step in go | store | before) break ;; esac # which repeat by themselves
	done
done
printf '\nfigures for benchstat: %s\n' "$out" >&3
[ -z "$failed" ] || { echo "bench: failed:$failed" >&2 && exit 1; }
