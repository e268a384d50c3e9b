#!/bin/bash
# task.sh map|reduce|last [N] and task.sh merge: a task of a screening, for engines that start many numbered ones
# (doc/screening-at-scale.md). N is that of the array or the job where none is given. What a task writes appears whole
# under its name, and a task that runs again writes the same.
#
#   JOB      prints, shingles or short
#   IN       a folder of documents, a file for each map task, in the order of their names
#   WORK     a folder that all tasks share; pairs is the result
#   PARTS    number of reduce tasks
#   CONCORDAT, MEMORY, and the options of the stages: MAP_FLAGS, KEY_FLAGS, PAIR_FLAGS
set -euo pipefail
N=${2:-${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:-}}}
concordat=${CONCORDAT:-concordat}
stage() { "$concordat" screen stage "$@"; }
memory="--memory ${MEMORY:-256} --work $WORK"
mkdir -p "$WORK/map" "$WORK/shared" "$WORK/out"

# keys writes the lines of the map: key first.
keys() {
	case $JOB in
	prints) stage prints ${MAP_FLAGS:-} <"$1" | stage buckets ${KEY_FLAGS:-} ;;
	shingles) stage shingles ${MAP_FLAGS:-} <"$1" ;;
	short) stage grams ${KEY_FLAGS:-} <"$1" ;;
	*)
		echo "JOB=$JOB: want prints, shingles or short" >&2
		return 2
		;;
	esac
}

# divided DIR puts what comes into DIR, a file for each reduce task, if all that writes it has succeeded.
whole=""
trap '[ -z "$whole" ] || rm -rf "$whole"' EXIT
begin() { whole=$1.$$.tmp; }
end() {
	rm -rf "$1"
	mv -T "$whole" "$1"
	whole=""
}

case ${1:-} in
map)
	files=("$IN"/*)
	begin "$WORK/map/$N"
	keys "${files[$N]}" | stage split --parts "$PARTS" --out "$whole"
	end "$WORK/map/$N"
	;;
reduce)
	if [ "$JOB" = shingles ]; then
		begin "$WORK/shared/$N"
		cat "$WORK"/map/*[0-9]/"$N" | stage merge $memory | stage shared ${KEY_FLAGS:-} | stage merge --sum $memory |
			stage split --parts "$PARTS" --out "$whole"
		end "$WORK/shared/$N"
	else
		begin "$WORK/out/$N"
		reducer=pairs
		[ "$JOB" = prints ] || reducer=alike
		cat "$WORK"/map/*[0-9]/"$N" | stage merge $memory | stage $reducer ${KEY_FLAGS:-} >"$whole"
		end "$WORK/out/$N"
	fi
	;;
last) # of shingles: the notes of all reduce tasks are added up
	begin "$WORK/out/$N"
	cat "$WORK"/shared/*[0-9]/"$N" | stage merge --sum $memory | stage resemblance ${PAIR_FLAGS:-} >"$whole"
	end "$WORK/out/$N"
	;;
merge)
	begin "$WORK/pairs"
	cat "$WORK"/out/*[0-9] | stage merge $memory >"$whole"
	end "$WORK/pairs"
	;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
