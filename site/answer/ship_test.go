package answer_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// mirror is a partner's copy of a library.
type mirror struct {
	cursor []byte
	docs   map[concordat.Handle]concordat.ShippedDocument
	got    int // documents received, including removals
	// withheld contains the documents that the owner does not ship.
	withheld map[concordat.Handle]bool
}

// sync fetches everything available.
func (m *mirror) sync(t *testing.T, o *sitetest.Owner, from concordat.SiteID, lib concordat.LibraryID) {
	t.Helper()
	for more := true; more; {
		s, err := o.AnswerShip(t.Context(), from, &concordat.ShipAsk{Epoch: o.Epoch, Library: lib, Cursor: m.cursor})
		sitetest.Must(t, err)
		if len(s.Cursor) == 0 || len(s.Cursor) > 64 || s.Scheme != o.Keyed.Scheme() {
			t.Fatalf("got cursor %x and scheme %s", s.Cursor, s.Scheme)
		}
		for _, d := range s.Documents {
			m.got++
			delete(m.docs, d.Handle)
			delete(m.withheld, d.Handle)
			switch {
			case d.Withheld:
				if m.withheld == nil {
					m.withheld = map[concordat.Handle]bool{}
				}
				m.withheld[d.Handle] = true
			case !d.Removed:
				m.docs[d.Handle] = d
			}
		}
		m.cursor, more = s.Cursor, s.More
	}
}

// want compares a mirror, by fingerprints, with its expected texts.
func (m *mirror) want(t *testing.T, o *sitetest.Owner, texts ...string) {
	t.Helper()
	if len(m.docs) != len(texts) {
		t.Errorf("the mirror holds %d documents, want %d", len(m.docs), len(texts))
	}
	held := map[string]bool{}
	for _, d := range m.docs {
		var prints []string
		for i, x := range d.Sentences {
			if x.Ordinal != i {
				t.Errorf("sentence %d has ordinal %d", i, x.Ordinal)
			}
			prints = append(prints, x.Fingerprint.String())
		}
		held[strings.Join(prints, " ")] = true
	}
	for _, text := range texts {
		p, err := o.Keyed.ForIndex(concordat.Document{Text: text})
		sitetest.Must(t, err)
		var prints []string
		for _, x := range p.Indexed {
			prints = append(prints, x.Fingerprint.String())
		}
		if !held[strings.Join(prints, " ")] {
			t.Errorf("%.30s is not in the mirror", text)
		}
	}
}

