package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/align"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

func TestOutline(t *testing.T) {
	for _, form := range []string{concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run(form, func(t *testing.T) {
			o := sitetest.NewOwner(t, "theses")
			text := sitetest.Long(sitetest.Passage, 60)
			o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: text})
			o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: form})
			a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
			if d.Outline != form {
				t.Errorf("the outline is told to be %q", d.Outline)
			}
			out := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals},
				concordat.OutlineOf{Handle: concordat.Handle{1}, Ordinals: ordinals},
				concordat.OutlineOf{Handle: d.Handle, Ordinals: []int{0, 1, 99999, -1}})
			if r := out[1].Refusal; r == nil || r.Reason != concordat.ReasonUnknown {
				t.Errorf("a handle that was never told: %+v", out[1])
			}
			if r := out[2].Refusal; r == nil || r.Reason != concordat.ReasonUnknown {
				t.Errorf("sentences that were never told: %+v", out[2])
			}
			got := out[0]
			if got.Refusal != nil || got.Form != form || got.Length != len(text) {
				t.Fatalf("got %+v", got)
			}
			start, end := strings.Index(text, sitetest.Passage), strings.Index(text, sitetest.Passage)+len(sitetest.Passage)
			before, after := 0, 0
			for _, u := range got.Units {
				if u.Span.End <= start {
					before++
				}
				if u.Span.Start >= end {
					after++
				}
				if form == concordat.OutlineWords && u.Fingerprint != (concordat.Fingerprint{}) || form == concordat.OutlineFingerprints &&
					(u.Words != nil || u.Features == 0) {
					t.Errorf("unit %+v is in two forms", u)
				}
			}
			if before > 4 || after > 4 || before < 3 || after < 3 {
				t.Errorf("%d units before and %d after the passage are shown, want 4 at most", before, after)
			}
			// The other sketch of the same text is refused, whatever the text is called.
			other := map[string]string{concordat.OutlineWords: concordat.OutlineFingerprints,
				concordat.OutlineFingerprints: concordat.OutlineWords}[form]
			o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: other})
			again := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]
			if again.Refusal == nil || again.Refusal.Reason != concordat.ReasonLevel {
				t.Errorf("two sketches of one text are shown: %+v", again)
			}
			sitetest.Must(t, o.DeleteDocuments(t.Context(), "theses", "a"))
			o.AddDocuments(t, "theses", site.Incoming{ID: "copy", Text: text})
			a, d, ordinals = o.Named(t, "north", sitetest.Passage, "theses")
			if again = o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]; again.Refusal == nil {
				t.Error("two sketches of one text are shown under two names")
			}
			if gone := o.Outline(t, "north", a, concordat.OutlineOf{Handle: got.Handle, Ordinals: ordinals})[0]; gone.Refusal == nil {
				t.Error("a deleted document is shown")
			}
		})
	}
}

// TestOneSketchInBothDirections: a sentence whose fingerprint this site sent to the partner in a question is left out of an outline in
// words, and vice versa.
func TestOneSketchInBothDirections(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 40)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords})
	form := "fingerprints " + sitetest.TestEpoch.String() + " " + string(o.Keyed.Scheme())
	sent := func(sentence string) bool {
		t.Helper()
		withheld, err := o.Store.Asks.Expose(t.Context(), "north", form, []store.Digest{store.SentenceDigest(sentence)})
		sitetest.Must(t, err)
		return !withheld[0]
	}
	if !sent(strings.TrimSpace(sitetest.Winter)) {
		t.Fatal("a sentence that nobody was shown is withheld")
	}
	a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
	out := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]
	if out.Refusal != nil {
		t.Fatalf("got %+v", out)
	}
	covered := func(sentence string) bool {
		at := strings.Index(text, sentence)
		return slices.ContainsFunc(out.Units, func(u concordat.OutlineUnit) bool {
			return u.Span.Overlaps(concordat.Span{Start: at + 1, End: at + len(sentence) - 2})
		})
	}
	if covered(sitetest.Winter) || !covered(sitetest.River) || !covered(sitetest.Garden) {
		t.Errorf("covered: %v, %v, %v; want only the sentences that were not sent", covered(sitetest.Winter), covered(sitetest.River),
			covered(sitetest.Garden))
	}
	if sent(strings.TrimSpace(sitetest.Garden)) {
		t.Error("the fingerprint of a sentence is sent to a partner that has its words")
	}
}

