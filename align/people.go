package align

import (
	"cmp"
	"slices"
	"sort"
)

// A person reads a passage as a claim that all of it was taken over. The units by which passages are
// found are coarser: they carry a heading into the sentence below it, and join two quotations over
// the writer's own words between them. What follows cuts passages down to what is shared, for
// people; PAN's measure, which counts units, does without.

const (
	// ownEdge is the number of content words in a row, none of them in the source, from which the
	// beginning or the end of a passage, or what stands between two literal copies, is the writer's own.
	ownEdge = 4
	// ownMiddle is the same inside a reworded passage, where other words are what is expected.
	ownMiddle = 9
	// leastShared is the number of shared content words of the smallest piece that is kept.
	leastShared = 3
	// A summary in Chinese must share at least this part of its words in ordered runs of summaryRun
	// words. Its words are short and few enough that a long text holds nearly all of any short one.
	summaryRun     = 3
	summaryOrdered = 0.25
	// From this share on it is no summary but pieces of the source, divided where the source jumps
	// farther than farJump words.
	mostlyCopied = 0.5
	farJump      = 40
	aroundPart   = 12
)

// refine cuts the passages of a pair down to what people should see. copies are the literal ones, in
// order of A.
func refine(a, b *Text, all []stretch, copies []copied) []stretch {
	var out []stretch
	for _, s := range all {
		if !s.summary {
			out = append(out, pieces(a, b, s, copies)...)
			continue
		}
		parts, share := scattered(a, b, s)
		switch {
		case share >= mostlyCopied:
			for _, part := range parts {
				out = append(out, pieces(a, b, part, copies)...)
			}
		case share >= summaryOrdered || !mostlyHan(a.words[s.a0:s.a1]):
			out = append(out, s)
		}
	}
	return distinct(out)
}

func mostlyHan(words []token) bool {
	chars, bytes := int32(0), int32(0)
	for i := range words {
		chars += words[i].chars
		bytes += words[i].end - words[i].start
	}
	return chars >= bytes*3/4 // a Han character counts three and has three bytes, a letter one and one
}

// scattered returns the parts of a summary that stand in B in the same order without a jump, and the
// share of A's words that lie in ordered runs: what looks like a summary may be sentences taken from
// places far apart.
func scattered(a, b *Text, s stretch) (parts []stretch, share float64) {
	n := int32(0)
	for _, r := range diff(a.words[s.a0:s.a1], b.words[s.b0:s.b1]) {
		if r.n < summaryRun {
			continue
		}
		n += r.n
		piece := stretch{s.a0 + r.a, s.a0 + r.a + r.n, s.b0 + r.b, s.b0 + r.b + r.n, false}
		if k := len(parts) - 1; k >= 0 && piece.b0-parts[k].b1 <= farJump {
			parts[k].a1, parts[k].b1 = piece.a1, piece.b1
			continue
		}
		parts = append(parts, piece)
	}
	// The words between belong to one of the parts, with a few of B's around them; pieces decides.
	for k := range parts {
		p := &parts[k]
		p.b0, p.b1 = max(s.b0, p.b0-aroundPart), min(s.b1, p.b1+aroundPart)
		if k == 0 {
			p.a0 = s.a0
		} else {
			p.a0 = parts[k-1].a1
		}
	}
	if k := len(parts) - 1; k >= 0 {
		parts[k].a1 = s.a1
	}
	return parts, float64(n) / float64(s.a1-s.a0)
}

// pieces cuts s at the writer's own words.
func pieces(a, b *Text, s stretch, copies []copied) []stretch {
	shared := sharedWords(a, b, s)
	literal := make([]bool, s.a1-s.a0)
	// Ends ascend, and a copy reaches back over the one before it by mostBack words at most.
	from := sort.Search(len(copies), func(i int) bool { return copies[i].a1 > s.a0 })
	for _, c := range copies[from:] {
		if c.a0-mostBack > s.a1 {
			break
		}
		for i := max(c.a0, s.a0); i < min(c.a1, s.a1); i++ {
			literal[i-s.a0] = true
		}
	}
	var out []stretch
	first, last := int32(-1), int32(-1) // shared words of the piece
	own, n := 0, 0
	flush := func() {
		if first >= 0 && n >= leastShared {
			out = append(out, stretch{s.a0 + first, s.a0 + last + 1, s.b0, s.b1, false})
		}
		first, n = -1, 0
	}
	for i := range int32(len(shared)) {
		switch {
		case shared[i]:
			limit := ownMiddle
			if last >= 0 && literal[i] && literal[last] {
				limit = ownEdge
			}
			if first >= 0 && own >= limit {
				flush()
			}
			if first < 0 {
				first = i
			}
			last, own = i, 0
			n++
		case a.words[s.a0+i].flags&stopWord == 0:
			own++
		}
	}
	flush()
	out = narrowAll(a, b, s, out)
	for i := range out {
		out[i] = soften(a, s, widen(a, b, s, out[i]))
	}
	if len(out) == 1 && out[0].a0 == s.a0 && out[0].a1 == s.a1 {
		return []stretch{s}
	}
	return out
}