func TestShip(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true, Contact: "desk",
		Purposes: []string{"thesis"}})
	o.ShareWith(t, "theses", "south", store.ShareRule{Level: concordat.ShowMetadata})
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Author: "Jane Doe", Text: sitetest.River + sitetest.Winter},
		site.Incoming{ID: "b", Text: sitetest.Garden}, site.Incoming{ID: "c", Text: sitetest.Mill})
	_, err := o.AnswerShip(t.Context(), "south", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
	refused(t, err, concordat.ReasonLevel)
	_, err = o.AnswerShip(t.Context(), "east", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
	refused(t, err, concordat.ReasonLibrary)
	m := &mirror{docs: map[concordat.Handle]concordat.ShippedDocument{}}
	m.sync(t, o, "north", "theses")
	m.want(t, o, sitetest.River+sitetest.Winter, sitetest.Garden, sitetest.Mill)
	named := 0
	for _, d := range m.docs {
		if d.Title == "Rivers" && d.Author == "Jane Doe" && d.Contact == "desk" {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%d documents are named", named)
	}
	before := m.got
	m.sync(t, o, "north", "theses")
	if m.got != before {
		t.Errorf("without a change %d documents came", m.got-before)
	}
	o.AddDocuments(t, "theses", site.Incoming{ID: "b", Text: sitetest.Bridge}, site.Incoming{ID: "d", Text: sitetest.School})
	sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "c"))
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	m.sync(t, o, "north", "theses")
	m.want(t, o, sitetest.River+sitetest.Winter, sitetest.Bridge, sitetest.School)
	if m.got != before+3 {
		t.Errorf("for three changes %d documents came", m.got-before)
	}
	// A cursor belongs to one partner and one set.
	for name, a := range map[string]*concordat.ShipAsk{
		"forged": {Epoch: o.Epoch, Library: "theses", Cursor: append([]byte{1}, m.cursor[1:]...)},
		"cut":    {Epoch: o.Epoch, Library: "theses", Cursor: m.cursor[:9]},
	} {
		if _, err := o.AnswerShip(t.Context(), "north", a); err == nil {
			t.Errorf("%s cursor is taken", name)
		} else {
			refused(t, err, concordat.ReasonUnknown)
		}
	}
	if _, err := o.AnswerShip(t.Context(), "north", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses",
		Cursor: make([]byte, 65)}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a cursor of 65 bytes: %v", err)
	}
	// The partner is told once that the mirror has ended, whatever the cause.
	sitetest.Must(t, o.Answerer.Shares.Unshare(t.Context(), "theses", "north"))
	_, err = o.AnswerShip(t.Context(), "north", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses", Cursor: m.cursor})
	refused(t, err, concordat.ReasonLibrary)
	withdrawnAre(t, o, "north", 1)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	withdrawnAre(t, o, "north", 2)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true, Expires: o.Clock.Now().Add(time.Hour)})
	withdrawnAre(t, o, "north", 2)
	o.Clock.Move(time.Hour)
	for range 2 {
		sitetest.Must(t, o.Sets.CatchUp(t.Context()))
		withdrawnAre(t, o, "north", 3)
	}
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	sitetest.Must(t, o.DeleteLibrary(t.Context(), "theses", nil))
	withdrawnAre(t, o, "north", 4)
}

// withdrawnAre counts the withdrawal notices in the outbox.
func withdrawnAre(t *testing.T, o *sitetest.Owner, partner concordat.SiteID, want int) {
	t.Helper()
	out, err := o.Notices.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	got := 0
	for _, x := range out {
		if x.Notice.Kind == concordat.NoticeWithdrawn && x.Partner == partner && x.Notice.Library == "theses" {
			got++
		}
	}
	if got != want {
		t.Errorf("%d notices of withdrawal, want %d", got, want)
	}
}

// TestShipPages: a shipment has a limited number of documents, and each document is on exactly one of the consecutive pages.
func TestShipPages(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	var in []site.Incoming
	var texts []string
	for i := range 410 {
		text := strings.Replace(sitetest.River, "ancient", fmt.Sprintf("ancient%d", i), 1)
		in, texts = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: text}), append(texts, text)
	}
	o.AddDocuments(t, "theses", in...)
	m := &mirror{docs: map[concordat.Handle]concordat.ShippedDocument{}}
	m.sync(t, o, "north", "theses")
	m.want(t, o, texts...)
	if m.got != 410 {
		t.Errorf("%d documents came, want 410", m.got)
	}
}

// TestShipAndOutline: a text that the partner has as word sets is not shipped. A shipped text is not shown in words, and is shown only in
// a job that disclosed it.
func TestShipAndOutline(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(sitetest.Passage, 5)},
		site.Incoming{ID: "b", Text: sitetest.Mill + sitetest.Bridge})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true, Outline: concordat.OutlineWords})
	a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
	if x := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]; x.Form != concordat.OutlineWords {
		t.Fatalf("got %+v", x)
	}
	m := &mirror{docs: map[concordat.Handle]concordat.ShippedDocument{}}
	m.sync(t, o, "north", "theses")
	m.want(t, o, sitetest.Mill+sitetest.Bridge)
	if len(m.withheld) != 1 || !m.withheld[d.Handle] {
		t.Errorf("withheld are %v, want the document that was shown in words", m.withheld)
	}
	for handle := range m.docs {
		x := o.Outline(t, "north", &concordat.Ask{Job: concordat.JobID{9, 9}, Epoch: o.Epoch},
			concordat.OutlineOf{Handle: handle, Ordinals: []int{0}})[0]
		if x.Refusal == nil || x.Refusal.Reason != concordat.ReasonUnknown {
			t.Errorf("got %+v", x)
		}
	}
	b, e, ordinals := o.Named(t, "north", sitetest.Mill+sitetest.Bridge, "theses")
	if x := o.Outline(t, "north", b, concordat.OutlineOf{Handle: e.Handle, Ordinals: ordinals})[0]; x.Refusal == nil {
		t.Errorf("a shipped text is shown in words: %+v", x)
	}
	sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "a"))
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	m.sync(t, o, "north", "theses")
	if len(m.withheld) != 0 {
		t.Error("of a withheld document that was deleted the partner is not told")
	}
}

