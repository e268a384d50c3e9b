// Package stage divides screening among machines. Its programs read and write lines, for an engine that places, sorts, repeats and
// collects them, for example Spark or Slurm.
//
// A line consists of fields separated by tabs; the first field is the key. A map reads any part of its input in any order, and its output
// for a line depends only on that line. Between map and reduce, the engine divides lines by key and sorts them by their bytes. A reduce
// reads all lines of its keys; repeated lines make no difference. So all reduces together produce the same set of lines, however the
// input is divided and even if parts run twice. If the lines are then sorted ([Merge]), the bytes are the same, too.
//
//	documents → Prints → Buckets | Pairs                          near prints (Manku, Jain and Das Sarma 2007)
//	prints → Near                                                 near prints of given ones
//	documents → Shingles | Shared | Merge with Sum → Resemblance  resembling texts (Broder 1997, section 3)
//	documents → Grams | Alike                                     similar short texts
//
// In this diagram, | represents division by key. The package is pure and uses no files, network or clock; a screen.Space provides storage
// outside memory. Errors in the input are reported as [InputError].
package stage
