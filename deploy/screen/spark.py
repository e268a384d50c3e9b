"""A screening on Apache Spark: spark-submit spark.py JOB DOCUMENTS OUT [PARTS]

JOB is prints, shingles or short; DOCUMENTS anything that Spark reads as text, OUT a folder that does not exist yet.
The options of the stages are in MAP_FLAGS, KEY_FLAGS and PAIR_FLAGS, the program in CONCORDAT, which every executor
must have (doc/screening-at-scale.md). A stage that fails is tried again as Spark is told (spark.task.maxFailures).
"""

import os
import sys
import zlib

from pyspark import SparkContext

PROGRAM = os.environ.get("CONCORDAT", "concordat")


def stages(*each):
    """A pipe of stages, which fails if one of them does."""
    line = " | ".join(f"{PROGRAM} screen stage {s}" for s in each)
    return ["bash", "-o", "pipefail", "-c", line]


def flags(name):
    return os.environ.get(name, "")


def pipe(lines, *each):
    """Like RDD.pipe, whose command cannot be quoted twice."""
    import shlex

    return lines.pipe(shlex.join(stages(*each)), checkCode=True)


def by_key(lines, parts):
    """Divides lines by their first field and sorts them by their bytes: code points order as UTF-8 does."""
    keyed = lines.map(lambda line: (line, None))
    part = lambda line: zlib.crc32(line.split("\t", 1)[0].encode())
    return keyed.repartitionAndSortWithinPartitions(parts, part).keys()


def notes_added(lines, parts):
    """Adds up the last fields of lines that agree in all others."""

    def divide(line):
        head, n = line.rsplit("\t", 1)
        return head, int(n)

    return lines.map(divide).reduceByKey(lambda a, b: a + b, parts).map(lambda kn: f"{kn[0]}\t{kn[1]}")


def screening(documents, job, parts):
    if job == "prints":
        keys = pipe(documents, "prints " + flags("MAP_FLAGS"), "buckets " + flags("KEY_FLAGS"))
        return pipe(by_key(keys, parts), "pairs " + flags("KEY_FLAGS"))
    if job == "shingles":
        keys = pipe(documents, "shingles " + flags("MAP_FLAGS"))
        notes = pipe(by_key(keys, parts), "shared " + flags("KEY_FLAGS"))
        return pipe(notes_added(notes, parts), "resemblance " + flags("PAIR_FLAGS"))
    if job == "short":
        keys = pipe(documents, "grams " + flags("KEY_FLAGS"))
        return pipe(by_key(keys, parts), "alike " + flags("KEY_FLAGS"))
    sys.exit(f"{job}: want prints, shingles or short")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    job, source, out = sys.argv[1:4]
    sc = SparkContext(appName="concordat screen " + job)
    parts = int(sys.argv[4]) if len(sys.argv) > 4 else sc.defaultParallelism
    screening(sc.textFile(source, parts), job, parts).sortBy(lambda line: line, numPartitions=parts).saveAsTextFile(out)
    sc.stop()


if __name__ == "__main__":
    main()