// TestOutlineAligns: an asker aligns its text with the outline and gets the exact edges from the edge round, which shows nothing outside
// the matches.
func TestOutlineAligns(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage+sitetest.Mill+sitetest.Bridge+sitetest.School, 60)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords})
	sub := "An introduction of its own stands before what was taken from elsewhere, in words that nobody else has used. " + sitetest.Passage + sitetest.Mill +
		sitetest.Bridge + sitetest.School
	a, d, ordinals := o.Named(t, "north", sub, "theses")
	out := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]
	theirs := align.Sketch{Bits: out.Bits}
	for _, u := range out.Units {
		theirs.Units = append(theirs.Units, align.SketchUnit{Ordinal: u.Ordinal, Span: u.Span, Chars: u.Chars, Words: u.Words})
	}
	prepared := align.Prepare(sub)
	mine, err := prepared.Sketch(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), out.Bits)
	sitetest.Must(t, err)
	left, err := mine.Text()
	sitetest.Must(t, err)
	right, err := theirs.Text()
	sitetest.Must(t, err)
	literal := align.Literal(left, right, align.Options{})
	if len(literal) != 1 {
		t.Fatalf("got %d literal passages, want 1", len(literal))
	}
	order, err := prepared.Order(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), literal[0].A)
	sitetest.Must(t, err)
	q := &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
		Passages: []concordat.EdgePassage{{Span: literal[0].B, Words: order.Words}}}
	edges, err := o.AnswerEdges(t.Context(), "north", q)
	sitetest.Must(t, err)
	copies := edges.Passages[0]
	want := strings.TrimRight(sitetest.Passage+sitetest.Mill+sitetest.Bridge+sitetest.School, ". ") // without the full stop
	if len(copies) != 1 || sub[order.Spans[copies[0].From].Start:order.Spans[copies[0].To-1].End] != want || copies[0].Span.In(text) != want {
		t.Fatalf("got copies %+v", copies)
	}
	// A requester that has the whole text learns only about the surroundings of the matches.
	every, err := align.Prepare(text).Order(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), concordat.Span{End: len(text)})
	sitetest.Must(t, err)
	all, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
		Passages: []concordat.EdgePassage{{Span: concordat.Span{End: len(text)}, Words: every.Words}}})
	sitetest.Must(t, err)
	at := strings.Index(text, want)
	if len(all.Passages[0]) == 0 {
		t.Error("no copies are told")
	}
	for _, c := range all.Passages[0] {
		if at-c.Span.Start > 4*260 || c.Span.End-at-len(want) > 4*260 {
			t.Errorf("a copy is told from %d to %d, the passage is %d to %d", c.Span.Start, c.Span.End, at, at+len(want))
		}
	}
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords, NoEdges: true})
	_, err = o.AnswerEdges(t.Context(), "north", q)
	refused(t, err, concordat.ReasonLevel)
}

