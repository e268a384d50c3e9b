package answer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/storetest"
	"concordat/meaning"
	"concordat/store"
)

// TestShownKey: a partner is shown words under its own key if it has one, otherwise under the epoch's.
func TestShownKey(t *testing.T) {
	e := &EpochSet{SketchKey: []byte("of the epoch")}
	if got := e.shownKey("north"); string(got) != "of the epoch" {
		t.Errorf("shown under %q, want the epoch's key", got)
	}
	e.PairKey = func(asker concordat.SiteID) []byte { return []byte("of " + asker) }
	north, south := e.shownKey("north"), e.shownKey("south")
	if string(north) != "of north" || string(south) != "of south" {
		t.Errorf("shown under %q and %q, want a key of each partner", north, south)
	}
}

// TestAuthorsAreBounded: only the first 64 authors and the first 4,096 bytes of a document's author field are read.
func TestAuthorsAreBounded(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("Ada Writer%03d", i))
	}
	if got := authorNames(strings.Join(many, "; ")); len(got) != maxNames {
		t.Errorf("%d names of 100, want %d", len(got), maxNames)
	}
	end := strings.Repeat(" ", 1<<12-len("Ada Lovelace;Mary Shelley"))
	for more, want := range map[string]int{"": 2, strings.Repeat(" ", 12): 1} {
		in := "Ada Lovelace;" + end + more + "Mary Shelley"
		if got := authorNames(in); len(got) != want {
			t.Errorf("%d bytes: names %q, want %d", len(in), got, want)
		}
	}
}

// TestLeadGroups: a document is named if places in one stretch of it lie within four sentences of each other, involve at least two
// sentences on each side, and together reach the margins in the protocol description.
func TestLeadGroups(t *testing.T) {
	q := &leadQuestion{stretch: []int{0, 0, 1, 0}}
	hit := func(asked, first int, margin float64) leadHit {
		return leadHit{asked: asked, at: meaning.Placed{First: first, End: first + 1}, margin: margin}
	}
	for name, c := range map[string]struct {
		hits []leadHit
		want int // number of places
	}{
		"two that follow each other":    {[]leadHit{hit(0, 3, 0.3), hit(1, 4, 0.16)}, 2},
		"too faint":                     {[]leadHit{hit(0, 3, 0.3), hit(1, 4, 0.14)}, 0},
		"one, however clear":            {[]leadHit{hit(0, 3, 0.9)}, 0},
		"one sentence at two places":    {[]leadHit{hit(0, 3, 0.3), hit(0, 4, 0.3)}, 0},
		"two sentences at one place":    {[]leadHit{hit(0, 3, 0.3), hit(1, 3, 0.3)}, 0},
		"of two stretches":              {[]leadHit{hit(0, 3, 0.3), hit(2, 4, 0.3)}, 0},
		"four sentences apart":          {[]leadHit{hit(0, 3, 0.3), hit(1, 3+leadGap, 0.3)}, 2},
		"five sentences apart":          {[]leadHit{hit(0, 3, 0.3), hit(1, 4+leadGap, 0.3)}, 0},
		"in the other order":            {[]leadHit{hit(1, 3, 0.3), hit(0, 4, 0.3)}, 2},
		"two, and one elsewhere":        {[]leadHit{hit(0, 3, 0.3), hit(1, 4, 0.3), hit(3, 90, 0.9)}, 2},
		"three, each two of them faint": {[]leadHit{hit(0, 3, 0.15), hit(1, 4, 0.15), hit(3, 5, 0.16)}, 3},
	} {
		d := &leadDocument{hits: c.hits}
		if named := d.group(q); len(d.hits) != c.want || named != (c.want > 0) {
			t.Errorf("%s: named %v for %d places, want %d", name, named, len(d.hits), c.want)
		}
	}
}

// texts is an index of this site's texts.
type texts struct {
	concordat.Index
	of map[concordat.DocumentID]string
}

func (x *texts) Document(_ context.Context, ref concordat.Ref) (*concordat.Document, error) {
	text, ok := x.of[ref.Document]
	if !ok {
		return nil, concordat.ErrNotFound
	}
	return &concordat.Document{ID: ref.Document, Text: text}, nil
}

// TestChangedMeanwhile: a document that was deleted or changed after its job was answered is withheld, and the partner is told to ask
// again.
func TestChangedMeanwhile(t *testing.T) {
	const text = "The harbour master recorded every vessel."
	index := &texts{of: map[concordat.DocumentID]string{"same": text, "changed": text + " And more."}}
	s := New(Options{ID: "here", Store: storetest.SQLite(t), Index: index})
	for id, want := range map[concordat.DocumentID]error{"same": nil, "changed": errChanged, "gone": errChanged} {
		k := &known{grant: &grant{}, row: store.DocumentRow{ID: id, Hash: store.TextHash(text)}}
		if err := s.read(t.Context(), k); err != want || (k.text != "") != (want == nil) {
			t.Errorf("%s: %v, read %q; want %v", id, err, k.text, want)
		}
	}
}