// TestStandingAsk: later documents answer a standing question, once each, as far as the rule permits.
func TestStandingAsk(t *testing.T) {
	o := sitetest.NewOwner(t, "theses", "grants")
	rule := store.ShareRule{Level: concordat.ShowMetadata, Standing: true}
	o.ShareWith(t, "theses", "north", rule)
	o.ShareWith(t, "grants", "north", store.ShareRule{Level: concordat.ShowMetadata})
	a := o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses", "grants")
	a.Standing = true
	tell := o.Told(t, "north", a)
	if !tell.Libraries[0].Standing || tell.Libraries[1].Standing || tell.Libraries[0].Exists {
		t.Errorf("got %+v", tell.Libraries)
	}
	alerts := func(step string, want ...string) {
		t.Helper()
		out, err := o.Notices.Outbox(t.Context(), 0)
		sitetest.Must(t, err)
		if len(out) != len(want) {
			t.Fatalf("%s: %d notices, want %d: %+v", step, len(out), len(want), out)
		}
		for i, x := range out {
			if x.Partner != "north" || x.Notice.Kind != concordat.NoticeAlert || x.Notice.Job != a.Job ||
				x.Notice.Answer.Documents[0].Title != want[i] {
				t.Errorf("%s: got %+v, %+v", step, x, x.Notice.Answer)
			}
			sitetest.Must(t, o.Notices.Delivered(t.Context(), x))
		}
	}
	o.AddDocuments(t, "theses", site.Incoming{ID: "one", Title: "one sentence", Text: sitetest.River})
	o.AddDocuments(t, "grants", site.Incoming{ID: "g", Title: "not standing", Text: sitetest.Passage})
	o.AddDocuments(t, "theses", site.Incoming{ID: "other", Title: "other", Text: sitetest.Mill + sitetest.Bridge})
	alerts("nothing to tell")
	o.AddDocuments(t, "theses", site.Incoming{ID: "two", Title: "later", Text: sitetest.Long(sitetest.River+sitetest.Winter, 2)})
	out, err := o.Notices.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	if n := out[0].Notice.Answer; len(n.Hits) != 2 || out[0].Notice.Asked != len(a.Sentences) || n.Hits[0].Sentence != 0 ||
		n.Hits[1].Sentence != 1 || n.Documents[0].Matches != 2 || n.Libraries[0].Library != "theses" {
		t.Errorf("got tell %+v", n)
	}
	alerts("a later document", "later")
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	o.AddDocuments(t, "theses", site.Incoming{ID: "two", Title: "later", Text: sitetest.Long(sitetest.River+sitetest.Winter, 2)})
	alerts("nothing new")
	o.AddDocuments(t, "theses", site.Incoming{ID: "two", Title: "replaced", Text: sitetest.Long(sitetest.Winter+sitetest.Garden, 3)})
	alerts("another text", "replaced")
	// The partner can ask about a document named in the alert.
	handle := out[0].Notice.Answer.Documents[0].Handle
	if x := o.Outline(t, "north", a, concordat.OutlineOf{Handle: handle, Ordinals: []int{0, 1, 2, 3, 4, 5, 6}})[0]; x.Refusal == nil ||
		x.Refusal.Reason != concordat.ReasonLevel {
		t.Errorf("outline after an alert: %+v, want a refusal of the level", x)
	}
	// After an interruption between alert and set, the pass is repeated, and nothing is reported twice.
	working := o.Set.Index
	sitetest.Must(t, o.Ingest(t.Context(), "theses", sitetest.Docs(site.Incoming{ID: "three", Title: "cut",
		Text: sitetest.Garden + sitetest.River}),
		func(site.Ingested) error { return nil }))
	o.Set.Index = &cutIndex{Index: working, left: 0, after: true}
	if err := o.Sets.CatchUp(t.Context()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	o.Set.Index = working
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	alerts("after the cut", "cut")
	// A question is skipped because of its rule, its end, or a message from the requester.
	rule.Purposes = []string{"grant"}
	o.ShareWith(t, "theses", "north", rule)
	o.AddDocuments(t, "theses", site.Incoming{ID: "four", Text: sitetest.Passage})
	alerts("not for this purpose")
	rule.Purposes = nil
	o.ShareWith(t, "theses", "north", rule)
	sitetest.Must(t, o.Receive(t.Context(), "north", &concordat.Notice{Kind: concordat.NoticeEnded, Job: a.Job}))
	o.AddDocuments(t, "theses", site.Incoming{ID: "five", Text: sitetest.Passage})
	alerts("ended")
}

// TestOwnerIsAlerted: at each level, the owner's alert contains exactly what the partner learns about the pair of documents.
func TestOwnerIsAlerted(t *testing.T) {
	for _, c := range []struct {
		level concordat.Show
		want  []store.Alert
	}{
		{concordat.ShowExists, []store.Alert{{Source: concordat.Ref{Site: "here", Library: "theses"}}}},
		{concordat.ShowCounts, []store.Alert{{Source: concordat.Ref{Site: "here", Library: "theses"}, Sentences: 2}}},
		{concordat.ShowMetadata, []store.Alert{{Source: concordat.Ref{Site: "here", Library: "theses", Document: "late"}, Title: "A late one",
			Author: "Jane Doe", Sentences: 2, Spans: []concordat.Span{{Start: 0, End: 1}}}}},
	} {
		t.Run(string(c.level), func(t *testing.T) {
			o := sitetest.NewOwner(t, "theses")
			var some []site.Incoming
			for i := range 25 {
				some = append(some, site.Incoming{ID: concordat.DocumentID(strings.Repeat("d", i+1)), Text: sitetest.Mill + sitetest.Bridge})
			}
			o.AddDocuments(t, "theses", some...)
			o.ShareWith(t, "theses", "north", store.ShareRule{Level: c.level, Standing: true})
			a := o.Question(t, sitetest.Passage, concordat.ShowPassage, "theses")
			a.Standing = true
			asked := o.Clock.Now()
			if l := o.Told(t, "north", a).Libraries[0]; !l.Standing {
				t.Fatalf("got %+v", l)
			}
			o.Clock.Move(time.Hour)
			o.AddDocuments(t, "theses", site.Incoming{ID: "one", Title: "one sentence is not told", Text: sitetest.River})
			if as, err := o.Store.Alerts.Alerts(t.Context(), 0, 0); err != nil || len(as) != 0 {
				t.Fatalf("of what the partner is not told: %+v, %v", as, err)
			}
			o.AddDocuments(t, "theses", site.Incoming{ID: "late", Title: "A late one", Author: "Jane Doe",
				Text: sitetest.Long(sitetest.River+sitetest.Winter, 2)})
			got, err := o.Store.Alerts.Alerts(t.Context(), 0, 0)
			sitetest.Must(t, err)
			for i := range c.want {
				x := &c.want[i]
				x.Seq, x.Side, x.At, x.Partner, x.Asked, x.Purpose, x.Level = int64(i+1), store.AlertTold, o.Clock.Now(), "north", asked, a.Purpose,
					c.level
				x.Job = hex.EncodeToString(a.Job[:])
				if len(got) != len(c.want) {
					continue
				}
				if c.level == concordat.ShowCounts { // the partner's pseudonym for the document
					out, err := o.Notices.Outbox(t.Context(), 0)
					sitetest.Must(t, err)
					h := out[0].Notice.Answer.Documents[0].Handle
					x.Source.Document = concordat.DocumentID(hex.EncodeToString(h[:]))
				}
				for _, s := range got[i].Spans { // sentences of the document that match in the partner's alert
					if text := s.In(sitetest.Long(sitetest.River+sitetest.Winter, 2)); !strings.Contains(sitetest.River+sitetest.Winter,
						strings.TrimSpace(text)) {
						t.Errorf("span %v is %q", s, text)
					}
				}
				if len(x.Spans) > 0 && len(got[i].Spans) > 0 {
					x.Spans = got[i].Spans
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			sitetest.Must(t, o.Sets.CatchUp(t.Context()))
			if as, err := o.Store.Alerts.Alerts(t.Context(), 0, 0); err != nil || len(as) != len(c.want) {
				t.Errorf("again: %+v, %v", as, err)
			}
		})
	}
}

// TestReceive: matches and endings reported by others are checked before they are stored.
func TestReceive(t *testing.T) {
	o := sitetest.NewOwner(t)
	job := concordat.JobID{1}
	for name, n := range map[string]*concordat.Notice{
		"kind":     {Kind: "gossip", Job: job},
		"nothing":  {Kind: concordat.NoticeAlert, Job: job},
		"no job":   {Kind: concordat.NoticeAlert, Answer: &concordat.SiteAnswer{}},
		"library":  {Kind: concordat.NoticeWithdrawn},
		"decision": {Kind: concordat.NoticeDisclosure},
		"words":    {Kind: concordat.NoticeDisclosure, Job: job, Words: strings.Repeat("x", 5000)},
	} {
		if err := o.Receive(t.Context(), "north", n); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	asked := concordat.JobID{2}
	sitetest.Must(t, o.Store.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "t"}}))
	sitetest.Must(t, o.Store.Asks.PutAsk(t.Context(), store.Ask{Job: asked, Task: "t", Site: "north"}))
	told := &concordat.Notice{Kind: concordat.NoticeDisclosure, Job: asked, Words: "granted"}
	refused(t, o.Receive(t.Context(), "south", told), concordat.ReasonUnknown) // this partner was never asked
	sitetest.Must(t, o.Receive(t.Context(), "north", told))
	sitetest.Must(t, o.Receive(t.Context(), "south", &concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "l"}))
	in, err := o.Notices.Inbox(t.Context(), 0, 0)
	sitetest.Must(t, err)
	if len(in) != 1 || in[0].Partner != "north" || in[0].Notice.Words != "granted" {
		t.Fatalf("got %+v", in)
	}
	sitetest.Must(t, o.Notices.TakenIn(t.Context(), in[0].Seq))
	if in, err = o.Notices.Inbox(t.Context(), 0, 0); err != nil || len(in) > 0 {
		t.Errorf("left in the inbox: %+v, error %v", in, err)
	}
}

