package wire_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/federation/wire"
)

// small returns a random message of at most most bytes, with its bytes.
func small(t *testing.T, m message, most int) (any, []byte) {
	t.Helper()
	for seed := range uint64(10_000) {
		v := m.random(newGen(seed))
		b, err := m.write(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) <= most {
			return v, b
		}
	}
	t.Fatalf("no %s of %d bytes", m.name, most)
	return nil, nil
}

// TestEveryByte: changing any byte of a small message changes what is read.
func TestEveryByte(t *testing.T) {
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			_, b := small(t, m, 1200)
			for i := range b {
				for _, v := range []byte{0, 1, 2, 0x7f, 0x80, 0xff, b[i] + 1, b[i] - 1, b[i] ^ 1, b[i] ^ 0x40} {
					if v == b[i] || i == 0 && v == 1 { // version 1 of an answer is read as the same answer
						continue
					}
					changed := bytes.Clone(b)
					changed[i] = v
					checkReading(t, m, changed)
				}
			}
		})
	}
}

// TestNotWritten: the sending site refuses, with concordat.ErrInvalid, what the format cannot express, and never truncates or changes it
// to fit. If one function serves both sides, readers refuse the same values.
func TestNotWritten(t *testing.T) {
	g := newGen(3)
	const over = math.MaxInt32 + 1
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	ask := func(change func(*concordat.Ask)) error {
		a := g.ask()
		change(a)
		_, err := wire.AppendAsk(nil, a)
		return err
	}
	told := func(change func(*concordat.SiteAnswer)) error {
		v := &wire.EpochAnswer{Epoch: g.epoch(), Scheme: "s", Answer: concordat.SiteAnswer{
			Libraries: []concordat.LibraryAnswer{{Library: "l", Level: concordat.ShowExists}},
			Documents: []concordat.DocumentAnswer{{}}, Hits: []concordat.Hit{{}},
		}}
		change(&v.Answer)
		_, err := wire.AppendAnswer(nil, v)
		return err
	}
	library := func(change func(*concordat.LibraryAnswer)) error {
		return told(func(t *concordat.SiteAnswer) { change(&t.Libraries[0]) })
	}
	outline := func(change func(*concordat.Outline)) error {
		o := concordat.Outline{Form: concordat.OutlineWords, Bits: 8, Units: []concordat.OutlineUnit{{Words: []uint16{1, 255}}}}
		change(&o)
		_, err := wire.AppendOutlines(nil, &concordat.Outlines{Documents: []concordat.Outline{o}})
		return err
	}
	outlineAsk := func(documents ...concordat.OutlineOf) error {
		_, err := wire.AppendOutlineAsk(nil, &concordat.OutlineAsk{Epoch: g.epoch(), Documents: documents})
		return err
	}
	reveal := func(change func(*concordat.RevealAsk)) error {
		a := g.revealAsk()
		change(a)
		_, err := wire.AppendRevealAsk(nil, a)
		return err
	}
	catalogue := func(c concordat.Catalogue) error { _, err := wire.AppendCatalogue(nil, &c); return err }
	shipped := func(d concordat.ShippedDocument) error {
		_, err := wire.AppendShipment(nil, &concordat.Shipment{Scheme: "s", Documents: []concordat.ShippedDocument{d}})
		return err
	}
	notice := func(n concordat.Notice) error { _, err := wire.AppendNotice(nil, &n); return err }
	refusal := func(r concordat.Refusal) error { _, err := wire.AppendRefusal(nil, &r); return err }

	good := map[string]error{
		"ask": ask(func(a *concordat.Ask) {}),
		"names of a letter": ask(func(a *concordat.Ask) {
			a.Libraries, a.Scheme, a.Epoch.Federation = []concordat.LibraryID{"l"}, "s", "f"
		}),
		"tell":             told(func(*concordat.SiteAnswer) {}),
		"library":          library(func(l *concordat.LibraryAnswer) { l.Ready, l.LeftSentences = 1, math.MaxUint32-1 }),
		"outline":          outline(func(*concordat.Outline) {}),
		"refused outline":  outline(func(o *concordat.Outline) { *o = concordat.Outline{Refusal: g.refusal()} }),
		"outline ask":      outlineAsk(concordat.OutlineOf{Ordinals: []int{0, 1, 7}}),
		"reveal":           reveal(func(*concordat.RevealAsk) {}),
		"empty span":       reveal(func(a *concordat.RevealAsk) { a.Passages[0].Span = concordat.Span{Start: 4, End: 4} }),
		"catalogue":        catalogue(concordat.Catalogue{Heads: [][]byte{make([]byte, 148)}}),
		"first year":       refusal(concordat.Refusal{Reason: concordat.ReasonBusy, Retry: year(1).Add(time.Millisecond)}),
		"last year":        refusal(concordat.Refusal{Reason: concordat.ReasonBusy, Retry: year(10000).Add(-time.Millisecond)}),
		"removed":          shipped(concordat.ShippedDocument{Removed: true}),
		"withheld":         shipped(concordat.ShippedDocument{Withheld: true}),
		"withdrawn":        notice(concordat.Notice{Kind: concordat.NoticeWithdrawn}),
		"alert":            notice(concordat.Notice{Kind: concordat.NoticeAlert, Answer: &concordat.SiteAnswer{}}),
		"most sentences":   notice(concordat.Notice{Kind: concordat.NoticeEnded, Asked: concordat.MaxAsked}),
		"share of nothing": library(func(l *concordat.LibraryAnswer) { l.Ready = 0 }),
	}
	for name, err := range good {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := map[string]error{
		"sentences that are not padded":    ask(func(a *concordat.Ask) { a.Sentences = a.Sentences[:63] }),
		"no sentences":                     ask(func(a *concordat.Ask) { a.Sentences = nil }),
		"no library":                       ask(func(a *concordat.Ask) { a.Libraries = nil }),
		"library without a name":           ask(func(a *concordat.Ask) { a.Libraries[0] = "" }),
		"no scheme":                        ask(func(a *concordat.Ask) { a.Scheme = "" }),
		"epoch 0":                          ask(func(a *concordat.Ask) { a.Epoch.Number = 0 }),
		"no federation":                    ask(func(a *concordat.Ask) { a.Epoch.Federation = "" }),
		"unknown level":                    ask(func(a *concordat.Ask) { a.Level = "everything" }),
		"unknown probe":                    ask(func(a *concordat.Ask) { a.Probe = concordat.ProbeOne + 1 }),
		"gate of more bits than there are": ask(func(a *concordat.Ask) { a.Sentences[0].Gate = concordat.Bits + 1 }),
		"gate below zero":                  ask(func(a *concordat.Ask) { a.Sentences[0].Gate = -1 }),
		"too many authors":                 ask(func(a *concordat.Ask) { a.Authors = make([][16]byte, 256) }),
		"document of no library":           told(func(t *concordat.SiteAnswer) { t.Documents[0].Library = 1 }),
		"hit of no document":               told(func(t *concordat.SiteAnswer) { t.Hits[0].Document = 1 }),
		"hit before the first document":    told(func(t *concordat.SiteAnswer) { t.Hits[0].Document = -1 }),
		"sentence that nobody asks":        told(func(t *concordat.SiteAnswer) { t.Hits[0].Sentence = concordat.MaxAsked }),
		"closer than the same":             told(func(t *concordat.SiteAnswer) { t.Hits[0].Closeness = concordat.CloseSame + 1 }),
		"unknown outline":                  told(func(t *concordat.SiteAnswer) { t.Documents[0].Outline = "text" }),
		"more than all is ready":           library(func(l *concordat.LibraryAnswer) { l.Ready = 1.000001 }),
		"less than nothing is ready":       library(func(l *concordat.LibraryAnswer) { l.Ready = -0.000001 }),
		"ready is no number":               library(func(l *concordat.LibraryAnswer) { l.Ready = math.NaN() }),
		"documents below zero":             library(func(l *concordat.LibraryAnswer) { l.Documents = -1 }),
		"too many documents":               library(func(l *concordat.LibraryAnswer) { l.Documents = over }),
		"too many missing":                 library(func(l *concordat.LibraryAnswer) { l.Missing = over }),
		"a number that means no limit":     library(func(l *concordat.LibraryAnswer) { l.LeftSentences = math.MaxUint32 }),
		"refused without a reason":         library(func(l *concordat.LibraryAnswer) { l.Refusal = &concordat.Refusal{Words: "no"} }),
		"refused for an unknown reason":    library(func(l *concordat.LibraryAnswer) { l.Refusal = &concordat.Refusal{Reason: "x"} }),
		"words out of order":               outline(func(o *concordat.Outline) { o.Units[0].Words = []uint16{2, 1} }),
		"a word twice":                     outline(func(o *concordat.Outline) { o.Units[0].Words = []uint16{2, 2} }),
		"a word of more bits":              outline(func(o *concordat.Outline) { o.Units[0].Words = []uint16{256} }),
		"bits of no words":                 outline(func(o *concordat.Outline) { o.Form = concordat.OutlineFingerprints }),
		"words of no bits":                 outline(func(o *concordat.Outline) { o.Bits = 0 }),
		"words of 17 bits":                 outline(func(o *concordat.Outline) { o.Bits = 17 }),
		"neither outline nor refusal":      outline(func(o *concordat.Outline) { *o = concordat.Outline{} }),
		"outline and refusal":              outline(func(o *concordat.Outline) { o.Refusal = g.refusal() }),
		"units of a refused outline": outline(func(o *concordat.Outline) {
			*o = concordat.Outline{Refusal: g.refusal(), Units: o.Units[:1]}
		}),
		"ordinals out of order":        outlineAsk(concordat.OutlineOf{Ordinals: []int{3, 2}}),
		"an ordinal twice":             outlineAsk(concordat.OutlineOf{Ordinals: []int{3, 3}}),
		"an ordinal below zero":        outlineAsk(concordat.OutlineOf{Ordinals: []int{-1}}),
		"outline of no document":       outlineAsk(),
		"reveal of no passage":         reveal(func(a *concordat.RevealAsk) { a.Passages = nil }),
		"a level that reveals nothing": reveal(func(a *concordat.RevealAsk) { a.Level = concordat.ShowExists }),
		"a span that ends before it starts": reveal(func(a *concordat.RevealAsk) {
			a.Passages[0].Span = concordat.Span{Start: 5, End: 4}
		}),
		"a text that is no UTF-8":            reveal(func(a *concordat.RevealAsk) { a.Passages[0].Text = "\xff" }),
		"a text that is too long":            reveal(func(a *concordat.RevealAsk) { a.Passages[0].Text = string(make([]byte, 1<<20+1)) }),
		"a head that is too short":           catalogue(concordat.Catalogue{Heads: [][]byte{make([]byte, 147)}}),
		"a head that is too long":            catalogue(concordat.Catalogue{Heads: [][]byte{make([]byte, 149)}}),
		"too many heads":                     catalogue(concordat.Catalogue{Heads: make([][]byte, wire.MaxHeads+1)}),
		"removed and withheld":               shipped(concordat.ShippedDocument{Removed: true, Withheld: true}),
		"the title of a removed document":    shipped(concordat.ShippedDocument{Removed: true, Title: "t"}),
		"the author of a withheld document":  shipped(concordat.ShippedDocument{Withheld: true, Author: "a"}),
		"the contact of a withheld document": shipped(concordat.ShippedDocument{Withheld: true, Contact: "c"}),
		"the date of a removed document":     shipped(concordat.ShippedDocument{Removed: true, Date: year(2000)}),
		"the sentences of a withheld document": shipped(concordat.ShippedDocument{Withheld: true,
			Sentences: make([]concordat.ShippedSentence, 1)}),
		"alert without a tell":     notice(concordat.Notice{Kind: concordat.NoticeAlert}),
		"tell with another notice": notice(concordat.Notice{Kind: concordat.NoticeEnded, Answer: &concordat.SiteAnswer{}}),
		"libraries of another notice": notice(concordat.Notice{Kind: concordat.NoticeEnded,
			Answer: &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: "l", Level: concordat.ShowExists}}}}),
		"case without a note":      notice(concordat.Notice{Kind: concordat.NoticeCase}),
		"note with another notice": notice(concordat.Notice{Kind: concordat.NoticeEnded, Case: &concordat.CaseNote{State: concordat.CaseOpen}}),
		"case in an unknown state": notice(concordat.Notice{Kind: concordat.NoticeCase, Case: &concordat.CaseNote{State: "guilty"}}),
		"case with an odd decision": notice(concordat.Notice{Kind: concordat.NoticeCase, Case: &concordat.CaseNote{State: concordat.CaseOpen,
			Decision: "burnt"}}),
		"unknown notice":       notice(concordat.Notice{Kind: "news"}),
		"asked too much":       notice(concordat.Notice{Kind: concordat.NoticeEnded, Asked: concordat.MaxAsked + 1}),
		"year 0":               refusal(concordat.Refusal{Reason: concordat.ReasonBusy, Retry: year(1).Add(-time.Millisecond)}),
		"year 10000":           refusal(concordat.Refusal{Reason: concordat.ReasonBusy, Retry: year(10000)}),
		"error without reason": refusal(concordat.Refusal{Words: "no"}),
	}
	for name, err := range bad {
		if !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// TestPad: a padded ask has every sentence in its place in the order, and elsewhere random fingerprints with the gates of its sentences.
// The original ask is unchanged, and without randomness there is no padded ask.
func TestPad(t *testing.T) {
	g := newGen(4)
	a := &concordat.Ask{Sentences: make([]concordat.AskedSentence, 5)}
	for i := range a.Sentences {
		a.Sentences[i] = concordat.AskedSentence{Fingerprint: g.fingerprint(), Gate: 10 * (i + 1)}
	}
	before := slices.Clone(a.Sentences)
	random := make([]byte, (concordat.Padded(5)-5)*(concordat.FingerprintBytes+8))
	g.fill(random)
	padded, order, err := wire.Pad(a, [32]byte{7}, bytes.NewReader(random))
	if err != nil {
		t.Fatal(err)
	}
	if len(padded.Sentences) != concordat.Padded(5) || !slices.Equal(order, wire.Order([32]byte{7}, concordat.Padded(5))) {
		t.Fatalf("%d sentences in the order %v", len(padded.Sentences), order)
	}
	seen, gates := map[concordat.Fingerprint]bool{}, map[int]bool{}
	for p, i := range order {
		s := padded.Sentences[p]
		seen[s.Fingerprint] = true
		switch {
		case i < 5 && s != before[i]:
			t.Errorf("place %d holds %v, want sentence %d", p, s, i)
		case i >= 5 && (s.Gate%10 != 0 || s.Gate < 10 || s.Gate > 50):
			t.Errorf("a dummy with the gate %d, which no sentence has", s.Gate)
		case i >= 5:
			gates[s.Gate] = true
		}
	}
	if len(seen) != len(order) || len(gates) != 5 {
		t.Errorf("%d fingerprints in %d places, dummies of %d gates", len(seen), len(order), len(gates))
	}
	if !slices.Equal(a.Sentences, before) {
		t.Error("the ask itself was changed")
	}
	if _, _, err := wire.Pad(a, [32]byte{7}, bytes.NewReader(random[:len(random)-1])); err == nil {
		t.Error("padded with too little randomness")
	}
}

// TestSmallest: the smallest elements of each list can be read, even at the end of a message.
func TestSmallest(t *testing.T) {
	epoch := concordat.Epoch{Federation: "f", Number: 1}
	no := &concordat.Refusal{Reason: concordat.ReasonBusy}
	all := map[string]any{
		"outline ask": &concordat.OutlineAsk{Epoch: epoch, Documents: make([]concordat.OutlineOf, 3)},
		"outlines":    &concordat.Outlines{Documents: []concordat.Outline{{Refusal: no}, {Refusal: no}}},
		"edges ask":   &concordat.EdgesAsk{Epoch: epoch, Passages: make([]concordat.EdgePassage, 3)},
		"edges":       &concordat.Edges{Passages: make([][]concordat.EdgeCopy, 3)},
		"revealed":    &concordat.Revealed{State: concordat.DisclosureGranted, Passages: make([]concordat.RevealedPassage, 3)},
		"catalogue":   &concordat.Catalogue{Heads: [][]byte{make([]byte, 148)}},
		"tell": &wire.EpochAnswer{Epoch: epoch, Scheme: "s", Answer: concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: "l",
			Level: concordat.ShowExists}}, Documents: make([]concordat.DocumentAnswer, 1), Hits: make([]concordat.Hit, 1)}},
		"shipment": &concordat.Shipment{Scheme: "s", Documents: make([]concordat.ShippedDocument, 1)},
	}
	for _, m := range messages {
		v, ok := all[m.name]
		if !ok {
			continue
		}
		b, err := m.write(v)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		if _, err := m.read(b); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		delete(all, m.name)
	}
	for name, v := range map[string]*concordat.Edges{
		"copies": {Passages: [][]concordat.EdgeCopy{make([]concordat.EdgeCopy, 1)}}} {
		b, err := wire.AppendEdges(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.ParseEdges(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for form, units := range map[string][]concordat.OutlineUnit{concordat.OutlineWords: make([]concordat.OutlineUnit, 1),
		concordat.OutlineFingerprints: make([]concordat.OutlineUnit, 1)} {
		o := concordat.Outline{Form: form, Units: units}
		if form == concordat.OutlineWords {
			o.Bits = 6
		}
		b, err := wire.AppendOutlines(nil, &concordat.Outlines{Documents: []concordat.Outline{o}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.ParseOutlines(b); err != nil {
			t.Errorf("a unit of %s: %v", form, err)
		}
	}
	if len(all) > 0 {
		t.Errorf("not tried: %v", all)
	}
}

// TestWordPadding: the bits after the last word of a set are zero.
func TestWordPadding(t *testing.T) {
	o := concordat.Outline{Form: concordat.OutlineWords, Bits: 6, Units: []concordat.OutlineUnit{{Words: []uint16{1}}}}
	b, err := wire.AppendOutlines(nil, &concordat.Outlines{Documents: []concordat.Outline{o}})
	if err != nil {
		t.Fatal(err)
	}
	for _, bit := range []byte{1, 2, 3} {
		bad := bytes.Clone(b)
		bad[len(bad)-1] |= bit
		if _, err := wire.ParseOutlines(bad); !errors.Is(err, wire.ErrFormat) {
			t.Errorf("bits %b behind the last word: error %v, want ErrFormat", bit, err)
		}
	}
}
