package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"concordat"
)

// Boilerplate is a sentence found in several documents of a library.
type Boilerplate struct {
	Documents int                  `json:"documents"`
	AtLeast   bool                 `json:"at_least,omitempty"` // some documents may be missing from the count
	Text      string               `json:"text"`
	Example   concordat.DocumentID `json:"example"` // first document that contains it
}

// BoilerplateOptions select the sentences to list.
type BoilerplateOptions struct {
	Least    int            // minimum number of documents; the default is 3
	Most     int            // maximum number of sentences; the default is 50
	Progress func(done int) // called with the number of documents read; can be nil
}

// countWindow is the number of sentences after which rare ones are dropped.
const countWindow = 1_000_000

// Boilerplate returns the sentences that occur in several documents of a library, ordered by number of documents, largest first, then by
// text. It reads every document once. Sentences with equal fingerprints are considered equal.
//
// Counting is lossy (Manku and Motwani 2002, section 4.2). After each million sentences, it drops those that cannot occur in more
// documents than the number of millions so far, which bounds memory. For libraries of up to a million sentences, every count is exact.
func (s *Site) Boilerplate(ctx context.Context, lib concordat.LibraryID, o BoilerplateOptions) ([]Boilerplate, error) {
	if _, err := s.o.Store.Catalogue.Library(ctx, lib); err != nil {
		return nil, fmt.Errorf("library %s: %w", lib, err)
	}
	c := &counter{seen: map[concordat.Fingerprint]*counted{}, window: countWindow}
	done := 0
	for after := concordat.DocumentID(""); ; {
		rows, err := s.o.Store.Catalogue.Documents(ctx, lib, after, DeletePage)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			d, err := s.o.Index.Document(ctx, s.Ref(lib, row.ID))
			if errors.Is(err, concordat.ErrNotFound) {
				continue // deleted in the meantime
			}
			if err != nil {
				return nil, err
			}
			p, err := s.o.Profiler.ForIndex(*d)
			if err != nil {
				return nil, err
			}
			c.add(p)
			if done++; o.Progress != nil {
				o.Progress(done)
			}
		}
		if len(rows) < DeletePage {
			return c.most(cmp.Or(o.Least, 3), cmp.Or(o.Most, 50)), nil
		}
		after = rows[len(rows)-1].ID
	}
}

// counter counts the documents that contain each sentence.
type counter struct {
	seen      map[concordat.Fingerprint]*counted
	sentences int
	buckets   int // number of completed windows
	window    int
}

type counted struct {
	documents int
	missed    int // upper bound on the documents that contained it before it was last added
	text      string
	example   concordat.DocumentID
	last      concordat.DocumentID
}

// longestExample is the maximum length of a stored sentence, in bytes.
const longestExample = 1000

func (c *counter) add(p *concordat.Profile) {
	for _, x := range p.Indexed {
		if c.sentences++; c.sentences%c.window == 0 {
			c.forget()
		}
		k := c.seen[x.Fingerprint]
		if k == nil {
			text := x.Span.In(p.Document.Text)
			if len(text) > longestExample {
				text = text[:longestExample]
			}
			k = &counted{missed: c.buckets, text: strings.Clone(strings.ToValidUTF8(text, "")), example: p.Document.ID}
			c.seen[x.Fingerprint] = k
		} else if k.last == p.Document.ID {
			continue
		}
		k.documents++
		k.last = p.Document.ID
	}
}

func (c *counter) forget() {
	c.buckets++
	for f, k := range c.seen {
		if k.documents+k.missed <= c.buckets {
			delete(c.seen, f)
		}
	}
}

func (c *counter) most(least, most int) []Boilerplate {
	var out []Boilerplate
	for _, k := range c.seen {
		if k.documents >= least {
			out = append(out, Boilerplate{k.documents, k.missed > 0, k.text, k.example})
		}
	}
	slices.SortFunc(out, func(a, b Boilerplate) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Text, b.Text))
	})
	return out[:min(len(out), most)]
}