// TestTemplateAttack (D3): a partner that knows a sentence except for one word keeps guessing that word. Replies contain only words that
// the partner sent, each attempt costs, and too many at once are refused.
func TestTemplateAttack(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	secret := "After the operation the patient in bed seventeen was given colchicine twice a day until the fever had left him entirely. "
	text := sitetest.Long(secret+sitetest.River, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	rule := store.ShareRule{Level: concordat.ShowOverlap, Matches: 1, Limits: store.Limits{Sentences: -1, Burst: -1, Opened: 8}}
	o.ShareWith(t, "theses", "north", rule)
	fillings := []string{"aspirin", "colchicine", "penicillin", "quinine", "laudanum", "morphine", "digitalis", "arsenic", "brandy", "water"}
	opened, named := 0, 0
	for _, f := range append(fillings, slices.Repeat(fillings[:1], 8)...) {
		guess := strings.Replace(secret, "colchicine", f, 1)
		a := o.Question(t, guess, concordat.ShowPassage, "theses")
		tell := o.Told(t, "north", a)
		if len(tell.Documents) == 0 {
			continue // refused because there are too many variants of one sentence
		}
		named++
		d := tell.Documents[0]
		r, err := o.AnswerReveal(t.Context(), "north", o.RevealAsk(a, d, concordat.ShowOverlap, text, guess, secret))
		if err != nil {
			refused(t, err, concordat.ReasonBudget)
			continue
		}
		opened++
		if r.State != concordat.DisclosureGranted || r.Passages[0].Text != "" {
			t.Errorf("%s: got %+v", f, r)
		}
		var shown []string
		for _, sp := range r.Passages[0].Shared {
			shown = append(shown, sp.In(guess))
		}
		b, err := json.Marshal(r)
		sitetest.Must(t, err)
		if all := strings.Join(shown, " "); strings.Contains(all, f) != (f == "colchicine") || f != "colchicine" &&
			strings.Contains(string(b), "colchicine") {
			t.Errorf("%s: the reply tells %q, %s", f, shown, b)
		}
	}
	if opened != 8 || named > 3+8 {
		t.Errorf("%d of %d fillings were opened, want 8, the document's budget, of 11 at most", opened, named)
	}
	o.ShareWith(t, "theses", "south", rule)
	heap := strings.Replace(secret, "colchicine", strings.Join(append(fillings, fillings...), " "), 1)
	a, d, _ := o.Named(t, "south", strings.Replace(secret, "colchicine", "aspirin", 1), "theses")
	_, err := o.AnswerReveal(t.Context(), "south", o.RevealAsk(a, d, concordat.ShowOverlap, text, heap+heap, secret))
	refused(t, err, concordat.ReasonGate)
	_, err = o.AnswerReveal(t.Context(), "south", o.RevealAsk(a, d, concordat.ShowPassage, text, secret, secret))
	refused(t, err, concordat.ReasonLevel)
	// Asking with a different text does not reveal text that the requester lacks.
	r, err := o.AnswerReveal(t.Context(), "south", o.RevealAsk(a, d, concordat.ShowOverlap, text,
		"The day was twice left in bed by him until seventeen.", secret))
	sitetest.Must(t, err)
	if len(r.Passages[0].Shared) > 0 {
		t.Errorf("few words in common are told: %v", r.Passages[0].Shared)
	}
	// A distant match opens nothing.
	far, truth, west := "", o.Question(t, secret, concordat.ShowMetadata, "theses").Sentences[0].Fingerprint, concordat.SiteID("")
	for n, words := 0, strings.Fields(secret); far == "" && n < len(words)-1; n++ {
		words[n] = "xylophone" + words[n]
		f := o.Question(t, strings.Join(words, " "), concordat.ShowMetadata, "theses")
		west = concordat.SiteID(fmt.Sprint("west", n)) // after its first question, this partner gets no exact answer
		o.ShareWith(t, "theses", west, rule)
		if tell := o.Told(t, west, f); len(tell.Hits) > 0 && f.Sentences[0].Fingerprint.Distance(truth) > 15 {
			far = strings.Join(words, " ")
		}
	}
	fa, fd, _ := o.Named(t, west, far, "theses")
	_, err = o.AnswerReveal(t.Context(), west, o.RevealAsk(fa, fd, concordat.ShowOverlap, text, far, secret))
	refused(t, err, concordat.ReasonGate)
	// Nothing outside the matches is shown.
	_, err = o.AnswerReveal(t.Context(), "south", o.RevealAsk(a, d, concordat.ShowOverlap, text, "paragraph number",
		"paragraph number 11 treats of matters 7"))
	refused(t, err, concordat.ReasonGate)
}

// TestOverlapTellsOwnWordsOnly: random requesters at level overlap never get a span outside their own text, or words outside the passage.
func TestOverlapTellsOwnWordsOnly(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowOverlap,
		Limits: store.Limits{Sentences: -1, Burst: -1, Opened: -1, Disclosures: -1, Characters: -1}})
	a, d, _ := o.Named(t, "north", sitetest.Passage, "theses")
	rng := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		words := strings.Fields(sitetest.Passage)
		for range rng.IntN(len(words)) {
			words[rng.IntN(len(words))] = []string{"frozen", "of", "walrus", "the", "Winter"}[rng.IntN(5)]
		}
		mine := strings.Join(words, " ")
		r, err := o.AnswerReveal(t.Context(), "north", o.RevealAsk(a, d, concordat.ShowOverlap, text, mine, sitetest.Passage))
		sitetest.Must(t, err)
		end := 0
		for _, sp := range r.Passages[0].Shared {
			if sp.Start < end || sp.End > len(mine) || sp.End <= sp.Start {
				t.Fatalf("span %v of a text of %d bytes", sp, len(mine))
			}
			end = sp.End
			for _, w := range strings.Fields(sp.In(mine)) {
				if !strings.Contains(strings.ToLower(sitetest.Passage), strings.ToLower(strings.Trim(w, ".,"))) {
					t.Errorf("%q is told to be in the passage", w)
				}
			}
		}
	}
}

