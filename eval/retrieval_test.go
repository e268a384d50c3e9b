package eval

import (
	"os"
	"path"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/corpora"
	"concordat/profile"
	"concordat/site"
)

// nominations counts over the pairs of documents that share a passage.
type nominations struct {
	pairs, found         map[string]int // by kind of disguise
	candidates, searched int
}

// TestPANNomination: every suspicious document of PAN 2013 among all sources. A pair counts as found
// if the source is among the documents whose text a check compares. CONCORDAT_LONG=1 asks for it.
func TestPANNomination(t *testing.T) {
	if os.Getenv("CONCORDAT_LONG") != "1" {
		t.Skip("CONCORDAT_LONG is not 1: all of PAN 2013 takes most of a minute")
	}
	var library, susp []Doc
	truth := map[string]map[string]string{} // submission, source: kind
	for _, d := range corpora.Tar(t, "pan13-train/pan13-train.tar.zst", "") {
		dir, name := path.Split(d.Name)
		switch {
		case dir == "src/":
			library = append(library, Doc{name, d.Text})
		case dir == "susp/":
			susp = append(susp, Doc{name, d.Text})
		case strings.HasSuffix(name, ".xml"):
			found, err := ReadPAN(strings.NewReader(d.Text), truthFeature)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range found {
				if truth[a.Susp] == nil {
					truth[a.Susp] = map[string]string{}
				}
				truth[a.Susp][a.Source] = path.Clean(dir)
			}
		}
	}
	b, err := NewBench(t.Context(), t.TempDir(), profile.Natural)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Add(t.Context(), library); err != nil {
		t.Fatal(err)
	}
	for _, channel := range []site.Channel{site.ChannelFingerprints, site.ChannelText, site.ChannelBoth} {
		n := nominations{pairs: map[string]int{}, found: map[string]int{}}
		before := processTime()
		for _, d := range susp {
			cs, err := b.Site.Nominate(t.Context(), site.Submission{ID: concordat.DocumentID(d.ID), Text: d.Text}, site.CheckOptions{Channel: channel})
			if err != nil {
				t.Fatal(err)
			}
			n.count(cs, truth[d.ID])
		}
		took := processTime() - before
		recall := float64(n.found[""]) / float64(max(n.pairs[""], 1))
		each := float64(n.candidates) / float64(max(n.searched, 1))
		t.Logf("channel %q: %d of %d pairs, recall %.4f, at %.1f candidates; %.1f ms of CPU for each of %d submissions", channel, n.found[""], n.pairs[""], recall, each, took.Seconds()*1e3/float64(len(susp)), len(susp))
		for kind, all := range n.pairs {
			if kind != "" {
				t.Logf("  %-28s %.3f of %d", kind, float64(n.found[kind])/float64(all), all)
			}
		}
		if channel == site.ChannelBoth && (recall < 0.988 || each > 30) {
			t.Errorf("recall %.4f at %.1f candidates, want 0.988 at no more than 30", recall, each)
		}
	}
}

func (n *nominations) count(cs []site.Candidate, truth map[string]string) {
	n.searched++
	n.candidates += len(cs)
	for _, kind := range truth {
		n.pairs[kind]++
		n.pairs[""]++
	}
	for _, c := range cs {
		if kind, ok := truth[string(c.Source.Document)]; ok {
			n.found[kind]++
			n.found[""]++
		}
	}
}
