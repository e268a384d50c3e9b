// Package extract turns the bytes of a file into the text a person would read in it. Cutting the text into sentences is
// done in package segment, and extract/sandbox has the child process that reads hostile files. Open extract.go first;
// each format has a file named after it.
//
// Start from [Bytes]: it recognises the format by content first and name second, and returns a [Result] or an
// [Error] that says what went wrong and what to do. [Members] does the same for everything inside an archive
// or a message with attachments.
//
// What is guaranteed: the text is valid UTF-8 without NUL, paragraphs are separated by an empty line, and a
// single line break occurs only inside a paragraph (plain text keeps its own lines). No input panics, hangs
// or allocates without a bound; the limits are in [Options]. An unreadable part makes the result partial and
// leaves a flag; no text at all is an error, never an empty success.
//
// The package is pure: it reads no files and starts no goroutines of its own. It must still not be
// trusted with hostile files in a process that matters: package extract/sandbox runs it in a child.
package extract
