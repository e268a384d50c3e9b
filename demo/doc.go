// Package demo holds the texts of the demonstration: a library of real documents in English and Chinese, one submission
// that reuses some of them, and the list of what it reuses. Where each file comes from, and under which terms, stands
// in SOURCES.md. What runs it is run.sh; the program that made the submission is gen. Open truth.go first.
package demo
