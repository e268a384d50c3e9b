package eval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/internal/corpora"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// shortTexts returns distinct real short texts of 8 to 39 letters: questions in Chinese, or short
// sentences of English reviews.
func shortTexts(t *testing.T, chinese bool, most int) []string {
	t.Helper()
	var out []string
	seen := map[string]bool{}
	add := func(s string) {
		s = strings.TrimSpace(s)
		n := 0
		for _, r := range s {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
		key := strings.ToLower(s)
		if n >= 8 && n < 40 && !seen[key] && len(out) < most {
			seen[key] = true
			out = append(out, s)
		}
	}
	if !chinese {
		for _, d := range corpora.Reviews(t, 30_000) {
			for _, s := range strings.FieldsFunc(d.Text, func(r rune) bool { return strings.ContainsRune(".!?\n<>", r) }) {
				add(s)
			}
		}
		return out
	}
	for _, name := range []string{"lcqmc", "bq-corpus", "oppo"} {
		corpora.Lines(t, "zh-sentence-pairs/"+name+".tsv.gz", func(line string) bool {
			for _, s := range strings.Split(line, "\t")[:2] {
				add(s)
			}
			return true
		})
	}
	return out
}

// edit returns s with n letters substituted, deleted or inserted, or with each kind of edit in turn.
func edit(rnd *rand.Rand, s string, kind string, n int) string {
	rs := []rune(s)
	fill := []rune("etaoinshrdlu")
	if !utf8.ValidString(s) || unicode.Is(unicode.Han, rs[0]) || strings.ContainsFunc(s,
		func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		fill = []rune("有这中大来上国个到说们为子和你地出道也时年得就那要下以生会")
	}
	for range n {
		i := rnd.IntN(len(rs))
		r := fill[rnd.IntN(len(fill))]
		switch kind {
		case "substituted":
			rs[i] = r
		case "deleted":
			rs = append(rs[:i:i], rs[i+1:]...)
		case "inserted":
			rs = append(rs[:i:i], append([]rune{r}, rs[i:]...)...)
		}
	}
	return string(rs)
}

// TestShortTexts measures the short-text path: the recall of edited short texts among all of them, other results, and the cost
// of the index (doc/evaluation/short.md). It runs with CONCORDAT_EVAL=all.
func TestShortTexts(t *testing.T) {
	if os.Getenv("CONCORDAT_EVAL") != "all" {
		t.Skip("CONCORDAT_EVAL is not all: the short texts take most of a minute")
	}
	for _, language := range []string{"chinese", "english"} {
		texts := shortTexts(t, language == "chinese", 30_000)
		dir := t.TempDir()
		b, err := NewBench(t.Context(), dir, profile.Natural)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		shortCost(t, language, texts)
		var docs []Doc
		for i, s := range texts {
			docs = append(docs, Doc{fmt.Sprint(i), s})
		}
		if err := b.Add(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		for _, threshold := range []float64{0.5, 0.6, 0.7} {
			for _, e := range []struct {
				kind string
				n    int
			}{{"substituted", 1}, {"deleted", 1}, {"inserted", 1}, {"substituted", 2}} {
				shortRecall(t, b, language, texts, threshold, e.kind, e.n)
			}
		}
	}
}

func shortRecall(t *testing.T, b *Bench, language string, texts []string, threshold float64, kind string, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	asked, found, others := 0, 0, 0
	before := processTime()
	for range 20 {
		var pieces, ids []string
		for range 10 {
			i := rnd.IntN(len(texts))
			pieces, ids = append(pieces, edit(rnd, texts[i], kind, n)), append(ids, fmt.Sprint(i))
		}
		f, err := b.Site.Check(t.Context(), site.Submission{ID: "s", Text: strings.Join(pieces, "\n\n")},
			site.CheckOptions{Short: true, ShortThreshold: threshold})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Short.Pieces) != len(pieces) {
			continue // an edit joined two pieces, or made one too short
		}
		hit := map[int]bool{}
		for _, m := range f.Short.Matches {
			if string(m.Source.Document) == ids[m.Piece] {
				hit[m.Piece] = true
			} else {
				others++
			}
		}
		asked, found = asked+len(pieces), found+len(hit)
	}
	took := processTime() - before
	t.Logf("%s, %d texts, threshold %.1f, %d %s: recall %.3f of %d, %.1f others each; %.1f ms of CPU a text, the rest of the check included",
		language, len(texts), threshold, n, kind, float64(found)/float64(max(asked, 1)), asked, float64(others)/float64(max(asked, 1)),
		took.Seconds()*1e3/200)
	if threshold <= 0.5 && n == 1 && float64(found) < 0.95*float64(asked) {
		t.Errorf("recall %d of %d", found, asked)
	}
}

// shortCost measures the catalogue rows added by documents of ten short texts each, with and without their pieces.
func shortCost(t *testing.T, language string, texts []string) {
	t.Helper()
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rows []store.DocumentRow
	for i := 0; i+10 <= len(texts); i += 10 {
		d := concordat.Document{ID: concordat.DocumentID(fmt.Sprint(i)), Text: strings.Join(texts[i:i+10], "\n\n")}
		prof, err := p.ForIndex(d)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, store.DocumentRow{Library: "a", ID: d.ID, Hash: "h", Scheme: p.Scheme(), Short: site.ShortPieces(prof)})
	}
	size := map[bool]int64{}
	for _, with := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "site.db")
		db, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		before := processTime()
		for i := 0; i < len(rows); i += 200 {
			batch := append([]store.DocumentRow(nil), rows[i:min(len(rows), i+200)]...)
			if !with {
				for k := range batch {
					batch[k].Short = nil
				}
			}
			if err := db.Catalogue.PutDocuments(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		took := processTime() - before
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size[with] = info.Size()
		t.Logf("%s, %d documents of ten short texts, noted %v: %.3f ms of CPU a document", language, len(rows), with,
			took.Seconds()*1e3/float64(len(rows)))
	}
	t.Logf("%s: %.0f bytes a distinct short text", language, float64(size[true]-size[false])/float64(10*len(rows)))
}
