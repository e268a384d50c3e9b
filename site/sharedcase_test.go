package site_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
)

// sharedCase makes two sites, a and b, where partner b has told a about a later document. It returns both sites, and the case as stored
// by each.
func sharedCase(t *testing.T, level concordat.Show) (a, b *sitetest.Member, ofA, ofB store.SharedCase) {
	t.Helper()
	a, b = sitetest.NewMember(t, "a", "calls"), sitetest.NewMember(t, "b", "theses")
	some := []site.Incoming{{ID: "first", Text: sitetest.River + sitetest.Winter}}
	for i := range 25 { // with fewer, no numbers are given
		some = append(some, site.Incoming{ID: concordat.DocumentID(strings.Repeat("d", i+1)), Text: sitetest.Mill + sitetest.Bridge})
	}
	b.Add(t, "theses", some...)
	rule := openRule
	rule.Level = level
	b.ShareAll(t, "a", rule, "theses")
	a.Found(t, sitetest.Bakery+sitetest.Orchard+sitetest.Foundry,
		site.CheckOptions{Partners: []site.PartnerLibraries{b.SeenBy("a", "theses")}, Standing: true})
	b.Add(t, "theses", site.Incoming{ID: "late", Title: "A late one", Author: "Writer, Anna",
		Text: sitetest.Bakery + sitetest.Orchard + sitetest.Foundry})
	sitetest.Must(t, b.Sets.CatchUp(t.Context()))
	bringNotices(t, b, a)
	return a, b, theCase(t, a), theCase(t, b)
}

// theCase returns a site's only case.
func theCase(t *testing.T, m *sitetest.Member) store.SharedCase {
	t.Helper()
	all, err := m.Store.Cases.List(t.Context(), false, 0, 0)
	sitetest.Must(t, err)
	if len(all) != 1 {
		t.Fatalf("cases of %s: %+v", m.SiteID, all)
	}
	return all[0]
}

func eraserOf(m *sitetest.Member) *retain.Eraser {
	return retain.New(m.Site, retain.Options{Store: m.Store, Answers: m.Answerer})
}

func moveCase(t *testing.T, m *sitetest.Member, x store.SharedCase, move retain.CaseMove) store.SharedCase {
	t.Helper()
	x, err := retain.MoveCase(t.Context(), m.Site, m.Store, x.ID, "officer of "+string(m.SiteID), move)
	sitetest.Must(t, err)
	return x
}

// carryOut performs a site's pending deletions, and then sends the messages about them.
func carryOut(t *testing.T, m *sitetest.Member) {
	t.Helper()
	for range 3 {
		_, err := eraserOf(m).Resume(t.Context())
		sitetest.Must(t, err)
	}
}

// TestSharedCase: both sites see one case about a later document, and the case is settled once both have made the same decision.
func TestSharedCase(t *testing.T) {
	a, b, ofA, ofB := sharedCase(t, concordat.ShowMetadata)
	if ofA.ID != ofB.ID || ofA.Side != store.AlertFound || ofB.Side != store.AlertTold || ofA.Task == "" || ofB.Task != "" ||
		ofB.Source.Document != "late" || ofA.Source.Document == "late" || ofA.Title != "A late one" {
		t.Fatalf("of a %+v, of b %+v", ofA, ofB)
	}
	moveCase(t, a, ofA, retain.CaseMove{State: concordat.CaseConfirmed, Words: "two chapters", Contact: "dean@a.example"})
	bringNotices(t, a, b)
	if x := theCase(t, b); x.State != concordat.CaseOpen || x.Theirs.State != concordat.CaseConfirmed || x.Theirs.Words != "two chapters" ||
		x.Theirs.Contact != "dean@a.example" || x.Theirs.By != "" || !x.Own.At.IsZero() {
		t.Errorf("one confirmed: %+v", x)
	}
	moveCase(t, b, ofB, retain.CaseMove{State: concordat.CaseConfirmed})
	bringNotices(t, b, a)
	if x, y := theCase(t, a), theCase(t, b); x.State != concordat.CaseConfirmed || y.State != concordat.CaseConfirmed {
		t.Errorf("both confirmed: %s, %s", x.State, y.State)
	}
	// The later statement counts, whatever the order of arrival.
	moveCase(t, a, ofA, retain.CaseMove{State: concordat.CaseOpen})
	moveCase(t, a, ofA, retain.CaseMove{State: concordat.CaseCleared})
	out, err := a.Notices.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	slices.Reverse(out)
	for _, o := range out {
		sitetest.Must(t, b.Receive(t.Context(), "a", &o.Notice))
	}
	if x := theCase(t, b); x.Theirs.State != concordat.CaseCleared || x.State != concordat.CaseOpen {
		t.Errorf("after two words in the wrong order: %+v", x)
	}
}

