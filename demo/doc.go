// Package demo contains the texts of the demonstration: a library of real documents in English and Chinese, a submission that reuses some
// of them, and a list of the reused passages. SOURCES.md states the origin and the licence of each file. run.sh runs the demonstration;
// lab/gen/demo generated the submission. Open truth.go first.
package demo
