package meaning

import (
	"cmp"
	"maps"
	"slices"
)

// Parameters for nominating places for an encoder (doc/evaluation/meaning.md).
const (
	stretch       = 8    // number of the submission's sentences considered together
	stretchStep   = 4    // distance between stretches
	stretchBest   = 3    // number of a stretch's sentences that count, namely the ones that stand out most
	nominatedEach = 7    // maximum number of sources per group that a stretch nominates
	leastStandOut = 0.03 // minimum margin by which a source stands out over a stretch
	placesEach    = 2    // number of places in a source that a stretch nominates
	around        = 2    // sentences on either side of a place
	maxEncoded    = 1000
)

// Places are the sentences to pass to an encoder, by index in ascending order.
type Places struct {
	Here  []int
	There [][]int // for each source
}

// Count returns the number of sentences.
func (p Places) Count() int {
	n := len(p.Here)
	for _, there := range p.There {
		n += len(there)
	}
	return n
}

// Texts returns the texts of the sentences, first the submission's. here and there must be the texts that were read.
func (c *Comparison) Texts(p Places, here string, there []string) []string {
	out := make([]string, 0, p.Count())
	for _, i := range p.Here {
		out = append(out, c.submission.Spans[i].In(here))
	}
	for d, at := range p.There {
		for _, j := range at {
			out = append(out, c.sources[d].Spans[j].In(there[d]))
		}
	}
	return out
}

// Nearby is a pair of sentences that an index of vectors finds near each other.
type Nearby struct{ Here, There int } // sentences of the submission and of a source

// maxNearby bounds how many sentences are passed to an encoder for nearby pairs and leads.
const maxNearby = maxEncoded * 7 / 10

// nomination is a source that stands out over a stretch of the submission.
type nomination struct {
	from, source int
	score        float32
}

// Places returns the places where sources stand out by the table, with their surroundings; if there are too many, it returns the best
// ones. They include all leads worth reading and, for each source, the nearby places found by an index of vectors, if any. Sources in a
// different language from the submission are nominated by the table's vectors alone.
func (c *Comparison) Places(leads [][]Lead, nearby [][]Nearby) Places {
	here, there := map[int]bool{}, make([]map[int]bool, len(c.sources))
	for d := range there {
		there[d] = map[int]bool{}
	}
	for d, ls := range leads {
		for _, l := range ls {
			if l.WorthReading() {
				c.addLead(l, d, here, there[d])
			}
		}
	}
	peaks := c.peaks()
	n := len(here)
	for _, js := range there {
		n += len(js)
	}
	n += c.addNearby(nearby, here, there, maxNearby-n)
	for _, x := range c.nominations(peaks) {
		if n+stretch+placesEach*(2*around+1) > maxEncoded { // the maximum that a nomination adds
			break
		}
		end := min(x.from+stretch, len(c.submission.Spans))
		for i := x.from; i < end; i++ {
			if c.submission.prose[i] && !here[i] {
				here[i] = true
				n++
			}
		}
		rows := standing(peaks[x.source][x.from:end])
		for _, row := range rows[:min(len(rows), placesEach)] {
			at := int(peaks[x.source][x.from+row].at)
			for j := max(0, at-around); j <= min(at+around, len(c.sources[x.source].Spans)-1); j++ {
				if c.sources[x.source].prose[j] && !there[x.source][j] {
					there[x.source][j] = true
					n++
				}
			}
		}
	}
	out := Places{Here: slices.Sorted(maps.Keys(here)), There: make([][]int, len(c.sources))}
	for d := range there {
		out.There[d] = slices.Sorted(maps.Keys(there[d]))
	}
	return out
}

