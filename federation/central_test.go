package federation_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"concordat"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// found is a hit with its document, from any site.
type found struct {
	sentence int
	title    string
	ordinal  int
	close    concordat.Closeness
}

func collect(t *concordat.SiteAnswer) []found {
	var all []found
	for _, h := range t.Hits {
		all = append(all, found{h.Sentence, t.Documents[h.Document].Title, h.Ordinal, h.Closeness})
	}
	return all
}

func sorted(all []found) []found {
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(a.sentence-b.sentence, cmp.Compare(a.title, b.title), a.ordinal-b.ordinal, int(a.close)-int(b.close))
	})
	return all
}

// TestFederatedEqualsCentral: however the documents are distributed, the sites of a federation together find the same in their parts of a
// collection as one site finds in the whole.
func TestFederatedEqualsCentral(t *testing.T) {
	r := newRand(t)
	central := library(r, "Thesis", 24, 12)
	const sites = 5
	for round := range 4 {
		answerers := []concordat.Answerer{&scan{}}
		dealt := make([]*part, sites)
		for i := range dealt {
			dealt[i] = &part{}
			dealt[i].level, dealt[i].title = concordat.ShowMetadata, central.title
			answerers = append(answerers, dealt[i])
		}
		for d, prints := range central.documents {
			p := dealt[r.IntN(sites)]
			p.documents, p.numbers = append(p.documents, prints), append(p.numbers, d)
		}
		f := fedtest.Join(t, scheme, answerers...)
		a := submission(r, central, 30+40*round)
		whole, err := central.Answer(t.Context(), "", a)
		if err != nil {
			t.Fatal(err)
		}
		var got []found
		for tell, err := range federation.Gather(t.Context(), federation.Group[*federation.Client]{Partners: f.Partners(0)},
			func(ctx context.Context, p *federation.Client) (*concordat.SiteAnswer, error) {
				return p.Ask(ctx, a)
			}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, collect(tell.Value)...)
		}
		if want := sorted(collect(whole)); !slices.Equal(sorted(got), want) {
			t.Errorf("round %d: %d sites find %d matches, one finds %d", round, sites, len(got), len(want))
		}
	}
}

// part is a scan of some documents of a collection, under their numbers in the collection.
type part struct {
	scan
	numbers []int
}

func (p *part) Answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	t, err := p.scan.Answer(ctx, from, a)
	if err != nil {
		return nil, err
	}
	for i, d := range t.Documents {
		for own, number := range p.numbers {
			if handleOf(own) == d.Handle {
				t.Documents[i].Title = titleOf(p.title, number)
			}
		}
	}
	return t, nil
}

// TestRestartOfPartner: a call during the partner's restart is answered after the restart.
func TestRestartOfPartner(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 2, 10)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	c := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Tries: 6})
	if _, err := c.Ask(t.Context(), submission(r, answers, 5)); err != nil {
		t.Fatal(err)
	}
	f.Sites[1].Stop()
	done := make(chan error, 1)
	a := submission(r, answers, 5)
	go func() {
		_, err := c.Ask(t.Context(), a)
		done <- err
	}()
	f.Sites[1].Restart(t)
	if err := <-done; err != nil {
		t.Errorf("during a restart: %v", err)
	}
	if n := answers.asked(); n != 2 {
		t.Errorf("%d asks ran, want 2", n)
	}
}
