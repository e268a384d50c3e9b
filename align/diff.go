package align

import "concordat"

// maxEdits is the maximum edit distance that Diff follows; if the text between two anchors differs by more, nothing in it is paired.
const maxEdits = 256

// Diff returns the runs of words common to a and b in the same order, for display. It computes a longest common subsequence (Myers 1986)
// of the stretches between anchors, which are phrases, then words, that occur once on each side. Stretches more than maxEdits words apart
// remain unpaired, which keeps the cost linear.
func Diff(a, b string) []concordat.SpanPair {
	wa, _ := tokens(a)
	wb, _ := tokens(b)
	var out []concordat.SpanPair
	for _, r := range diff(wa, wb) {
		out = append(out, concordat.SpanPair{
			Span:   concordat.Span{Start: int(wa[r.a].start), End: int(wa[r.a+r.n-1].end)},
			Source: concordat.Span{Start: int(wb[r.b].start), End: int(wb[r.b+r.n-1].end)},
		})
	}
	return out
}

// diff returns the runs of equal words in a common subsequence, in order.
func diff(a, b []token) []run {
	var out []run
	add := func(i, j int32) {
		if k := len(out) - 1; k >= 0 && out[k].a+out[k].n == i && out[k].b+out[k].n == j {
			out[k].n++
			return
		}
		out = append(out, run{i, j, 1})
	}
	whole := box{0, int32(len(a)), 0, int32(len(b))}
	between(a, b, whole, phrase, func(s box, anchored bool) {
		if anchored {
			add(s.a0, s.b0)
			return
		}
		between(a, b, s, 1, func(s box, anchored bool) {
			if anchored {
				add(s.a0, s.b0)
				return
			}
			myers(a[s.a0:s.a1], b[s.b0:s.b1], func(i, j int32) { add(s.a0+i, s.b0+j) })
		})
	})
	return out
}

// phrase is the number of words in an anchor; in long texts, few words occur only once, but most phrases do.
const phrase = 4

// box is a pair of word ranges: A's [a0, a1) and B's [b0, b1).
type box struct{ a0, a1, b0, b1 int32 }

// between calls f in order for each anchor of n words within s, identified by its first word, and for each stretch between anchors.
func between(a, b []token, s box, n int32, f func(s box, anchored bool)) {
	i, j := s.a0, s.b0
	for _, r := range anchors(a[s.a0:s.a1], b[s.b0:s.b1], n) {
		x, y := s.a0+r.a, s.b0+r.b
		if x > i || y > j {
			f(box{i, x, j, y}, false)
		}
		f(box{x, x + 1, y, y + 1}, true)
		i, j = x+1, y+1
	}
	f(box{i, s.a1, j, s.b1}, false)
}

// anchors returns the longest chain of phrases of n words that occur once in a and once in b, and in the same order (patience diff,
// Cohen).
func anchors(a, b []token, n int32) []run {
	if int32(min(len(a), len(b))) < n {
		return nil
	}
	type seen struct{ inA, inB, a, b int32 }
	at := make(map[uint64]*seen, len(a))
	for i := int32(0); i+n <= int32(len(a)); i++ {
		h := hashOf(a[i : i+n])
		s := at[h]
		if s == nil {
			s = &seen{}
			at[h] = s
		}
		s.inA, s.a = s.inA+1, i
	}
	for j := int32(0); j+n <= int32(len(b)); j++ {
		if s := at[hashOf(b[j:j+n])]; s != nil {
			s.inB, s.b = s.inB+1, j
		}
	}
	var once []run
	for i := int32(0); i+n <= int32(len(a)); i++ {
		if s := at[hashOf(a[i:i+n])]; s.inA == 1 && s.inB == 1 && a[i].hash == b[s.b].hash {
			once = append(once, run{s.a, s.b, 1})
		}
	}
	return increasing(once)
}

func hashOf(words []token) uint64 {
	var h uint64
	for i := range words {
		h = (h ^ words[i].hash) * gramBase
		h ^= h >> 29
	}
	return h
}

// increasing returns the longest subsequence of rs in which b also increases. rs must be in order of a.
func increasing(rs []run) []run {
	var tails, before []int32 // tails[k] is the last element of the best chain of k+1, and before holds the predecessors
	before = make([]int32, len(rs))
	for i := range rs {
		lo, hi := 0, len(tails)
		for lo < hi {
			m := (lo + hi) / 2
			if rs[tails[m]].b < rs[i].b {
				lo = m + 1
			} else {
				hi = m
			}
		}
		before[i] = -1
		if lo > 0 {
			before[i] = tails[lo-1]
		}
		if lo == len(tails) {
			tails = append(tails, int32(i))
		} else {
			tails[lo] = int32(i)
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]run, len(tails))
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k-- {
		out[k], i = rs[i], before[i]
	}
	return out
}

// myers calls pair in order for each pair of a longest common subsequence of a and b (Myers 1986, section 3). It calls pair for none if
// more than maxEdits words must change.
func myers(a, b []token, pair func(i, j int32)) {
	pre := int32(0)
	for int(pre) < min(len(a), len(b)) && a[pre].hash == b[pre].hash {
		pair(pre, pre)
		pre++
	}
	a, b = a[pre:], b[pre:]
	n, m := int32(len(a)), int32(len(b))
	if n == 0 || m == 0 {
		return
	}
	limit := min(n+m, maxEdits)
	v := make([]int32, 2*limit+2)
	var trace [][]int32 // copy of v before each step
	for d := int32(0); d <= limit; d++ {
		trace = append(trace, append([]int32(nil), v[max(limit-d, 0):min(limit+d+2, int32(len(v)))]...))
		for k := -d; k <= d; k += 2 {
			var x int32
			if k == -d || k != d && v[limit+k-1] < v[limit+k+1] {
				x = v[limit+k+1]
			} else {
				x = v[limit+k-1] + 1
			}
			y := x - k
			for x < n && y < m && a[x].hash == b[y].hash {
				x, y = x+1, y+1
			}
			v[limit+k] = x
			if x >= n && y >= m {
				backtrack(trace, limit, n, m, func(i, j int32) { pair(pre+i, pre+j) })
				return
			}
		}
	}
}

// backtrack follows the trace of myers from (n, m) and calls pair for its diagonal steps in order.
func backtrack(trace [][]int32, limit, n, m int32, pair func(i, j int32)) {
	type step struct{ x, y int32 }
	var steps []step
	x, y := n, m
	for d := int32(len(trace)) - 1; d >= 0; d-- {
		base := max(limit-d, 0)
		at := func(k int32) int32 { return trace[d][limit+k-base] }
		k := x - y
		before := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			before = k + 1
		}
		px := at(before)
		py := px - before
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			steps = append(steps, step{x, y})
		}
		x, y = px, py
	}
	for i := len(steps) - 1; i >= 0; i-- {
		pair(steps[i].x, steps[i].y)
	}
}
