// Package layers tests the import rules of the project: who may import whom, and which packages touch files, the
// network, the clock or goroutines. The table is that of doc/design.md.
package layers