// TestOutbox: an undelivered notice waits longer after each attempt and is dropped after 30 days.
func TestOutbox(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	sitetest.Must(t, o.Answerer.Shares.Unshare(t.Context(), "theses", "north"))
	attempts := 0
	for day := 0; day < 32; day++ {
		out, err := o.Notices.Outbox(t.Context(), 0)
		sitetest.Must(t, err)
		for _, x := range out {
			attempts++
			sitetest.Must(t, o.Notices.Undelivered(t.Context(), x, concordat.ErrUnavailable))
		}
		o.Clock.Move(24 * time.Hour)
	}
	if out, err := o.Notices.Outbox(t.Context(), 0); err != nil || len(out) != 0 || attempts != 32 {
		t.Errorf("after 32 days and %d attempts %d notices are left, %v", attempts, len(out), err)
	}
}

func TestOpenTo(t *testing.T) {
	o := sitetest.NewOwner(t, "theses", "later", "over", "closed", "small")
	var in []site.Incoming
	for i := range 123 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)),
			Text: strings.Replace(sitetest.River, "ancient", fmt.Sprintf("ancient%d", i), 1)})
	}
	o.AddDocuments(t, "theses", in...)
	now := o.Clock.Now()
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowOverlap, Outline: concordat.OutlineWords,
		Purposes: []string{"thesis"}, Ship: true, Expires: now.Add(time.Hour)})
	o.ShareWith(t, "later", "north", store.ShareRule{Level: concordat.ShowMetadata, Embargo: now.Add(time.Hour)})
	o.ShareWith(t, "over", "north", store.ShareRule{Level: concordat.ShowMetadata, Expires: now})
	o.ShareWith(t, "closed", "south", store.ShareRule{Level: concordat.ShowMetadata})
	o.ShareWith(t, "small", "north", store.ShareRule{Level: concordat.ShowCounts})
	c, err := o.OpenTo(t.Context(), "north")
	sitetest.Must(t, err)
	if len(c.Libraries) != 2 || c.Libraries[0].ID != "later" || !c.Libraries[0].Embargo.Equal(now.Add(time.Hour)) {
		t.Fatalf("got %+v", c.Libraries)
	}
	l := c.Libraries[1]
	if l.Documents != 130 || l.Level != concordat.ShowOverlap || l.Outline != concordat.OutlineWords || !l.Ship || l.Standing ||
		l.Sentences != 20_000 || l.Disclosures != 500 ||
		len(l.Ready) != 1 || l.Ready[0].Ready != 1 || l.Ready[0].Scheme != o.Keyed.Scheme() || l.Title != "Library theses" {
		t.Errorf("got %+v", l)
	}
}

