// Package extract converts the bytes of a file to the text that a person would read in it. Package segment splits the text into
// sentences, and extract/sandbox provides the child process that reads hostile files. Open extract.go first; each format has a file named
// after it.
//
// Start from [Bytes]: it recognises the format by content first and name second, and returns a [Result], or an [Error] that explains what
// went wrong and what to do. [Members] does the same for everything in an archive or a message with attachments.
//
// The text is guaranteed to be valid UTF-8 without NUL; paragraphs are separated by an empty line, and a single line break occurs only
// inside a paragraph (plain text keeps its own lines). No input causes a panic, a hang or an unbounded allocation; the limits are in
// [Options]. An unreadable part makes the result partial and leaves a flag; if there is no text at all, the result is an error rather
// than an empty success.
//
// The package is pure: it reads no files and starts no goroutines. Even so, do not run it on hostile files in a process that matters;
// package extract/sandbox runs it in a child process.
package extract
