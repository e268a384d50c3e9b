package demo

import "embed"

// Files contains library/, with one folder for each of three sites; submission/; and truth.json, which lab/gen/demo creates together with
// the submission.
//
//go:embed library submission truth.json
var Files embed.FS
