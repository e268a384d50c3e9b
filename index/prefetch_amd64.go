//go:build !purego

package index

// The instructions below say which memory is about to be read. Unlike a load they are done at once, so that
// the processor does not stop at the fortieth that waits, and has as many under way as its caches allow:
// a look-up with one hash changed takes half of the time. They read nothing and fault at nothing, so answers are
// the same with them, without them (tag purego), and on other processors, which load in their place.

// touchSpans brings the first and the last record of each span, none of them empty, near.
func touchSpans(recs []byte, spans []span) byte {
	if len(spans) > 0 {
		prefetchSpans(&recs[0], &spans[0], len(spans))
	}
	return 0
}

// touchGroups brings the groups of a value near, with each other last hash but the lowest changed.
func touchGroups(groups []group, at uint32) byte {
	prefetchGroups(&groups[0], at)
	return 0
}

// touch brings the lines of memory of the given bytes near.
func touch(at []*byte) byte {
	if len(at) > 0 {
		prefetchLines(&at[0], len(at))
	}
	return 0
}

// prefetchLines asks for n bytes.
//
//go:noescape
func prefetchLines(at **byte, n int)

// prefetchSpans asks for the first and the last byte of n spans. It knows the layout of span and recBytes.
//
//go:noescape
func prefetchSpans(recs *byte, spans *span, n int)

// prefetchGroups asks for both ends of the groups of at with one hexadecimal digit changed. It knows the size
// of group.
//
//go:noescape
func prefetchGroups(groups *group, at uint32)
