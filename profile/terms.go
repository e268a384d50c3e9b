package profile

import (
	"slices"

	"concordat"
)

// The windows of a check are stretches of 450 letters, which are three to four sentences, beginning every 300 letters
// (doc/evaluation/retrieval.md: longer windows cost recall, and shorter windows yield more candidates). A Chinese character counts as
// three letters. A text with more than maxWindows such steps gets longer steps, so that the cost of a check remains bounded.
const (
	windowLetters = 450
	windowStep    = 300
	unitLetters   = 150 // divides both
	maxWindows    = 2000
)

// terms returns the distinct terms of the whole text.
func (s *scratch) terms() []concordat.TermCount {
	s.found = s.text.Terms(0, len(s.text.Words), s.text.Language(), s.found[:0])
	return s.counted(s.found)
}

// counted returns the distinct terms of ts, ascending. It sorts ts.
func (s *scratch) counted(ts []uint32) []concordat.TermCount {
	s.sorted = sortTerms(ts, s.sorted)
	distinct := 0
	for i := range ts {
		if i == 0 || ts[i] != ts[i-1] {
			distinct++
		}
	}
	if distinct == 0 {
		return nil
	}
	out := make([]concordat.TermCount, 0, distinct)
	for i, t := range ts {
		if i > 0 && t == ts[i-1] {
			out[len(out)-1].Count++
			continue
		}
		out = append(out, concordat.TermCount{Term: concordat.Term(t), Count: 1})
	}
	return out
}

// radixLeast is the minimum number of terms for which radix sort is faster than comparison sort.
const radixLeast = 64

// sortTerms sorts ts by bytes, least significant first (Knuth, TAOCP 3, 5.2.5, algorithm R). It uses room as memory and returns it,
// enlarged if necessary.
func sortTerms(ts, room []uint32) []uint32 {
	if len(ts) < radixLeast {
		slices.Sort(ts)
		return room
	}
	var counts [4][256]uint32
	for _, t := range ts {
		counts[0][t&255]++
		counts[1][t>>8&255]++
		counts[2][t>>16&255]++
		counts[3][t>>24]++
	}
	room = slices.Grow(room[:0], len(ts))[:len(ts)]
	from, to := ts, room
	for b := range counts {
		at := uint32(0)
		for i, n := range counts[b] {
			counts[b][i] = at
			at += n
		}
		for _, t := range from {
			place := &counts[b][t>>(8*b)&255]
			to[*place] = t
			*place++
		}
		from, to = to, from
	}
	return room // after four rounds ts is sorted
}

// windows returns the terms of each window of the text outside the excluded sections.
func (s *scratch) windows(sections []concordat.Section, excluded []bool) [][]concordat.TermCount {
	words := s.text.Words
	letters := 0
	for i := range words {
		letters += words[i].Letters()
	}
	unit := max(unitLetters, letters/maxWindows*unitLetters/windowStep)
	language := s.text.Language()
	s.found = s.found[:0]
	starts := []int{0} // offsets in s.found at which units begin
	length, section := 0, 0
	for i := range words {
		for section < len(sections) && sections[section].Span.End <= int(words[i].Start) {
			section++
		}
		if section < len(sections) && excluded[section] && sections[section].Span.Start <= int(words[i].Start) {
			continue
		}
		s.found = s.text.Terms(i, i+1, language, s.found)
		if length += words[i].Letters(); length >= unit {
			starts = append(starts, len(s.found))
			length = 0
		}
	}
	if length > 0 {
		starts = append(starts, len(s.found))
	}
	out := [][]concordat.TermCount{}
	for i := 0; i+1 < len(starts); i += windowStep / unitLetters {
		end := min(i+windowLetters/unitLetters, len(starts)-1)
		if ts := s.counted(slices.Clone(s.found[starts[i]:starts[end]])); ts != nil {
			out = append(out, ts)
		}
		if end == len(starts)-1 {
			break
		}
	}
	return out
}
