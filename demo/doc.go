// Package demo holds the texts of the demonstration: a library of real documents in English and Chinese, one submission
// that reuses some of them, and the list of what it reuses. SOURCES.md says where each file comes from, and under which
// terms. run.sh runs the demonstration; lab/gen/demo made the submission. Open truth.go first.
package demo
