package instance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/meaning"
	"concordat/site"
	"concordat/store"
)

// glass and chess share no content words, but the model of modelServer gives them the same vectors.
var (
	glass = []string{"The guild of glass workers moved its furnaces to the island because officials were afraid of fire.",
		"No apprentice was allowed to leave the lagoon, as the recipe of the red glass was a secret of the state.",
		"Merchants from the north paid for mirrors with silver and waited for months until a ship could sail.",
		"When the plague came, half of the workshops closed and the price of window panes rose without limit."}
	chess = []string{"Grandmasters prepare their openings with engines nowadays and rarely improvise before move fifteen.",
		"Our tournament hall in Reykjavik offers every player a lamp, a bottle of water and a comfortable chair.",
		"Juniors usually lose on time rather than through blunders, so coaches teach them to handle the clock.",
		"After an adjournment both teams analyse the endgame all night and hardly anybody gets enough sleep."}
)

// modelServer serves a model with the table's vectors, except that it treats chess as glass. It fails while broken is set.
func modelServer(t *testing.T) (url string, asked *atomic.Int64, broken *atomic.Bool) {
	t.Helper()
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	asked, broken = new(atomic.Int64), new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || broken.Load() {
			http.Error(w, "broken", http.StatusBadRequest)
			return
		}
		type vector struct {
			Embedding meaning.Vector `json:"embedding"`
		}
		var out struct {
			Data []vector `json:"data"`
		}
		e := meaning.NewEncoder(table)
		for _, text := range q.Input {
			asked.Add(1)
			if i := slices.Index(chess, text); i >= 0 {
				text = glass[i]
			}
			var s meaning.Sentence
			e.Encode(text, &s)
			s.Mean[0] += 1e-6 // never of length 0
			out.Data = append(out.Data, vector{s.Mean})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked, broken
}

// TestFileVectors: with meaning.index: encoder, each document gets the encoder's vectors, and with these a check finds a source that the
// table does not nominate. Interrupted work resumes; deleted and replaced documents are deleted from the index too; a different encoder
// or setting removes the index completely.
func TestFileVectors(t *testing.T) {
	url, asked, broken := modelServer(t)
	dir := create(t)
	t.Setenv("CONCORDAT_MEANING_ENCODER_URL", url)
	t.Setenv("CONCORDAT_MEANING_ENCODER_MODEL", "glassy")
	t.Setenv("CONCORDAT_MEANING_INDEX", "encoder")
	o := open(t, dir, instance.WithIndex)
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	ingest := func(texts map[string]string) {
		t.Helper()
		err := o.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
			for id, text := range texts {
				if !yield(site.Incoming{ID: concordat.DocumentID(id), Text: text}, nil) {
					return
				}
			}
		}, func(site.Ingested) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	texts := map[string]string{"glass": strings.Join(glass, " ")}
	for i, s := range meaning.Samples() {
		if s.Language == "en" {
			texts[fmt.Sprint("sample-", i)] = s.Text
		}
	}
	ingest(texts)
	log := slog.New(slog.DiscardHandler)
	file := func() (done, all int, err error) {
		t.Helper()
		err = o.Encoding.FileVectors(t.Context(), log, func(d, a int) { done, all = d, a })
		return done, all, err
	}
	leads := func() []string {
		t.Helper()
		f, err := o.Site.Check(t.Context(), site.Submission{ID: "chess", Text: strings.Join(chess, " ")}, site.CheckOptions{Leads: true})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, l := range f.Leads {
			out = append(out, string(l.Source.Document))
		}
		return out
	}
	if o.Encoding.Vectors() != nil {
		t.Error("there is an index before it is made")
	}
	if got := leads(); len(got) > 0 {
		t.Fatalf("the table nominates %v, so this test shows nothing", got)
	}
	if done, all, err := file(); err != nil || done != len(texts) || all != len(texts) || o.Encoding.Vectors().Count() != len(texts) {
		t.Fatalf("%d of %d documents, want %d; %v", done, all, len(texts), err)
	}
	if got := leads(); !slices.Contains(got, "glass") {
		t.Errorf("leads to %v, want one to glass", got)
	}

	// Delete and replace documents.
	ref := func(id string) concordat.Ref { return o.Site.Ref("theses", concordat.DocumentID(id)) }
	if err := o.Index.Delete(t.Context(), ref("sample-0")); err != nil {
		t.Fatal(err)
	}
	ingest(map[string]string{"sample-1": "The ferry to the mainland was cancelled in the storm, so that everyone missed the wedding."})
	if err := o.Store.Catalogue.DeleteDocuments(t.Context(), "theses", "sample-0"); err != nil {
		t.Fatal(err)
	}
	held := o.Encoding.Vectors().Held()
	if _, ok := held[ref("sample-0")]; ok || len(held) != len(texts)-2 {
		t.Errorf("%d documents are held after a deletion and a replacement, want %d", len(held), len(texts)-2)
	}
	select {
	case <-o.Encoding.Changed():
	default:
		t.Error("an addition is not told")
	}

	// Interrupt the work and start again.
	broken.Store(true)
	if _, _, err := file(); err == nil {
		t.Error("a broken encoder is no error")
	}
	broken.Store(false)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = open(t, dir, instance.WithIndex)
	before := asked.Load()
	if done, all, err := file(); err != nil || done != 1 || all != 1 {
		t.Errorf("after a new start: %d of %d documents; %v", done, all, err)
	}
	if n := asked.Load() - before; n > 20 {
		t.Errorf("%d sentences were encoded for two new ones and the probes", n)
	}
	if got := leads(); !slices.Contains(got, "glass") {
		t.Errorf("after a new start: leads to %v, want one to glass", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Encoding.FileVectors(ended, log, func(int, int) {}); err == nil {
		t.Error("an ended context is no error")
	}

	// Use a different encoder, then a different setting.
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONCORDAT_MEANING_ENCODER_MODEL", "other")
	o = open(t, dir, instance.WithIndex)
	if x := o.Encoding.Vectors(); x != nil {
		t.Errorf("another model takes the index of the former one, with %d documents", x.Count())
	}
	if _, all, err := file(); err != nil || all != len(texts)-1 {
		t.Errorf("another model: %d documents to do, want %d; %v", all, len(texts)-1, err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONCORDAT_MEANING_INDEX", "true")
	o = open(t, dir, instance.WithIndex)
	if _, err := os.Stat(filepath.Join(dir, instance.VectorsName)); !os.IsNotExist(err) {
		t.Errorf("switched off, the folder stays: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}
