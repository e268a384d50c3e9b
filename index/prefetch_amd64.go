//go:build !purego

package index

// The instructions below announce memory reads. Unlike loads, they complete immediately, so the processor does not stall at the fortieth
// pending load and has as many in progress as its caches allow. A look-up with one hash changed takes half the time. They load nothing
// and cannot fault, so answers are the same without them (tag purego) and on other processors, which use loads instead.

// touchSpans prefetches the first and the last record of each span; no span is empty.
func touchSpans(recs []byte, spans []span) byte {
	if len(spans) > 0 {
		prefetchSpans(&recs[0], &spans[0], len(spans))
	}
	return 0
}

// touchGroups prefetches the groups of a value with each hash but the lowest changed in turn.
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

// prefetchLines prefetches the lines at n addresses.
//
//go:noescape
func prefetchLines(at **byte, n int)

// prefetchSpans prefetches the first and the last byte of n spans. It depends on the layout of span and on recBytes.
//
//go:noescape
func prefetchSpans(recs *byte, spans *span, n int)

// prefetchGroups prefetches both ends of the groups of at with one hexadecimal digit changed. It depends on the size of group.
//
//go:noescape
func prefetchGroups(groups *group, at uint32)
