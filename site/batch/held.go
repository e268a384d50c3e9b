package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
	"concordat/align/wording"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

const (
	// LeastHeld is the number of documents of a batch that must hold wording for it to be told of by itself.
	LeastHeld = 3
	// leastHeldWords is the number of words of the shortest reported rest of a stretch, without common wording.
	leastHeldWords = 8
	// maxHeldAlike bounds the reported stretches of wording of each kind.
	maxHeldAlike = 50
)

// Wording is wording that several documents of a batch hold. It is kept with the batch, as JSON, without text.
type Wording struct {
	Words  int            `json:"words"`
	Of     int            `json:"of"`            // documents of the batch
	Common bool           `json:"common"`        // so many hold it that it does not count
	Why    string         `json:"why,omitempty"` // what it reads like, if it does like a form: see package wording
	Places []wordingPlace `json:"places"`        // the longest first
}

type wordingPlace struct {
	Member int            `json:"member"` // number
	Span   concordat.Span `json:"span"`
}

// heldAlike gathers what several documents of a batch hold: what is common, and what counts.
type heldAlike struct {
	w            *batchWording
	common, held *wording.Common
	many, few    wording.Groups
}

func newHeldAlike(w *batchWording) *heldAlike {
	return &heldAlike{w: w, common: w.common(), held: w.held.Least(LeastHeld, 0)}
}

// add gathers what a member holds outside of templates and lists of references.
func (h *heldAlike) add(member int, text string, words *wording.Words) {
	walls := compare.Shareable(text, h.w.templates).Walls
	common := h.common.In(words)
	for _, x := range common {
		for _, s := range report.Without(x.Span, walls) {
			h.many.Add(member, words, s)
		}
	}
	for _, x := range common {
		walls = append(walls, x.Span)
	}
	walls = compare.Joined(walls)
	for _, x := range h.held.In(words) {
		for _, s := range report.Without(x.Span, walls) {
			if s == x.Span || words.Count(s) >= leastHeldWords {
				h.few.Add(member, words, s)
			}
		}
	}
}

