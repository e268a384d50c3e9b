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
	"concordat/store"
)

const (
	// LeastHeld is the minimum number of documents in a batch that must contain wording for it to be reported separately.
	LeastHeld = 3
	// leastHeldWords is the minimum number of words that must remain of a stretch, excluding common wording, for it to be reported.
	leastHeldWords = 8
	// maxHeldAlike is the maximum number of reported stretches of wording of each kind.
	maxHeldAlike = 50
)

// Wording is wording found in several documents of a batch. It is stored with the batch as JSON, without text.
type Wording struct {
	Words  int  `json:"words"`
	Of     int  `json:"of"`     // number of documents in the batch
	Common bool `json:"common"` // the wording does not count
	// Open means that an officer must decide whether it counts; Common is then also set. Earlier versions lacked this field.
	Open bool `json:"open,omitempty"`
	// Decided is DecidedCount or DecidedLeave after a decision, and empty before.
	Decided string `json:"decided,omitempty"`
	// Kind is the kind of wording if it does not count: form, common or undecided. It is empty if the wording counts, or was stored by an
	// earlier version.
	Kind   concordat.Kind `json:"kind,omitempty"`
	Why    string         `json:"why,omitempty"` // if it resembles a form, the part that it resembles; see package wording
	Share  float64        `json:"share"`         // largest share of any one text, 0 to 1; 0 if not recorded
	Places []wordingPlace `json:"places"`        // longest first
}

// Decisions on wording.
const (
	DecidedCount = "count"
	DecidedLeave = "leave"
)

type wordingPlace struct {
	Member int            `json:"member"` // member's number
	Span   concordat.Span `json:"span"`
}

// heldAlike collects wording found in several documents of a batch, as classified.
type heldAlike struct {
	w      *batchWording
	groups map[concordat.Kind]*wording.Groups
	whys   map[whyAt]string
	words  map[int]int // per member
}

// whyAt identifies a place in a member.
type whyAt struct {
	member int
	span   concordat.Span
}

func newHeldAlike(w *batchWording) *heldAlike {
	return &heldAlike{w: w, groups: map[concordat.Kind]*wording.Groups{}, whys: map[whyAt]string{}, words: map[int]int{}}
}

// add collects the classified wording of a member.
func (h *heldAlike) add(member int, words *wording.Words, classes []wording.Class) {
	h.words[member] = words.Len()
	for _, x := range classes {
		if len(x.Texts)+1 < LeastHeld || words.Count(x.Span) < leastHeldWords {
			continue
		}
		g := h.groups[x.Kind]
		if g == nil {
			g = &wording.Groups{}
			h.groups[x.Kind] = g
		}
		g.Add(member, words, x.Span)
		if x.Why != "" {
			h.whys[whyAt{member, x.Span}] = string(x.Why)
		}
	}
}

// heldOrder is the order in which wording is reported: undecided wording, then counting wording, then wording that does not count.
var heldOrder = []concordat.Kind{concordat.KindUndecided, "", concordat.KindForm, concordat.KindCommon}

