#!/bin/sh
# federate.sh [CORPUS...]: what three sites find together (doc/evaluation/federation.md), for histories, grants, pan and laws.
# It makes the truth of each corpus in a temporary folder and runs `concordat-lab eval federate`. CONCORDAT_CORPORA names the
# folder of evaluation text.
set -eu
LAB=$(realpath "${LAB:-bin/concordat-lab}")
C=$(realpath "${CONCORDAT_CORPORA:?names no folder of evaluation text}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
[ $# -gt 0 ] || set -- histories grants pan laws

unpack() { # CORPUS FOLDER
	mkdir "$2"
	zstd -dc "$C/$1/$1.tar.zst" | tar -x -C "$2" -f -
}

histories() {
	unpack zh-histories hist
	awk -F'\t' 'NR>1 && $6>=0.1{print $1"\t"$2}' hist/shared-shingles.tsv >hist.truth
	awk -F'\t' 'NR>1 && $6<0.1{print $1"\t"$2}' hist/shared-shingles.tsv >hist.ignore
	"$LAB" eval federate --documents hist/史记 --submissions hist/汉书 --truth hist.truth --ignore hist.ignore --letters 60
}

grants() {
	for t in awards calls; do
		zcat "$C/grants/nih-$t.word5gram-jaccard.tsv.gz"
	done >grants.pairs
	awk -F'\t' '$3>=0.3{print $1"\t"$2}' grants.pairs >grants.truth
	awk -F'\t' '$3<0.3{print $1"\t"$2}' grants.pairs >grants.ignore
	set -- "$C/grants/nih-awards.tsv.gz" "$C/grants/nih-calls.tsv.gz"
	"$LAB" eval federate --documents "$1" --documents "$2" --submissions "$1" --submissions "$2" \
		--truth grants.truth --ignore grants.ignore --every 3 --outline fingerprints
}

pan() {
	unpack pan13-train pan
	for k in 02-no-obfuscation 03-random-obfuscation 04-translation-obfuscation; do
		sed 's|^|susp/|; s| |\tsrc/|' pan/$k/pairs
	done | tr -d '\r' >pan.truth
	sed 's|^|susp/|; s| |\tsrc/|' "$C/pan13-train/retrieval-ignore-pairs.txt" >pan.ignore
	grep -l source_offset pan/05*/*.xml |
		sed 's|.*/\(suspicious-document[0-9]*\)-\(source-document[0-9]*\).xml|susp/\1.txt\tsrc/\2.txt|' >>pan.ignore
	"$LAB" eval federate --documents pan/src --submissions pan/susp --truth pan.truth --ignore pan.ignore \
		--every 12 --share 0.02 --letters 150
}

laws() {
	unpack zh-laws laws
	mkdir sub
	cut -f1,2 laws/revision-pairs.tsv | tr '\t' '\n' | sort -u | (cd laws && while read -r f; do cp --parents "$f" ../sub/; done)
	cut -f1,2 laws/revision-pairs.tsv >laws.truth
	set --
	for d in laws/*/; do set -- "$@" --documents "${d%/}"; done
	for d in sub/*/; do set -- "$@" --submissions "${d%/}"; done
	"$LAB" eval federate --truth laws.truth --every 2 --outline fingerprints "$@"
}

for corpus; do
	case $corpus in
	histories | grants | pan | laws)
		echo "$corpus:"
		"$corpus"
		;;
	*)
		echo "federate.sh: $corpus is none of histories, grants, pan and laws" >&2
		exit 2
		;;
	esac
done
