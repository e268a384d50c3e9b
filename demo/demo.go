// Package demo holds the texts of the demonstration: a library of real documents in English and
// Chinese, one submission that reuses some of them, and the list of what it reuses. Where each file
// comes from, and under which terms, stands in SOURCES.md.
package demo

import "embed"

// Files holds library/, one folder for each of three sites; submission/; and truth.json, which
// demo/gen makes together with the submission.
//
//go:embed library submission truth.json
var Files embed.FS
