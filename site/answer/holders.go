package answer

import (
	"bytes"
	"cmp"
	"slices"

	"concordat"
	"concordat/align/wording"
)

// order sorts documents and hits as a SiteAnswer requires.
func order(t *concordat.SiteAnswer) {
	if len(t.Documents) == 0 {
		return
	}
	at := make([]int, len(t.Documents))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		a, b := &t.Documents[i], &t.Documents[j]
		return cmp.Or(cmp.Compare(b.Matches, a.Matches), bytes.Compare(a.Handle[:], b.Handle[:]))
	})
	documents := make([]concordat.DocumentAnswer, len(at))
	place := make([]int, len(at))
	for to, from := range at {
		documents[to], place[from] = t.Documents[from], to
	}
	t.Documents = documents
	for i := range t.Hits {
		t.Hits[i].Document = place[t.Hits[i].Document]
	}
	slices.SortFunc(t.Hits, func(a, b concordat.Hit) int {
		return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(b.Closeness, a.Closeness),
			cmp.Compare(a.Document, b.Document), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

// leastHolders is the minimum number of documents that must contain a sentence for an answer to state their number roughly, including
// documents closed to the asker.
const leastHolders = wording.Absolute + 1

// countHolders sets the number of documents containing each disclosed sentence.
func countHolders(t *concordat.SiteAnswer) {
	told := map[int]map[int]bool{} // documents by sentence
	for _, h := range t.Hits {
		if told[h.Sentence] == nil {
			told[h.Sentence] = map[int]bool{}
		}
		told[h.Sentence][h.Document] = true
	}
	for i := range t.Hits {
		h := &t.Hits[i]
		if h.Documents < leastHolders {
			h.Documents = min(h.Documents, len(told[h.Sentence]))
			continue
		}
		unit := 1
		for ; h.Documents/unit >= 10; unit *= 10 {
		}
		h.Documents = max(h.Documents-h.Documents%unit, leastHolders)
	}
}
