// Package bounds limits what a request to the API may cost and what its answer may echo: JSON bodies, cursors of lists, and the problems
// that describe what was refused. It depends on no operation. Open body.go first.
package bounds