// TestApproval: a passage is shown only after a person has agreed, and only for as long as the rule says; both sides can see the state of
// the request.
func TestApproval(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowPassage, Approval: 48 * time.Hour,
		Limits: store.Limits{Opened: -1}})
	a, d, _ := o.Named(t, "north", sitetest.Passage, "theses")
	q := o.RevealAsk(a, d, concordat.ShowPassage, text, sitetest.River+sitetest.Winter, sitetest.River+sitetest.Winter)
	q.Reason, q.Contact = "a thesis is examined", "dean@north"
	state := func(want string) *concordat.Revealed {
		t.Helper()
		r, err := o.AnswerReveal(t.Context(), "north", q)
		sitetest.Must(t, err)
		if r.State != want || (len(r.Passages) > 0) != (want == concordat.DisclosureGranted) {
			t.Fatalf("got %+v, want %s", r, want)
		}
		return r
	}
	only := func(want string) store.Disclosure {
		t.Helper()
		ds, err := o.Requests.Disclosures(t.Context(), want, 0)
		sitetest.Must(t, err)
		if len(ds) != 1 || ds[0].Partner != "north" || ds[0].Reason != q.Reason || ds[0].Contact != q.Contact || ds[0].Document != "a" {
			t.Fatalf("got %+v, want one that is %s", ds, want)
		}
		return ds[0]
	}
	state(concordat.DisclosurePending)
	state(concordat.DisclosurePending)
	one := only(concordat.DisclosurePending)
	if _, err := o.Requests.Withdraw(t.Context(), one.ID, "librarian", "no grant yet"); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a pending request is withdrawn: %v", err)
	}
	_, err := o.Requests.Decide(t.Context(), one.ID, "librarian", true, "in order")
	sitetest.Must(t, err)
	if r := state(concordat.DisclosureGranted); r.Passages[0].Text != sitetest.River+sitetest.Winter || r.Words != "in order" ||
		!r.Until.Equal(o.Clock.Now().Add(48*time.Hour)) {
		t.Errorf("got %+v", r)
	}
	if _, err := o.Requests.Decide(t.Context(), one.ID, "another", false, "too late"); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("decided twice: %v", err)
	}
	_, err = o.Requests.Withdraw(t.Context(), one.ID, "librarian", "a mistake")
	sitetest.Must(t, err)
	if r := state(concordat.DisclosureWithdrawn); r.Words != "a mistake" {
		t.Errorf("got %+v", r)
	}
	only(concordat.DisclosureWithdrawn)
	notices, err := o.Notices.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	if len(notices) != 2 || notices[0].Notice.Kind != concordat.NoticeDisclosure || notices[0].Notice.Job != a.Job ||
		notices[0].Partner != "north" {
		t.Errorf("got notices %+v", notices)
	}
	// A different passage is refused. A request for a third passage is not answered in time and can be repeated.
	q.Passages[0].Span.End -= len(sitetest.Winter)
	state(concordat.DisclosurePending)
	for words, want := range map[string]error{" \n": answer.ErrNoWords, strings.Repeat("n", answer.MaxWords+1): answer.ErrLongWords} {
		if _, err := o.Requests.Decide(t.Context(), only(concordat.DisclosurePending).ID, "librarian", false, words); !errors.Is(err, want) {
			t.Errorf("refused with %d bytes of words: %v", len(words), err)
		}
	}
	_, err = o.Requests.Decide(t.Context(), only(concordat.DisclosurePending).ID, "librarian", false, "no")
	sitetest.Must(t, err)
	state(concordat.DisclosureRefused)
	q.Passages[0].Span.End += len(sitetest.Winter) + len(sitetest.Garden)
	q.Passages[0].Text = sitetest.River + sitetest.Winter + sitetest.Garden
	state(concordat.DisclosurePending)
	o.Clock.Move(49 * time.Hour)
	expired := only(concordat.DisclosureExpired)
	if _, err := o.Requests.Decide(t.Context(), expired.ID, "librarian", true, ""); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("an expired request is granted: %v", err)
	}
	state(concordat.DisclosurePending)
	_, err = o.Requests.Decide(t.Context(), only(concordat.DisclosurePending).ID, "librarian", true, "")
	sitetest.Must(t, err)
	state(concordat.DisclosureGranted)
	o.Clock.Move(49 * time.Hour)
	state(concordat.DisclosureExpired)
	exposure, err := o.Exposure(t.Context(), "north", 10)
	sitetest.Must(t, err)
	if i := slices.IndexFunc(exposure.Sums, func(x store.ShowingSum) bool { return x.Form == store.FormPassage }); i < 0 ||
		exposure.Sums[i].Characters != len(sitetest.River+sitetest.Winter)+len(sitetest.River+sitetest.Winter+sitetest.Garden) ||
		exposure.Sums[i].Documents != 1 {
		t.Errorf("got exposure %+v", exposure.Sums)
	}
}

