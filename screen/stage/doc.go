// Package stage divides screening among machines. Its programs read lines and write lines, for an engine that places, sorts, repeats and
// collects, for example Spark or Slurm.
//
// A line consists of fields separated by tabs; the first is its key. A map reads any part of its input in any order, and its output for
// each line depends on that line alone. Between map and reduce, lines are divided by their keys and sorted by their bytes. A reduce reads
// all lines of its keys; repeated lines make no difference. So the output of all reduces together is the same set of lines, however the
// input is divided and whatever runs twice. When the lines are sorted ([Merge]), the bytes are also the same.
//
//	documents → Prints → Buckets | Pairs                          near prints (Manku, Jain and Das Sarma 2007)
//	prints → Near                                                 near prints of given ones
//	documents → Shingles | Shared | Merge with Sum → Resemblance  resembling texts (Broder 1997, section 3)
//	documents → Grams | Alike                                     similar short texts
//
// In this diagram, | is a division by key. The package is pure: no files, no network, no clock; storage outside memory is a screen.Space.
// Errors in the input are an [InputError].
package stage