// TestEdgesAskBounds: passages that are invalid, empty or too long are refused before anything is looked up.
func TestEdgesAskBounds(t *testing.T) {
	e := concordat.Epoch{Federation: "health", Number: 1}
	s := New(Options{ID: "here", Store: storetest.SQLite(t)})
	s.epochs.sets = []*epochSet{{EpochSet: EpochSet{Epoch: e}}}
	words := make([]byte, maxOrdered+1)
	passage := func(start, end, n int) concordat.EdgePassage {
		return concordat.EdgePassage{Span: concordat.Span{Start: start, End: end}, Words: words[:n]}
	}
	for name, ps := range map[string][]concordat.EdgePassage{
		"none": nil, "before the text": {passage(-1, 9, 3)}, "empty": {passage(9, 9, 3)}, "backwards": {passage(9, 3, 3)},
		"no words": {passage(0, 9, 0)}, "too many words": {passage(0, 9, maxOrdered+1)}, "too long": {passage(0, maxCompared+1, 3)},
		"too long in all":    {passage(0, maxCompared, 3), passage(0, 1, 3)},
		"too many":           slices.Repeat([]concordat.EdgePassage{passage(0, 9, 3)}, maxSpans+1),
		"one bad among good": {passage(0, 9, 3), passage(9, 9, 3)},
	} {
		_, err := s.edges(t.Context(), "north", &concordat.EdgesAsk{Epoch: e, Passages: ps}, &auditDocument{})
		if !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// TestShipNeedsTheStore: if a document cannot be looked up, the shipment fails, because its cursor would otherwise skip the document for
// good. A document that is changing is sent again with a later number.
func TestShipNeedsTheStore(t *testing.T) {
	broken := errors.New("the disk is broken")
	for held, want := range map[error]error{concordat.ErrNotFound: nil, broken: broken} {
		db, script := storetest.Scripted(storetest.SQLite(t))
		script.On("HeldDocument", func() error { return held })
		s := New(Options{ID: "here", Store: db, Index: &texts{}})
		d, _, err := s.shipOne(t.Context(), &epochSet{}, &grant{from: "north"}, store.EpochDocument{ID: "a"})
		if d != nil || !errors.Is(err, want) {
			t.Errorf("%v: %+v, %v", held, d, err)
		}
	}
}

// TestSetsNeedTheShares: if the site cannot read which part of a set is open to partners, it returns an error instead of treating the set
// as closed.
func TestSetsNeedTheShares(t *testing.T) {
	s := New(Options{ID: "here", Store: unshared(t)})
	if err := s.Sets.catchUp(t.Context(), &epochSet{}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v, want that the shares cannot be read", err)
	}
}

// TestNamesOfCells: a partner always sees the same name for the same cells; other partners and other cells have other names.
func TestNamesOfCells(t *testing.T) {
	q := &leadQuestion{from: "north", set: &epochSet{EpochSet: EpochSet{HandleKey: []byte("a key of this site alone")}},
		asked: make([][concordat.Bands]uint32, 3)}
	q.asked[1][0] = 1
	a, b, same := q.name(0), q.name(1), q.name(2)
	q.from = "south"
	if other := q.name(0); bytes.Equal(a[:], b[:]) || a != same || other == a {
		t.Errorf("names %x, %x, %x and %x", a, b, same, other)
	}
}

// TestLeadSteps: the certainty of a lead has three steps, each defined by its lowest margin.
func TestLeadSteps(t *testing.T) {
	for margin, want := range map[float64]concordat.LeadStep{0.04: concordat.LeadFar, 0.119: concordat.LeadFar, 0.12: concordat.LeadNear,
		0.199: concordat.LeadNear, 0.2: concordat.LeadVeryNear, 0.9: concordat.LeadVeryNear} {
		d := &leadDocument{placed: []meaning.Placed{{First: 7, End: 9}}}
		d.take(&leadQuestion{}, []meaning.Near{{Margin: margin}})
		if len(d.hits) != 1 || d.hits[0].step != want || d.hits[0].ordinal != leadOrdinal+15 {
			t.Errorf("a margin of %v: %+v, want step %d", margin, d.hits, want)
		}
	}
}

// TestAlertsNeedTheStore: if the open questions cannot be read, a later document that answers a standing question is not skipped.
func TestAlertsNeedTheStore(t *testing.T) {
	db, script := storetest.Scripted(storetest.SQLite(t))
	script.Begin(0, true)
	s := New(Options{ID: "here", Store: db})
	err := s.Sets.alertOne(t.Context(), &epochSet{}, "theses", &store.StandingAsk{Partner: "north"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
}