// TestHandles: handles of a document differ between requesters and do not reveal its name.
func TestHandles(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Passage})
	for _, p := range []concordat.SiteID{"north", "south"} {
		o.ShareWith(t, "theses", p, store.ShareRule{Level: concordat.ShowMetadata})
	}
	_, north, _ := o.Named(t, "north", sitetest.Passage, "theses")
	_, again, _ := o.Named(t, "north", sitetest.River+sitetest.Winter, "theses")
	job, south, _ := o.Named(t, "south", sitetest.Passage, "theses")
	if north.Handle != again.Handle || north.Handle == south.Handle || bytes.Contains(north.Handle[:], []byte("a\x00")) {
		t.Errorf("handles %x, %x, %x", north.Handle, again.Handle, south.Handle)
	}
	// One partner's handle is useless to another.
	if x := o.Outline(t, "south", job, concordat.OutlineOf{Handle: north.Handle, Ordinals: []int{0}})[0]; x.Refusal == nil {
		t.Errorf("got %+v", x)
	}
}

// TestShipIsAudited: the audit records what a partner mirrors and every refusal.
func TestShipIsAudited(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	o.ShareWith(t, "theses", "south", store.ShareRule{Level: concordat.ShowMetadata})
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter})
	for from, want := range map[concordat.SiteID]string{"north": `"documents":1`, "south": `"refused":"level"`,
		"east": `"refused":"library"`} {
		_, err := o.AnswerShip(t.Context(), from, &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
		lines, err2 := o.Store.Audit.Audit(t.Context(), 0, 0)
		sitetest.Must(t, err2)
		last := lines[len(lines)-1]
		if last.Action != "ship" || last.Actor != string(from) || !strings.Contains(string(last.Detail), want) ||
			(err != nil) != strings.Contains(string(last.Detail), "refused") {
			t.Errorf("%s: error %v, audit %s %s %s, want %s", from, err, last.Actor, last.Action, last.Detail, want)
		}
	}
}

// TestSetKeepsNothingDeleted: if a deleted document cannot be removed from a partner set, the failure is reported and the document is
// removed next time.
func TestSetKeepsNothingDeleted(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River}, site.Incoming{ID: "b", Text: sitetest.Garden})
	sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "a"))
	broken := errors.New("the disk is broken")
	o.Set.DeleteErr = broken
	if err := o.Sets.CatchUp(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	o.Set.DeleteErr = nil
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	if tell := o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")); len(tell.Documents) != 0 {
		t.Errorf("%d documents are told of, want none", len(tell.Documents))
	}
	held, err := o.Set.Document(t.Context(), concordat.Ref{Site: "here", Library: "theses", Document: "a"})
	if !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the set holds %v, %v", held, err)
	}
}
