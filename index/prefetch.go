package index

import "concordat"

// loadSpans, loadGroups and loadLines replace touchSpans, touchGroups and touch on processors without a known prefetch instruction.
func loadSpans(recs []byte, spans []span) (t byte) {
	for _, s := range spans {
		t += recs[recBytes*int(s.lo)] + recs[recBytes*int(s.hi)-1]
	}
	return t
}

func loadGroups(groups []group, at uint32) (t byte) {
	for shift := 0; shift < concordat.BandBits-4; shift += 4 {
		for x := range uint32(16) {
			t += groups[at^x<<shift].ends[15]
		}
	}
	return t
}

func loadLines(at []*byte) (t byte) {
	for _, p := range at {
		t += *p
	}
	return t
}
