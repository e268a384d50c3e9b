package screening

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
)

// abroad queries other sites during a screening.
type abroad struct {
	options site.CheckOptions
	names   map[concordat.SiteID]string
	end     func()
}

// abroadAtOnce is the number of texts sent to partners concurrently.
const abroadAtOnce = 4

// openAbroad opens the partners in f and the site's mirrors of them. It replaces the values of f.Partners with the libraries to query, so
// that a change in a catalogue leads to a different screening.
func (a *commands) openAbroad(ctx context.Context, o *instance.Instance, f *screenFlags) (*abroad, error) {
	c := partners.Comparison{Partners: f.Partners, Level: concordat.ShowMetadata, Purpose: f.Purpose, Deadline: f.deadline}
	out := &abroad{names: map[concordat.SiteID]string{}}
	_, end, err := c.AddTo(ctx, &out.options, o, a.PartnerOptions(o))
	if err != nil {
		return nil, err
	}
	out.end = end
	wanted := map[concordat.SiteID]bool{}
	var asked []string
	for _, p := range out.options.Partners {
		wanted[p.Partner.Site()] = true
		out.names[p.Partner.Site()] = p.Name
		for _, l := range p.Libraries {
			asked = append(asked, fmt.Sprintf("%s/%s of %s", p.Partner.Site(), l, p.Epoch))
		}
	}
	// Do not use a mirror of a partner that was not selected.
	mine, err := wantedMirrors(ctx, o, a, f.Partners, out.options.Mirrors)
	if err != nil {
		end()
		return nil, err
	}
	out.options.Mirrors = mine
	for _, m := range mine {
		asked = append(asked, fmt.Sprintf("mirror %s/%s of %s", m.Site, m.Library, m.Epoch))
	}
	templates, err := o.Store.Catalogue.Templates(ctx, concordat.LibraryID(f.Library))
	if err != nil {
		end()
		return nil, err
	}
	for _, t := range templates {
		if t.Counts {
			continue
		}
		out.options.Templates = append(out.options.Templates, report.Template{Name: t.Name, Text: t.Text})
	}
	if len(asked) == 0 {
		end()
		return nil, cli.Usagef("--partner: found no library to compare with; to list the libraries that partners share, run concordat peer libraries")
	}
	slices.Sort(asked)
	f.Partners = asked
	return out, nil
}

// wantedMirrors returns the mirrors of libraries named by values of --partner.
func wantedMirrors(ctx context.Context, o *instance.Instance, a *commands, values []string,
	all []site.MirroredLibrary) ([]site.MirroredLibrary, error) {
	if len(all) == 0 {
		return nil, nil
	}
	c, err := a.Partners(ctx, o)
	if err != nil {
		return nil, err
	}
	want, err := c.WantedPartners(ctx, values)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(m site.MirroredLibrary) bool {
		return !slices.ContainsFunc(want, func(w partners.Wanted) bool {
			return w.Partner.Site == m.Site && (len(w.Libraries) == 0 || slices.Contains(w.Libraries, m.Library))
		})
	}), nil
}

func (x *abroad) close() {
	if x != nil {
		x.end()
	}
}

// abroadUnit is a record of work.found with the partners' answers about one text.
type abroadUnit struct {
	Text      int                   `json:"text"`
	Documents []ask.MatchedDocument `json:"documents,omitempty"`
	Refused   []string              `json:"refused,omitempty"` // libraries that permanently refuse, with the reason
	Hidden    bool                  `json:"hidden,omitempty"`  // something matches but is not disclosed
	Withheld  int                   `json:"withheld,omitempty"`
	Sent      int                   `json:"sent,omitempty"` // the number of sentences sent
}

// matchPartners queries partners about the remaining texts, and stops if a partner is temporarily unable to answer.
func (s *screening) matchPartners(ctx context.Context) error {
	done := map[int]*abroadUnit{}
	err := s.work.found.replay(func(b []byte, _ int64) bool {
		var u abroadUnit
		if json.Unmarshal(b, &u) != nil || u.Text < 0 || u.Text >= len(s.texts) {
			return false
		}
		done[u.Text] = &u
		return true
	})
	if err != nil {
		return err
	}
	b := s.app.Progress(int64(len(s.texts)), "asking")
	defer b.Done()
	b.Add(len(done))
	var todo []int
	for text := range s.texts {
		if done[text] == nil && !s.texts[text].blank {
			todo = append(todo, text)
		}
	}
	var mu sync.Mutex // protects done
	var stop atomic.Bool
	// If one question fails, wait for the others, since they are already paid for.
	g := new(errgroup.Group)
	g.SetLimit(abroadAtOnce)
	for _, text := range todo {
		if stop.Load() {
			break
		}
		g.Go(func() error {
			u, err := s.askAbroad(ctx, text)
			if err != nil {
				stop.Store(true)
				return err
			}
			record, err := json.Marshal(u)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done[text] = u
			b.Add(1)
			if _, err := s.work.found.append(record); err != nil {
				return err
			}
			return s.work.found.flush()
		})
	}
	if err := g.Wait(); err != nil {
		return s.unfinished(ctx, err, len(done))
	}
	return s.takeAbroad(done)
}

