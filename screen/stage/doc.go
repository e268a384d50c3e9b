// Package stage divides screening among machines: programs that read lines and write lines, for an engine that places,
// sorts, repeats and collects, for example Spark or Slurm.
//
// A line is fields divided by tabs; the first is its key. A map reads any part of its input in any order and writes for
// each line what depends on that line alone. Between map and reduce lines are divided by their keys, and sorted by
// their bytes. A reduce reads all lines of the keys that it gets; that a line comes twice changes nothing. So what all
// reduces write together is the same set of lines, however the input is divided and whatever runs twice, and sorted
// ([Merge]) it is the same bytes.
//
//	documents → Prints → Buckets | Pairs                          near prints (Manku, Jain and Das Sarma 2007)
//	prints → Near                                                 near prints of given ones
//	documents → Shingles | Shared | Merge with Sum → Resemblance  resembling texts (Broder 1997, section 3)
//	documents → Grams | Alike                                     similar short texts
//
// | stands for a division by key. The package is pure: no files, no network, no clock; outside memory it goes by
// screen.Space. Errors in the input are an [InputError].
package stage
