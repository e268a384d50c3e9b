#!/bin/bash
# slurm.sh SPLITS: a screening as array jobs of Slurm, each after the one before it; waits for the end. The variables are
# those of task.sh, which lies beside it. A task whose machine is lost is put into the queue again. SBATCH_FLAGS are more
# options of sbatch, such as --partition.
set -euo pipefail
splits=$1
task=$(dirname "$(realpath "$0")")/task.sh
export JOB IN WORK PARTS
array() { # array LAST [sbatch options] -- task
	local last=$1
	shift
	sbatch --parsable --requeue --kill-on-invalid-dep=yes --array="0-$last" --output="$WORK/%A_%a.log" ${SBATCH_FLAGS:-} "$@"
}
mkdir -p "$WORK"
before=$(array $((splits - 1)) "$task" map)
echo "map: job $before"
before=$(array $((PARTS - 1)) --dependency="afterok:$before" "$task" reduce)
echo "reduce: job $before"
if [ "$JOB" = shingles ]; then
	before=$(array $((PARTS - 1)) --dependency="afterok:$before" "$task" last)
	echo "last: job $before"
fi
sbatch --wait --requeue --kill-on-invalid-dep=yes --dependency="afterok:$before" --output="$WORK/merge.log" ${SBATCH_FLAGS:-} "$task" merge