// TestCaseDecidedByAsker: the asker decides. Its text and its question are deleted, each site has a receipt, and the other site has the
// receipt's checksum.
func TestCaseDecidedByAsker(t *testing.T) {
	a, b, ofA, _ := sharedCase(t, concordat.ShowMetadata)
	moveCase(t, a, ofA, retain.CaseMove{Decision: concordat.Rejected})
	bringNotices(t, a, b)
	if n, err := b.Store.Partners.StandingSentences(t.Context(), "a", ofA.Job); err != nil || n != 0 {
		t.Errorf("%d sentences stand at b, %v", n, err)
	}
	carryOut(t, a)
	carryOut(t, b)
	bringNotices(t, a, b)
	bringNotices(t, b, a)
	x, y := theCase(t, a), theCase(t, b)
	if x.Own.Receipt == "" || y.Own.Receipt == "" || x.Own.Receipt != y.Theirs.Receipt || y.Own.Receipt != x.Theirs.Receipt ||
		y.Theirs.Decision != concordat.Rejected || y.Own.Decision != "" || y.Questions == 0 || x.Work+y.Work != "" {
		t.Errorf("of a %+v, of b %+v", x, y)
	}
	if r := receiptOf(t, a, x); len(r.Texts) != 1 || r.Texts[0].Task != ofA.Task || r.Texts[0].Bytes == 0 {
		t.Errorf("receipt of a %+v", r)
	}
	if r := receiptOf(t, b,
		y); len(r.Questions) != 1 || r.Questions[0].Partner != "a" || r.Questions[0].Job != hex.EncodeToString(ofA.Job[:]) {
		t.Errorf("receipt of b %+v", r)
	}
	f, err := a.Findings(t.Context(), ofA.Task)
	sitetest.Must(t, err)
	if f.TextKept() || strings.Contains(f.Submission.Text, "baker") {
		t.Errorf("the text stays: %q", f.Submission.Text)
	}
	if tasks, err := a.StandingChecks(t.Context()); err != nil || len(tasks) != 0 {
		t.Errorf("standing %v, %v", tasks, err)
	}
	if _, err := retain.MoveCase(t.Context(), a.Site, a.Store, x.ID, "o", retain.CaseMove{Decision: concordat.Accepted}); !errors.Is(err,
		concordat.ErrInvalid) {
		t.Errorf("decided twice: %v", err)
	}
	b.Add(t, "theses", site.Incoming{ID: "later", Text: sitetest.Bakery + sitetest.Orchard + sitetest.Foundry})
	sitetest.Must(t, b.Sets.CatchUp(t.Context()))
	if out, err := b.Notices.Outbox(t.Context(), 0); err != nil || len(out) != 0 {
		t.Errorf("b goes on to tell: %+v, %v", out, err)
	}
}