// errLater means that a partner cannot answer yet.
var errLater = errors.New("a partner cannot answer yet")

// unfinished returns an error that includes the number of questions asked.
func (s *screening) unfinished(ctx context.Context, err error, done int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errLater) {
		return fmt.Errorf("%w: %w; partners have been asked about %d of %d texts; repeat the command to continue", concordat.ErrUnavailable,
			err, done, s.sum.Compared)
	}
	return err
}

// askAbroad queries partners about one text.
func (s *screening) askAbroad(ctx context.Context, text int) (*abroadUnit, error) {
	body, err := s.body(text, nil)
	if err != nil {
		return nil, err
	}
	first := s.docs[s.texts[text].members[0][0]]
	got, err := s.site.Asks.PartnerMatches(ctx, site.Submission{ID: first.ID, Title: first.Title, Text: string(body)}, s.abroad.options,
		s.site.Config.Report.Rules)
	if err != nil {
		return nil, err
	}
	u := &abroadUnit{Text: text, Documents: got.Documents}
	for _, c := range got.Consulted {
		name := string(c.Site) + "/" + string(c.Library)
		switch {
		case c.Reason == concordat.ReasonBudget, c.Reason == concordat.ReasonBusy, c.Reason == concordat.ReasonFault, c.Err == "" &&
			len(c.Missing) > 0:
			return nil, fmt.Errorf("%w: %s: %s", errLater, name, cmp.Or(c.Err, "the partner's answer was incomplete"))
		case c.Err != "":
			u.Refused = append(u.Refused, name+": "+c.Err)
		}
		u.Hidden = u.Hidden || c.Shown.Exists && (c.Level == concordat.ShowExists || c.Level == concordat.ShowCounts)
		u.Withheld += c.Withheld
		u.Sent += c.Exposed.Sentences
	}
	return u, nil
}

// takeAbroad converts partners' answers into documents of the other side and pairs.
func (s *screening) takeAbroad(done map[int]*abroadUnit) error {
	places := map[concordat.Ref]int{} // the places of texts
	refused := map[string]bool{}
	for text := range s.texts[:len(s.texts):len(s.texts)] {
		u := done[text]
		if u == nil {
			continue
		}
		for _, line := range u.Refused {
			refused[line] = true
		}
		if u.Hidden {
			s.sum.Hidden++
		}
		s.sum.Withheld += u.Withheld
		s.sum.Sent += u.Sent
		for _, d := range u.Documents {
			s.sum.Candidates++
			p := foundPair{A: text, Resemblance: d.Share, Contained: &[2]float64{d.Share, d.ContainedThere},
				Within: &[2]report.Bounds{d.Estimate, {High: 1}}, OneSided: d.Length == 0}
			if !p.OneSided {
				here, there := float64(s.docs[s.texts[text].members[0][0]].Bytes), float64(d.Length)
				p.Resemblance = (d.Share*here + d.ContainedThere*there) / (here + there)
			}
			value := p.Resemblance
			if s.Contained {
				value = max(d.Share, d.ContainedThere)
			}
			if value < s.Threshold {
				continue
			}
			to, ok := places[d.Ref]
			if !ok {
				to = len(s.texts)
				places[d.Ref] = to
				s.texts = append(s.texts, screenText{members: [2][]int32{1: {int32(len(s.docs))}}, blank: true})
				s.docs = append(s.docs, screenDoc{Side: 1, Site: d.Site, Library: d.Library, ID: d.Document, Title: d.Title, Added: d.Date,
					Letters: d.Length, Text: to})
			}
			if p.B = to; len(s.pairs) == maxPairs {
				return fmt.Errorf("found more than %d pairs; repeat with a higher --threshold", maxPairs)
			}
			s.pairs = append(s.pairs, p)
		}
	}
	for line := range refused {
		s.sum.Refused = append(s.sum.Refused, line)
	}
	slices.Sort(s.sum.Refused)
	for _, line := range s.sum.Refused {
		s.app.Warn("not compared with %s", line)
	}
	return nil
}

// place returns the location of a document, for display.
func (s *screening) place(site concordat.SiteID, lib concordat.LibraryID) string {
	if site == "" {
		return string(lib)
	}
	name := string(site)
	if s.abroad != nil {
		name = cmp.Or(s.abroad.names[site], name)
	}
	return strings.TrimSpace(name) + "/" + string(lib)
}