// keepHeld stores the collected wording with the batch.
func (r *batchRun) keepHeld(ctx context.Context, h *heldAlike, members []store.BatchMember) error {
	out := []Wording{}
	for _, kind := range heldOrder {
		if h.groups[kind] == nil {
			continue
		}
		from := len(out)
		for _, g := range h.groups[kind].Held(LeastHeld, maxHeldAlike) {
			one := Wording{Words: g.Words, Of: h.w.scope.Of, Common: kind != "", Open: kind == concordat.KindUndecided, Kind: kind,
				Why: h.whys[whyAt{g.Places[0].Text, g.Places[0].Span}]}
			for _, p := range g.Places {
				one.Places = append(one.Places, wordingPlace{p.Text, p.Span})
				one.Share = max(one.Share, float64(g.Words)/float64(h.words[p.Text]))
			}
			if same := sameHolders(out[from:], &one); same != nil && one.Open {
				same.join(&one)
				continue
			}
			out = append(out, one)
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return r.o.Store.Batches.PutBatchWording(ctx, r.id, data)
}

// sameHolders returns the wording found in the same documents as other, or nil if there is none.
func sameHolders(of []Wording, other *Wording) *Wording {
	for i := range of {
		if slices.Equal(of[i].members(), other.members()) {
			return &of[i]
		}
	}
	return nil
}

// members returns the numbers of the members that contain the wording, in order.
func (w *Wording) members() []int {
	var out []int
	for _, p := range w.Places {
		out = append(out, p.Member)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// join merges wording found in the same documents into w, so that one decision applies to both.
func (w *Wording) join(other *Wording) {
	w.Words += other.Words
	w.Share = min(1, w.Share+other.Share)
	w.Places = append(w.Places, other.Places...)
}

// ViewedWording is wording found in several documents of a batch. Counting wording comes first, then common wording.
type ViewedWording struct {
	Number  int // from 1
	Words   int
	Of      int // number of documents in the batch
	Common  bool
	Open    bool // an officer must still decide whether it counts
	Decided string
	Kind    concordat.Kind // kind of wording if it does not count; empty if it counts
	Why     string
	Share   float64       // largest share of any one text, 0 to 1
	Places  []ViewedPlace // longest first
}

// ViewedPlace is a place of the wording in a document.
type ViewedPlace struct {
	Member int // index into Members
	concordat.Span
}

// Counts reports whether the wording counts without a decision. Earlier versions stored wording that resembles a form as counting.
func (w *ViewedWording) Counts() bool {
	return w.Decided == DecidedCount || w.Decided == "" && !w.Common && w.Why == ""
}

// Documents returns the members that contain the wording, as indices in order.
func (w *ViewedWording) Documents() []int {
	var out []int
	for _, p := range w.Places {
		out = append(out, p.Member)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// viewedWording reads the stored wording; it ignores documents deleted since.
func viewedWording(ctx context.Context, db *store.DB, id string, index map[int]int, members []store.BatchMember) ([]ViewedWording, error) {
	data, err := db.Batches.BatchWording(ctx, id)
	if err != nil || data == nil {
		return nil, err
	}
	var kept []Wording
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("read the wording of batch %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	var out []ViewedWording
	for n, k := range kept {
		one := ViewedWording{Number: n + 1, Words: k.Words, Of: k.Of, Common: k.Common, Open: k.Open && k.Decided == "",
			Decided: k.Decided, Kind: k.Kind,
			Why:   k.Why,
			Share: k.Share}
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

// WordingOf returns the wording with the given number, or concordat.ErrNotFound.
func (v *View) WordingOf(number int) (*ViewedWording, error) {
	for i := range v.Wording {
		if v.Wording[i].Number == number {
			return &v.Wording[i], nil
		}
	}
	return nil, fmt.Errorf("wording %d of batch %s: %w", number, v.ID, concordat.ErrNotFound)
}

// WordingTexts returns the text of each wording in a view, truncated to runes code points, from the documents' findings; a text is empty
// if the documents have no findings or no text is stored.
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

// PlaceTexts returns the text of each place in the same way as WordingTexts.
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

// memberTexts reads each member's text at most once.
type memberTexts struct {
	s  *site.Site
	v  *View
	of map[int]string
}

// at returns the text of a place, truncated to runes code points, or "" if none is stored.
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

// decide stores a decision about numbered wording with the batch.
func decide(ctx context.Context, db *store.DB, id string, number int, decided string) error {
	data, err := db.Batches.BatchWording(ctx, id)
	if err != nil {
		return err
	}
	var kept []Wording
	if err := json.Unmarshal(data, &kept); err != nil || number < 1 || number > len(kept) {
		return fmt.Errorf("wording %d of batch %s: %w", number, id, concordat.ErrCorrupt)
	}
	kept[number-1].Decided = decided
	if data, err = json.Marshal(kept); err != nil {
		return err
	}
	return db.Batches.PutBatchWording(ctx, id, data)
}

// CountWording decides, for all reports of a batch, whether wording found in several of its documents counts. base is as in
// [RulesInForce]. The decision is recorded, and can be reversed by another call or in each report separately.
func CountWording(ctx context.Context, s *site.Site, db *store.DB, id, by string, number int, count bool, why string,
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
	if err := noted(ctx, db, notes, func(db *store.DB) error { return db.Batches.AppendBatchEvent(ctx, id, e) }); err != nil {
		return err
	}
	decided := DecidedLeave
	if count {
		decided = DecidedCount
	}
	if err := decide(ctx, db, id, number, decided); err != nil {
		return err
	}
	of := map[int][]concordat.Span{}
	for _, p := range w.Places {
		of[p.Member] = append(of[p.Member], p.Span)
	}
	for _, i := range w.Documents() {
		if m := &v.Members[i]; m.Task != "" {
			err := countIn(ctx, s, db, v, m, of[i], by, count, w.Kind == concordat.KindUndecided, why, base)
			if err != nil && !errors.Is(err, concordat.ErrNotFound) { // it may be deleted by now
				return fmt.Errorf("wording %d of %s: %w", number, m.Name, err)
			}
		}
	}
	return nil
}

// countIn makes spans count, or stop counting, in a member's report and updates the member's shares. open means that they are undecided,
// and thus excluded, without a decision.
func countIn(ctx context.Context, s *site.Site, db *store.DB, v *View, m *store.BatchMember, spans []concordat.Span, by string,
	count, open bool, why string, base report.Rules) error {
	rules, err := site.RulesInForce(ctx, db, m.Task, base)
	if err != nil {
		return err
	}
	rules.CountWording = slices.DeleteFunc(slices.Clone(rules.CountWording), func(c report.CountedWording) bool {
		return slices.ContainsFunc(spans, c.Span.Overlaps)
	})
	rules.ExcludePassages = slices.DeleteFunc(slices.Clone(rules.ExcludePassages), func(p report.ExcludedPassage) bool {
		return slices.Contains(spans, p.Span)
	})
	now := s.Options().Now()
	text := "uncount-wording"
	if !count && open {
		for _, span := range spans {
			rules.ExcludePassages = append(rules.ExcludePassages, report.ExcludedPassage{Span: span, Comment: why, By: by, At: now})
		}
	}
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
	if _, err := db.Checks.AppendReview(ctx, m.Task, store.Review{At: now, By: by, Kind: store.ReviewRules, Text: text,
		Data: data}); err != nil {
		return err
	}
	f, err := s.Findings(ctx, m.Task)
	if err != nil {
		return err
	}
	next := *m
	shares := measure(&next, f, rules, concordat.BatchLibrary(v.ID), numbered(v.Members))
	return db.Batches.PutChecked(ctx, v.ID, next, shares)
}