// TestCaseDecidedByOwner: the owner decides. Its document is deleted from the library and from the fingerprints used for answers.
func TestCaseDecidedByOwner(t *testing.T) {
	a, b, ofA, ofB := sharedCase(t, concordat.ShowMetadata)
	moveCase(t, b, ofB, retain.CaseMove{State: concordat.CaseCleared, Decision: concordat.Accepted})
	carryOut(t, b)
	bringNotices(t, b, a)
	x, y := theCase(t, a), theCase(t, b)
	if y.Own.Receipt == "" || x.Theirs.Receipt != y.Own.Receipt || x.Theirs.Decision != concordat.Accepted || y.Title != "" ||
		y.Source.Document != "" || x.Own.Receipt != "" {
		t.Errorf("of a %+v, of b %+v", x, y)
	}
	if r := receiptOf(t, b, y); len(r.Documents) != 1 || r.Documents[0].Name != retain.DocumentName("theses", "late") {
		t.Errorf("receipt %+v", r)
	}
	if _, err := b.Store.Catalogue.DocumentRow(t.Context(), "theses", "late"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the document: %v", err)
	}
	f := a.Found(t, sitetest.Bakery+sitetest.Orchard+sitetest.Foundry,
		site.CheckOptions{Partners: []site.PartnerLibraries{b.SeenBy("a", "theses")}})
	if got := sitetest.FoundAt(f); len(got) != 0 {
		t.Errorf("b still finds %v", got)
	}
	// a keeps its check, because b's decision concerns b's document.
	if f, err := a.Findings(t.Context(), ofA.Task); err != nil || !f.TextKept() {
		t.Errorf("text of a: %v", err)
	}
}

// TestCaseDecidedKept: a decision to keep the document deletes nothing.
func TestCaseDecidedKept(t *testing.T) {
	a, b, ofA, _ := sharedCase(t, concordat.ShowMetadata)
	moveCase(t, a, ofA, retain.CaseMove{Decision: concordat.Accepted, Keep: true})
	carryOut(t, a)
	f, err := a.Findings(t.Context(), ofA.Task)
	sitetest.Must(t, err)
	if x := theCase(t, a); !f.TextKept() || x.Erasure != "" || x.Own.Receipt != "" {
		t.Errorf("case %+v", x)
	}
	_ = b
}