// keepHeld keeps what was gathered with the batch.
func (r *batchRun) keepHeld(ctx context.Context, h *heldAlike, members []store.BatchMember) error {
	by := numbered(members)
	readers := map[int]*wording.Reader{}
	out := []Wording{}
	for common, groups := range map[bool]*wording.Groups{true: &h.many, false: &h.few} {
		for _, g := range groups.Held(LeastHeld, maxHeldAlike) {
			one := Wording{Words: g.Words, Of: h.w.of, Common: common}
			for _, p := range g.Places {
				one.Places = append(one.Places, wordingPlace{p.Text, p.Span})
			}
			first := g.Places[0]
			if readers[first.Text] == nil {
				d, err := r.text(ctx, by[first.Text].Name)
				if err != nil {
					return err
				}
				readers[first.Text] = wording.NewReader(d.Text)
			}
			if why, ok := readers[first.Text].ReadsLikeForm(first.Span); ok {
				one.Why = string(why)
			}
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(x, y Wording) int {
		switch {
		case x.Common == y.Common:
			return 0 // in order already
		case x.Common:
			return 1
		}
		return -1
	})
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return r.o.Store.PutBatchWording(ctx, r.id, data)
}

// ViewedWording is wording that several documents of a batch hold: what counts first, then what is common.
type ViewedWording struct {
	Number int // from 1
	Words  int
	Of     int // documents of the batch
	Common bool
	Why    string
	Places []ViewedPlace // the longest first
}

// ViewedPlace is where one of the documents holds it.
type ViewedPlace struct {
	Member int // index into the members
	concordat.Span
}

// Documents returns the members that hold the wording, as indices in order.
func (w *ViewedWording) Documents() []int {
	var out []int
	for _, p := range w.Places {
		out = append(out, p.Member)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// viewedWording reads what was kept; documents that were deleted since hold nothing.
func viewedWording(ctx context.Context, db Store, id string, index map[int]int, members []store.BatchMember) ([]ViewedWording, error) {
	data, err := db.BatchWording(ctx, id)
	if err != nil || data == nil {
		return nil, err
	}
	var kept []Wording
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("wording of batch %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	var out []ViewedWording
	for n, k := range kept {
		one := ViewedWording{Number: n + 1, Words: k.Words, Of: k.Of, Common: k.Common, Why: k.Why}
		for _, p := range k.Places {
			if i, ok := index[p.Member]; ok && members[i].Cause.IsZero() {
				one.Places = append(one.Places, ViewedPlace{i, p.Span})
			}
		}
		if len(one.Documents()) >= LeastHeld {
			out = append(out, one)
		}
	}
	return out, nil
}

// WordingOf returns the wording of a number, or concordat.ErrNotFound.
func (v *View) WordingOf(number int) (*ViewedWording, error) {
	for i := range v.Wording {
		if v.Wording[i].Number == number {
			return &v.Wording[i], nil
		}
	}
	return nil, fmt.Errorf("wording %d of batch %s: %w", number, v.ID, concordat.ErrNotFound)
}

// WordingTexts returns the text of each wording of a view, at most runes code points of it, from the findings of the
// documents; empty while none has any, or where no text is kept.
func WordingTexts(ctx context.Context, s *site.Site, v *View, wordings []ViewedWording, runes int) ([]string, error) {
	out := make([]string, len(wordings))
	texts := memberTexts{s: s, v: v, of: map[int]string{}}
	for i, w := range wordings {
		for _, p := range w.Places {
			var err error
			if out[i], err = texts.at(ctx, p, runes); err != nil {
				return nil, err
			}
			if out[i] != "" {
				break
			}
		}
	}
	return out, nil
}

// PlaceTexts returns the text of each place, as WordingTexts does.
func PlaceTexts(ctx context.Context, s *site.Site, v *View, places []ViewedPlace, runes int) ([]string, error) {
	out := make([]string, len(places))
	texts := memberTexts{s: s, v: v, of: map[int]string{}}
	for i, p := range places {
		var err error
		if out[i], err = texts.at(ctx, p, runes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// memberTexts reads the texts of members, each once.
type memberTexts struct {
	s  *site.Site
	v  *View
	of map[int]string
}

// at returns the text of a place, at most runes code points of it; empty if none is kept.
func (t *memberTexts) at(ctx context.Context, p ViewedPlace, runes int) (string, error) {
	text, known := t.of[p.Member]
	if !known && t.v.Members[p.Member].Task != "" {
		f, err := t.s.Findings(ctx, t.v.Members[p.Member].Task)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return "", err
		}
		if err == nil && f.Withheld == nil {
			text = f.Submission.Text
		}
		t.of[p.Member] = text
	}
	if p.Start < 0 || p.Start >= p.End || p.End > len(text) {
		return "", nil
	}
	return shortText(strings.ToValidUTF8(p.Span.In(text), ""), runes), nil
}

func shortText(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes]) + "…"
}

// CountWording counts wording that several documents of a batch hold in the reports of all of them, or does so no longer;
// base is as in [RulesInForce]. It stays on record and can be undone by another call, or in each report by itself.
func CountWording(ctx context.Context, s *site.Site, db Store, id, by string, number int, count bool, why string,
	base report.Rules, notes ...store.AuditNote) error {
	v, err := Open(ctx, db, id)
	if err != nil {
		return err
	}
	w, err := v.WordingOf(number)
	if err != nil {
		return err
	}
	action := "wording_uncount"
	if count {
		action = "wording_count"
	}
	e := store.BatchEvent{At: s.Options().Now(), By: by, Action: action, Text: fmt.Sprintf("%d", number)}
	if why != "" {
		e.Text += ": " + why
	}
	if err := noted(ctx, db, notes, func(db Store) error { return db.AppendBatchEvent(ctx, id, e) }); err != nil {
		return err
	}
	of := map[int][]concordat.Span{}
	for _, p := range w.Places {
		of[p.Member] = append(of[p.Member], p.Span)
	}
	for _, i := range w.Documents() {
		if m := &v.Members[i]; m.Task != "" {
			if err := countIn(ctx, s, db, v, m, of[i], by, count, why, base); err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted since
				return fmt.Errorf("wording %d of %s: %w", number, m.Name, err)
			}
		}
	}
	return nil
}

// countIn counts spans in the report of a member, or does so no longer, and brings its shares up to date.
func countIn(ctx context.Context, s *site.Site, db Store, v *View, m *store.BatchMember, spans []concordat.Span, by string,
	count bool, why string, base report.Rules) error {
	rules, err := site.RulesInForce(ctx, db, m.Task, base)
	if err != nil {
		return err
	}
	rules.CountWording = slices.DeleteFunc(slices.Clone(rules.CountWording), func(c report.CountedWording) bool {
		return slices.ContainsFunc(spans, c.Span.Overlaps)
	})
	now := s.Options().Now()
	text := "uncount-wording"
	if count {
		text = "count-wording"
		for _, span := range spans {
			rules.CountWording = append(rules.CountWording, report.CountedWording{Span: span, Comment: why, By: by, At: now})
		}
	}
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	text = fmt.Sprintf("%s %d–%d: %s", text, spans[0].Start, spans[0].End, why)
	if _, err := db.AppendReview(ctx, m.Task, store.Review{At: now, By: by, Kind: store.ReviewRules, Text: text, Data: data}); err != nil {
		return err
	}
	f, err := s.Findings(ctx, m.Task)
	if err != nil {
		return err
	}
	next := *m
	shares := measure(&next, f, rules, concordat.BatchLibrary(v.ID), numbered(v.Members))
	return db.PutChecked(ctx, v.ID, next, shares)
}