// sharedWords tells of each of A's words whether it is a content word that B's passage holds too.
func sharedWords(a, b *Text, s stretch) []bool {
	in := make(map[uint64]bool, s.b1-s.b0)
	for i := s.b0; i < s.b1; i++ {
		in[b.words[i].hash] = true
	}
	out := make([]bool, s.a1-s.a0)
	for i := range out {
		w := &a.words[s.a0+int32(i)]
		out[i] = w.flags&stopWord == 0 && in[w.hash]
	}
	return out
}

// soften gives a piece the words back that were cut off at its edges but are too few to be somebody's
// own: fewer than ownEdge content words up to the edge of the whole.
func soften(a *Text, whole, piece stretch) stretch {
	content := func(from, to int32) int {
		n := 0
		for i := from; i < to; i++ {
			if a.words[i].flags&stopWord == 0 {
				n++
			}
		}
		return n
	}
	if content(whole.a0, piece.a0) < ownEdge {
		piece.a0 = whole.a0
	}
	if content(piece.a1, whole.a1) < ownEdge {
		piece.a1 = whole.a1
	}
	return piece
}

// mostNarrowed is the number of pieces that are compared with all of B's side, each by itself. More of
// them take what the comparison of the whole gives them, so that the cost stays linear.
const mostNarrowed = 64

// narrowAll limits B's side of each piece of whole to where the piece's words stand in order, if that
// tells.
func narrowAll(a, b *Text, whole stretch, ps []stretch) []stretch {
	if len(ps) <= mostNarrowed {
		for i, p := range ps {
			ps[i], _ = narrow(a, p, diff(a.words[p.a0:p.a1], b.words[p.b0:p.b1]), 0)
		}
		return ps
	}
	runs := diff(a.words[whole.a0:whole.a1], b.words[whole.b0:whole.b1])
	k, out := 0, ps[:0]
	for _, p := range ps {
		for k < len(runs) && whole.a0+runs[k].a+runs[k].n <= p.a0 {
			k++
		}
		end := k
		for end < len(runs) && whole.a0+runs[end].a+runs[end].n <= p.a1 {
			end++
		}
		// Words that stand nowhere in order, among so many that do, are left out.
		if p, ok := narrow(a, p, runs[k:end], whole.a0-p.a0); ok {
			out = append(out, p)
		}
	}
	return out
}

// narrow limits B's side of p to that of the runs, whose places in A count from p.a0+shift and those
// in B from p.b0, and reports whether they tell. Runs that begin before p count with what lies in it.
func narrow(a *Text, p stretch, runs []run, shift int32) (stretch, bool) {
	from, to, n := int32(-1), int32(-1), int32(0)
	for _, r := range runs {
		if before := -(r.a + shift); before > 0 {
			r = run{r.a + before, r.b + before, r.n - before}
		}
		at := p.a0 + shift + r.a
		if r.n <= 0 || !anyContent(a.words[at:at+r.n]) {
			continue
		}
		if from < 0 {
			from = r.b
		}
		to = r.b + r.n
		n += r.n
	}
	if from < 0 || n*3 < p.a1-p.a0 {
		return p, false
	}
	return stretch{p.a0, p.a1, p.b0 + from, p.b0 + to, false}, true
}

func anyContent(words []token) bool {
	for i := range words {
		if words[i].flags&stopWord == 0 {
			return true
		}
	}
	return false
}

// widen takes in equal words that stand directly before and after a piece on both sides: the article
// before its first content word.
func widen(a, b *Text, whole, s stretch) stretch {
	for s.a0 > whole.a0 && s.b0 > whole.b0 && a.words[s.a0-1].hash == b.words[s.b0-1].hash {
		s.a0, s.b0 = s.a0-1, s.b0-1
	}
	for s.a1 < whole.a1 && s.b1 < whole.b1 && a.words[s.a1].hash == b.words[s.b1].hash {
		s.a1, s.b1 = s.a1+1, s.b1+1
	}
	return s
}

// distinct drops passages that lie within another on both sides. all is in order of A.
func distinct(all []stretch) []stretch {
	slices.SortStableFunc(all, func(x, y stretch) int { return cmp.Or(int(x.a0-y.a0), int(y.a1-x.a1)) })
	out := all[:0]
	for _, s := range all {
		within := false
		for i := len(out) - 1; i >= 0 && i >= len(out)-nearby && !within; i-- {
			o := out[i]
			within = o.a1 >= s.a1 && o.b0 <= s.b0 && o.b1 >= s.b1 && !o.summary
		}
		if !within {
			out = append(out, s)
		}
	}
	return out
}

// nearby bounds how many passages before one are looked at.
const nearby = 16