// TestCaseTerm: after a decision with a term, this site's document is deleted when the term ends, and the partner's copy is deleted at
// once. The partner's own decision in the meantime is carried out but does not end the term.
func TestCaseTerm(t *testing.T) {
	a, b, ofA, ofB := sharedCase(t, concordat.ShowMetadata)
	moveCase(t, a, ofA, retain.CaseMove{Decision: concordat.Accepted, After: time.Hour})
	moveCase(t, b, ofB, retain.CaseMove{Decision: concordat.Rejected, After: time.Hour})
	bringNotices(t, a, b)
	bringNotices(t, b, a)
	carryOut(t, a)
	carryOut(t, b)
	x, y := theCase(t, a), theCase(t, b)
	if f, err := a.Findings(t.Context(), ofA.Task); err != nil || !f.TextKept() || x.Own.Due.IsZero() || x.Own.Receipt != "" ||
		x.Work != store.CaseWait {
		t.Errorf("of a %+v, %v", x, err)
	}
	if _, err := b.Store.Catalogue.DocumentRow(t.Context(), "theses", "late"); err != nil || y.Questions == 0 || y.Own.Receipt == "" ||
		y.Own.Due.IsZero() || y.Work != store.CaseWait {
		t.Errorf("of b %+v, %v", y, err)
	}
	for _, m := range []*sitetest.Member{a, b} {
		s := site.New(site.Options{ID: m.SiteID, Index: m.Index, Store: m.Store, Profiler: m.Profiler,
			Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
		e := retain.New(s, retain.Options{Store: m.Store, Answers: m.Answerer})
		dry, err := e.Sweep(t.Context(), retain.Retention{}, true)
		sitetest.Must(t, err)
		did, err := e.Sweep(t.Context(), retain.Retention{}, false)
		sitetest.Must(t, err)
		if dry.Cases != 1 || len(dry.Receipts) != 0 || did.Cases != 1 || len(did.Receipts) == 0 {
			t.Errorf("%s: would sweep %+v, swept %+v", m.SiteID, dry, did)
		}
		carryOut(t, m)
	}
	x, y = theCase(t, a), theCase(t, b)
	if f, err := a.Findings(t.Context(), ofA.Task); err != nil || f.TextKept() || x.Own.Receipt == "" || !x.Own.Due.IsZero() || x.Work != "" {
		t.Errorf("after the term a %+v, %v", x, err)
	}
	if _, err := b.Store.Catalogue.DocumentRow(t.Context(), "theses", "late"); !errors.Is(err, concordat.ErrNotFound) || y.Work != "" {
		t.Errorf("after the term b %+v, %v", y, err)
	}
}

// TestCaseBelowMetadata: the owner's officers learn no more from a case than the partner does, so a case does not let them delete the
// document.
func TestCaseBelowMetadata(t *testing.T) {
	for _, level := range []concordat.Show{concordat.ShowExists, concordat.ShowCounts} {
		_, b, ofA, ofB := sharedCase(t, level)
		if ofA.ID != ofB.ID || ofA.Title+ofB.Title != "" || ofB.Source.Document == "late" {
			t.Errorf("%s: of a %+v, of b %+v", level, ofA, ofB)
		}
		move := retain.CaseMove{Decision: concordat.Rejected}
		if _, err := retain.MoveCase(t.Context(), b.Site, b.Store, ofB.ID, "o", move); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", level, err)
		}
		move.Keep = true
		moveCase(t, b, ofB, move)
	}
}

// TestCaseOfOthers: a partner's statement about a case that does not involve it changes nothing, nor does a meaningless one.
func TestCaseOfOthers(t *testing.T) {
	_, b, _, ofB := sharedCase(t, concordat.ShowMetadata)
	note := func(change func(*concordat.Notice)) *concordat.Notice {
		n := &concordat.Notice{Kind: concordat.NoticeCase, Job: ofB.Job, At: time.Now().Add(time.Hour),
			Case: &concordat.CaseNote{ID: ofB.ID, State: concordat.CaseCleared, Decision: concordat.Withdrawn}}
		change(n)
		return n
	}
	refusedBusy(t, b.Receive(t.Context(), "c", note(func(*concordat.Notice) {})))
	refusedBusy(t, b.Receive(t.Context(), "a", note(func(n *concordat.Notice) { n.Job[0]++ })))
	refusedBusy(t, b.Receive(t.Context(), "a", note(func(n *concordat.Notice) { n.Case.ID[0]++ })))
	for name, change := range map[string]func(*concordat.Notice){
		"no job":  func(n *concordat.Notice) { n.Job = concordat.JobID{} },
		"nothing": func(n *concordat.Notice) { n.Case = nil },
		"words":   func(n *concordat.Notice) { n.Words = strings.Repeat("x", concordat.MaxCaseWords+1) },
		"contact": func(n *concordat.Notice) { n.Case.Contact = strings.Repeat("x", concordat.MaxCaseContact+1) },
	} {
		if err := b.Receive(t.Context(), "a", note(change)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if x := theCase(t, b); x.Theirs != (store.CasePosition{}) || x.Work != "" {
		t.Errorf("the case %+v", x)
	}
	for name, m := range map[string]retain.CaseMove{
		"nothing":  {},
		"state":    {State: "guilty"},
		"decision": {Decision: "burnt"},
		"words":    {State: concordat.CaseOpen, Words: strings.Repeat("x", concordat.MaxCaseWords+1)},
		"contact":  {State: concordat.CaseOpen, Contact: strings.Repeat("x", concordat.MaxCaseContact+1)},
	} {
		if _, err := retain.MoveCase(t.Context(), b.Site, b.Store, ofB.ID, "o", m); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("move %s: got %v", name, err)
		}
	}
}

// receiptOf returns the receipt of the latest deletion in a case; its checksum is sent to the partner.
func receiptOf(t *testing.T, m *sitetest.Member, x store.SharedCase) retain.Receipt {
	t.Helper()
	row, err := m.Store.Retention.Erasure(t.Context(), x.Erasure)
	sitetest.Must(t, err)
	var r retain.Receipt
	sitetest.Must(t, json.Unmarshal(row.Receipt, &r))
	sum, err := r.Sum()
	sitetest.Must(t, err)
	if hex.EncodeToString(sum[:]) != x.Own.Receipt {
		t.Errorf("sum %x, told %s", sum, x.Own.Receipt)
	}
	return r
}

func refusedBusy(t *testing.T, err error) {
	t.Helper()
	var no *concordat.Refusal
	if !errors.As(err, &no) || no.Reason != concordat.ReasonBusy {
		t.Errorf("got %v, want busy", err)
	}
}
