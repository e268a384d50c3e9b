package screen

// editDistance returns the minimum number of letters to insert, delete or replace to turn a into b (Levenshtein 1966; Wagner and Fischer
// 1974). Its time is proportional to the product of their lengths.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// editsWithin reports whether at most k edits turn a into b. It computes only the 2k+1 cells around the diagonal in each row of
// editDistance (Ukkonen 1985).
func editsWithin(a, b []rune, k int) bool {
	if d := len(a) - len(b); max(d, -d) > k {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		from, to := max(0, i-k), min(len(b), i+1+k) // cells of row i+1
		diagonal := row[from]
		if row[from] = i + 1; from > 0 {
			row[from] = k + 1 // unreachable, left of the band
		}
		for j := from; j < to; j++ {
			cost := diagonal
			if x != b[j] {
				above := k + 1
				if j+1 <= i+k { // the cell of row i is within its band
					above = row[j+1]
				}
				cost = 1 + min(diagonal, row[j], above)
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)] <= k
}