// Sent requests are stored with their state.
func TestRequested(t *testing.T) {
	o := sitetest.NewOwner(t)
	a := &concordat.RevealAsk{Job: concordat.JobID{1}, Handle: concordat.Handle{2}, Reason: "r",
		Passages: []concordat.RevealPassage{{Span: concordat.Span{Start: 1, End: 5}, Text: "mine"}}}
	for _, state := range []string{concordat.DisclosurePending, concordat.DisclosurePending, concordat.DisclosureGranted} {
		sitetest.Must(t, o.Requested(t.Context(), "north", a, &concordat.Revealed{State: state, Words: "w"}))
		ds, err := o.Requests.Disclosures(t.Context(), "", 0)
		sitetest.Must(t, err)
		if len(ds) != 1 || ds[0].State != state || ds[0].Direction != store.DisclosureOut {
			t.Errorf("got %+v, want one that is %s", ds, state)
		}
	}
	ds, err := o.Requests.Disclosures(t.Context(), "", 0)
	sitetest.Must(t, err)
	if _, err := o.Requests.Withdraw(t.Context(), ds[0].ID, "me", "not mine"); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a partner's grant is withdrawn here: %v", err)
	}
}

// TestOneSketchUnderConcurrency: of concurrent outlines in two forms, only one form succeeds.
func TestOneSketchUnderConcurrency(t *testing.T) {
	o := sitetest.NewOwner(t, "words", "prints")
	text := sitetest.Long(sitetest.Passage, 25)
	o.AddDocuments(t, "words", site.Incoming{ID: "a", Text: text})
	o.AddDocuments(t, "prints", site.Incoming{ID: "b", Text: text})
	o.ShareWith(t, "words", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords})
	o.ShareWith(t, "prints", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineFingerprints})
	var mu sync.Mutex
	forms := map[string]bool{}
	var wg sync.WaitGroup
	for i := range 8 {
		a, d, ordinals := o.Named(t, "north", sitetest.Passage, []concordat.LibraryID{"words", "prints"}[i%2])
		wg.Go(func() {
			got, err := o.AnswerOutline(context.Background(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch,
				Documents: []concordat.OutlineOf{{Handle: d.Handle, Ordinals: ordinals}}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if got.Documents[0].Refusal == nil {
				forms[got.Documents[0].Form] = true
			}
		})
	}
	wg.Wait()
	if len(forms) != 1 {
		t.Errorf("forms %v of one text were shown", forms)
	}
}
