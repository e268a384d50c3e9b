//go:build !purego

package index

// The instructions below announce which memory is about to be read. Unlike loads they complete immediately, so
// the processor does not stall at the fortieth pending load and has as many under way as its caches allow: a
// look-up with one hash changed takes half the time. They read nothing and cannot fault, so answers are the same
// without them (tag purego) and on other processors, which use loads instead.

// touchSpans prefetches the first and the last record of each span; no span is empty.
func touchSpans(recs []byte, spans []span) byte {
	if len(spans) > 0 {
		prefetchSpans(&recs[0], &spans[0], len(spans))
	}
	return 0
}

// touchGroups prefetches the groups of a value with each of its hashes changed in turn, except the lowest.
func touchGroups(groups []group, at uint32) byte {
	prefetchGroups(&groups[0], at)
	return 0
}

// touch prefetches the cache lines of the given addresses.
func touch(at []*byte) byte {
	if len(at) > 0 {
		prefetchLines(&at[0], len(at))
	}
	return 0
}

// prefetchLines prefetches the lines of n addresses.
//
//go:noescape
func prefetchLines(at **byte, n int)

// prefetchSpans prefetches the first and the last byte of n spans. It knows the layout of span and recBytes.
//
//go:noescape
func prefetchSpans(recs *byte, spans *span, n int)

// prefetchGroups prefetches both ends of the groups of at with one hexadecimal digit changed. It knows the
// size of group.
//
//go:noescape
func prefetchGroups(groups *group, at uint32)
