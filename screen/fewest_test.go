package screen

// FewestTables returns the number of tables X(f, k, d) that the recursion of Manku, Jain and Das Sarma 2007 (section 3.3) needs for 2^d
// prints so that a look-up meets at most 2^tau of them on average: 1 if d ≤ tau, otherwise the least C(r, k)·X(fk/r, k, d-(r-k)f/r) over
// r > k. If no number below 65,536 suffices, it returns 0. Block sizes are real numbers here, as in the paper.
func FewestTables(f float64, k int, d, tau float64) int {
	return fewest(f, k, d, tau, maxTables)
}

func fewest(f float64, k int, d, tau float64, most int) int {
	if d <= tau {
		return 1
	}
	best := 0
	for r := k + 1; r <= int(f); r++ {
		c := binomial(r, k)
		if c > most {
			break
		}
		lead := float64(r-k) * f / float64(r)
		if x := fewest(f-lead, k, d-lead, tau, most/c); x > 0 && (best == 0 || c*x < best) {
			best = c * x
			most = best - 1
		}
	}
	return best
}
