package sitetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// Prose returns n sentences; texts of different seeds share no sentences.
func Prose(seed uint64, n int) string {
	words := strings.Fields(`amber bastion candle drover ember ferry granary harbour inlet juniper kiln lantern meadow north orchard pebble quarry
		ridge saddle timber upland valley willow yeoman abbey barrel cellar dairy estuary forge gable hedge island jetty keeper ledger miller nettle
		oven parish quill river smithy tannery umber vintner weaver yard alder bridge copper dusk elm flint gorse heron iron jackdaw kelp lichen moor`)
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for i := range n {
		for j := range 14 {
			w := words[r.IntN(len(words))]
			if j == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			}
			b.WriteString(w + string(rune('a'+r.IntN(26))) + " ")
		}
		b.WriteString("stood there. ")
		if i%4 == 3 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// BatchParts is a batch of texts by file name; an empty text represents an unreadable file.
type BatchParts struct {
	*Parts
	BatchID      string
	texts        map[string]string
	Index        concordat.Index
	BatchOptions batch.Options

	mu   sync.Mutex
	Read map[string]int // number of times that each file was read
}

// NewBatch creates a batch of texts in the given order; its index is in a folder of the test.
func NewBatch(t *testing.T, p *Parts, texts map[string]string, order []string, j batch.Job) *BatchParts {
	t.Helper()
	b, err := batch.New("Call", "ann", "test", j, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var inputs []store.BatchInput
	for _, name := range order {
		inputs = append(inputs, store.BatchInput{Name: name, Place: name})
	}
	batch.UniqueNames(inputs)
	if err := p.Store.Batches.CreateBatch(t.Context(), b, inputs); err != nil {
		t.Fatal(err)
	}
	shard, err := index.Open(filepath.Join(t.TempDir(), "batch"), index.Options{Site: "here", Scheme: p.Profiler.Scheme(), Shard: "00"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shard.Close() })
	out := &BatchParts{Parts: p, BatchID: b.ID, texts: texts, Index: shard, Read: map[string]int{}}
	out.BatchOptions = batch.Options{Store: p.Store, Index: shard,
		Read: func(_ context.Context, in store.BatchInput) ([]site.Item, error) {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.Read[in.Place]++
			if texts[in.Place] == "" {
				return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(in.Name)},
					Err: errors.New("damaged: it ends in the middle")}}, nil
			}
			return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(in.Name), Text: texts[in.Place]}, Author: "Computer"}}, nil
		},
		Options: func(context.Context, batch.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{}, nil, nil
		},
	}
	return out
}

// Run runs the batch until it is complete.
func (b *BatchParts) Run(t *testing.T) *batch.View {
	t.Helper()
	if err := batch.Run(t.Context(), b.Site, b.BatchID, b.BatchOptions); err != nil {
		t.Fatal(err)
	}
	return b.View(t)
}

// View returns the batch in its current state.
func (b *BatchParts) View(t *testing.T) *batch.View {
	t.Helper()
	v, err := batch.Open(t.Context(), b.Store, b.BatchID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Said lists the pairs of a batch in a form that does not depend on the numbers of its members.
func Said(v *batch.View) (out []string) {
	for _, p := range v.PairLines() {
		out = append(out, fmt.Sprintf("%s %s %.4f %.4f %s", p.A, p.B, p.ShareA, p.ShareB, p.Reason))
	}
	slices.Sort(out)
	return out
}

// Twins returns six documents: b copies half of a, d copies part of c with changes, e shares nothing with the others, and f is
// unreadable.
func Twins() map[string]string {
	a, c := Prose(1, 24), Prose(3, 24)
	changed := strings.ReplaceAll(c[:len(c)/2], "stood there", "were found near")
	return map[string]string{"a.txt": a, "b.txt": Prose(2, 12) + "\n\n" + a[:len(a)/2], "c.txt": c, "d.txt": changed + Prose(4, 14),
		"e.txt": Prose(5, 20), "f.txt": ""}
}

// Quoted returns three documents: a and b share a quotation, and b and c share a sentence that is not quoted.
func Quoted() map[string]string {
	quotation, sentence := "\n\n\""+strings.TrimSpace(Prose(1, 3))+"\"\n\n", Prose(2, 4)
	return map[string]string{"a.txt": strings.ReplaceAll(Prose(3, 2), "stood there", "lay by") + quotation, "b.txt": Prose(4, 2) +
		quotation + sentence, "c.txt": sentence + Prose(5, 1)}
}
