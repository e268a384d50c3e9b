package align

import "concordat"

// mostEdits bounds the edit distance that Diff follows; between anchors that differ by more, nothing
// is paired.
const mostEdits = 256

// Diff returns the runs of words that a and b have in common in the same order, for display. The
// comparison is a longest common subsequence (Myers 1986) of stretches between words that occur once
// on each side; stretches more than mostEdits words apart are left unpaired, so the cost is linear.
func Diff(a, b string) []concordat.SpanPair {
	wa, _, _ := tokens(a)
	wb, _, _ := tokens(b)
	var out []concordat.SpanPair
	for _, r := range diff(wa, wb) {
		out = append(out, concordat.SpanPair{
			Span:   concordat.Span{Start: int(wa[r.a].start), End: int(wa[r.a+r.n-1].end)},
			Source: concordat.Span{Start: int(wb[r.b].start), End: int(wb[r.b+r.n-1].end)},
		})
	}
	return out
}

// diff returns the equal runs of a common subsequence, in order.
func diff(a, b []token) []run {
	var out []run
	add := func(i, j int32) {
		if k := len(out) - 1; k >= 0 && out[k].a+out[k].n == i && out[k].b+out[k].n == j {
			out[k].n++
			return
		}
		out = append(out, run{i, j, 1})
	}
	i, j := int32(0), int32(0)
	between := func(i1, j1 int32) {
		myers(a[i:i1], b[j:j1], func(x, y int32) { add(i+x, j+y) })
	}
	for _, r := range anchors(a, b) {
		if r.a < i || r.b < j {
			continue
		}
		between(r.a, r.b)
		for k := range r.n {
			add(r.a+k, r.b+k)
		}
		i, j = r.a+r.n, r.b+r.n
	}
	between(int32(len(a)), int32(len(b)))
	return out
}

// anchors returns words that occur once in a and once in b and stand in the same order in both: the
// longest such chain (patience diff, Cohen), in order.
func anchors(a, b []token) []run {
	type seen struct{ inA, inB, a, b int32 }
	at := make(map[uint64]*seen, len(a))
	for i := range a {
		s := at[a[i].hash]
		if s == nil {
			s = &seen{}
			at[a[i].hash] = s
		}
		s.inA, s.a = s.inA+1, int32(i)
	}
	for j := range b {
		if s := at[b[j].hash]; s != nil {
			s.inB, s.b = s.inB+1, int32(j)
		}
	}
	var once []run
	for i := range a {
		if s := at[a[i].hash]; s.inA == 1 && s.inB == 1 {
			once = append(once, run{s.a, s.b, 1})
		}
	}
	return increasing(once)
}

// increasing returns the longest chain of rs, which are in order of a, that is in order of b too.
func increasing(rs []run) []run {
	var tails, before []int32 // tails[k]: last element of the best chain of k+1; before: its predecessor
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

// myers calls pair for each pair of a longest common subsequence of a and b (Myers 1986, section 3),
// in order; for none if more than mostEdits words must change.
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
	limit := min(n+m, mostEdits)
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
