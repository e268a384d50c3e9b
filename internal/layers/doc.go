// Package layers tests the project's import rules: which packages may import which, and which may use files, the network, the clock or
// goroutines. doc/design.md contains the same table.
package layers
