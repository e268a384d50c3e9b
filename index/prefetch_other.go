//go:build !amd64 || purego

package index

// touchSpans loads the first and the last record of each span; no span is empty. The result only keeps the loads alive.
func touchSpans(recs []byte, spans []span) byte { return loadSpans(recs, spans) }

// touchGroups loads the groups of a value with one hexadecimal digit changed.
func touchGroups(groups []group, at uint32) byte { return loadGroups(groups, at) }

// touch loads the given bytes.
func touch(at []*byte) byte { return loadLines(at) }
