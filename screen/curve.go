package screen

// Labelled is a document pair of known relation, with the distance of its prints.
type Labelled struct {
	Distance int  // in bits
	Same     bool // whether labelled as near-duplicates
}

// CurvePoint measures how well "at most K bits apart" separates near-duplicates from other pairs.
type CurvePoint struct {
	K        int `json:"k"`
	Reported int `json:"reported"` // pairs at most K bits apart
	Found    int `json:"found"`    // near-duplicates among the reported pairs
	Same     int `json:"same"`     // near-duplicates in total
}

// Precision returns the proportion of reported pairs that are near-duplicates, or 1 if no pair is reported.
func (p CurvePoint) Precision() float64 {
	if p.Reported == 0 {
		return 1
	}
	return float64(p.Found) / float64(p.Reported)
}

// Recall returns the proportion of near-duplicates that are reported, or 1 if there are none.
func (p CurvePoint) Recall() float64 {
	if p.Same == 0 {
		return 1
	}
	return float64(p.Found) / float64(p.Same)
}

// F1 returns the harmonic mean of precision and recall.
func (p CurvePoint) F1() float64 {
	if p.Reported+p.Same == 0 {
		return 1
	}
	return 2 * float64(p.Found) / float64(p.Reported+p.Same)
}

// Sweep counts labelled pairs by distance, as Manku, Jain and Das Sarma 2007 (section 5.1, figure 1) do to choose k. The zero value is
// empty.
type Sweep struct {
	same, other [maxBits + 1]int
}

// Add counts a pair. It counts a distance outside 0 to 128 as the nearest value in that range.
func (s *Sweep) Add(l Labelled) {
	d := max(0, min(l.Distance, maxBits))
	if l.Same {
		s.same[d]++
	} else {
		s.other[d]++
	}
}

// Curve returns the points for K from 0 to most.
func (s *Sweep) Curve(most int) []CurvePoint {
	same := 0
	for _, n := range s.same {
		same += n
	}
	var out []CurvePoint
	p := CurvePoint{Same: same}
	for k := 0; k <= min(most, maxBits); k++ {
		p.K = k
		p.Found += s.same[k]
		p.Reported += s.same[k] + s.other[k]
		out = append(out, p)
	}
	return out
}
