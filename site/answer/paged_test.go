package answer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// TestPageOfMany: if many documents of a library contain a page, this is reported to a partner that asks about the page, and the partner
// decides whether it counts. A sentence or two in as many documents is not reported. If more than wording.Absolute documents contain it,
// the answer names one more than that and states the total.
func TestPageOfMany(t *testing.T) {
	for _, c := range []struct{ documents, holders, sentences, want int }{
		{12, 8, 6, 8}, {12, 8, 2, 0}, {40, 10, 6, 10}, {40, 10, 2, 0}, {60, 30, 6, wording.Absolute + 1}, {60, 30, 2, 0}, {60, 5, 6, 5},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, uint64(c.documents)))
			o := sitetest.NewOwner(t, "theses")
			page := some(rng, c.sentences)
			var in []site.Incoming
			for i := range c.documents {
				text := some(rng, 8)
				if i < c.holders {
					text = some(rng, 4) + page + some(rng, 4)
				}
				in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("d", i)), Title: fmt.Sprint("T", i), Text: text})
			}
			o.AddDocuments(t, "theses", in...)
			o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: store.Limits{Documents: -1, Disclosures: -1}})
			got := o.Told(t, "north", o.Question(t, some(rng, 4)+page+some(rng, 4), concordat.ShowMetadata, "theses"))
			if len(got.Documents) != c.want {
				t.Fatalf("%d documents are told, want %d", len(got.Documents), c.want)
			}
			for _, h := range got.Hits {
				if h.Documents < min(c.holders, wording.Absolute+1) {
					t.Errorf("a sentence of the page is said to be held by %d documents", h.Documents)
				}
			}
		})
	}
}

// some returns n sentences.
func some(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(madeUp(rng))
	}
	return b.String()
}