// addNearby adds nearby places with their surroundings, starting with the first of each source, up to about most sentences, and returns
// how many it added.
func (c *Comparison) addNearby(nearby [][]Nearby, here map[int]bool, there []map[int]bool, most int) int {
	n := 0
	add := func(t *Text, at, before, after int, into map[int]bool) {
		for i := max(0, at-before); i <= min(at+after, len(t.Spans)-1); i++ {
			if t.prose[i] && !into[i] {
				into[i] = true
				n++
			}
		}
	}
	for k, more := 0, true; more; k++ {
		more = false
		for d, places := range nearby {
			if k >= len(places) {
				continue
			}
			if n >= most {
				return n
			}
			more = true
			add(c.submission, places[k].Here, stretch/2, stretch/2, here)
			add(c.sources[d], places[k].There, around, around, there[d])
		}
	}
	return n
}

// addLead adds a lead's sentences.
func (c *Comparison) addLead(l Lead, d int, here, there map[int]bool) {
	for i, s := range c.submission.Spans {
		if c.submission.prose[i] && s.Overlaps(l.Span) {
			here[i] = true
		}
	}
	for j, s := range c.sources[d].Spans {
		if c.sources[d].prose[j] && s.Overlaps(l.Source) {
			there[j] = true
		}
	}
}

// peak is the source's sentence nearest to a sentence of the submission, with the margin by which the source stands out there.
type peak struct {
	at    int32
	above float32
}

// standing returns the indexes of peaks that stand out, highest first.
func standing(peaks []peak) []int {
	var out []int
	for i, p := range peaks {
		if p.above > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(peaks[b].above, peaks[a].above) })
	return out
}

// nominations returns the sources that stand out over stretches of the submission, clearest first.
func (c *Comparison) nominations(peaks [][]peak) []nomination {
	var out []nomination
	for from := 0; from == 0 || from+stretchStep < len(c.submission.Spans); from += stretchStep {
		end := min(from+stretch, len(c.submission.Spans))
		for g := range groups {
			var of []nomination
			for d, ps := range peaks {
				if c.group(d) != g || ps == nil {
					continue
				}
				score := float32(0)
				rows := standing(ps[from:end])
				for _, row := range rows[:min(len(rows), stretchBest)] {
					score += ps[from+row].above
				}
				if score >= leastStandOut {
					of = append(of, nomination{from, d, score})
				}
			}
			slices.SortStableFunc(of, func(a, b nomination) int { return cmp.Compare(b.score, a.score) })
			out = append(out, of[:min(len(of), nominatedEach)]...)
		}
	}
	slices.SortStableFunc(out, func(a, b nomination) int { return cmp.Compare(b.score, a.score) })
	return out
}

// groups is the number of groups of sources. Those in a group form each other's background.
const groups = 3

// group returns a source's group: it is in the submission's language, in another language in the same script, or in the other script.
func (c *Comparison) group(d int) int {
	switch {
	case !c.foreign(d):
		return 0
	case c.sources[d].wide == c.submission.wide:
		return 1
	}
	return 2
}

// peaks returns the peak of each source at each sentence of the submission.
func (c *Comparison) peaks() [][]peak {
	n := len(c.submission.Spans)
	out, most := make([][]peak, len(c.sources)), make([][]float32, len(c.sources))
	for d := range c.sources {
		out[d], most[d] = make([]peak, n), make([]float32, n)
		if c.foreign(d) {
			c.acrossPeaks(d, out[d], most[d])
			continue
		}
		for _, p := range c.near[d] {
			if p.similarity > most[d][p.here] {
				most[d][p.here], out[d][p.here].at = p.similarity, p.there
			}
		}
	}
	for i := range n {
		var nearest [groups]nearestSources
		for d := range out {
			nearest[c.group(d)].add(nearSource{d, most[d][i]})
		}
		for d := range out {
			out[d][i].above = max(0, most[d][i]-nearest[c.group(d)].background(d))
		}
	}
	return out
}

// acrossPeaks finds the peaks of a source in another language, by the table alone.
func (c *Comparison) acrossPeaks(d int, peaks []peak, most []float32) {
	if c.directions == nil {
		c.directions = map[int32][]float32{}
		for i, v := range c.submission.directions() {
			c.directions[i] = v
		}
	}
	for j, w := range c.sources[d].directions() {
		for i, v := range c.directions {
			if s := dot(v, w); s > most[i] {
				most[i], peaks[i].at = s, j
			}
		}
	}
}
