package answer_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/align"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// These tests are attacks by partners on a library, with their IDs in doc/federation.md.

// oracleText is a sentence of the library. The partner knows every word except one.
const oracleText = "After the operation the patient in bed seventeen was given colchicine twice a day until the fever had left him entirely. "

// oracle is a member that guesses one of the owner's sentences.
type oracle struct {
	t           *testing.T
	o           *sitetest.Owner
	ask         *concordat.Ask // asks only about the guess
	base, truth concordat.Fingerprint
	ordinal     int // position of the sentence in its document
	jobs        uint32
	told        map[concordat.Fingerprint]bool // answered questions
}

func newOracle(t *testing.T, rule store.ShareRule) *oracle {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(oracleText+sitetest.River, 30)})
	o.ShareWith(t, "theses", "north", rule)
	x := &oracle{t: t, o: o, told: map[concordat.Fingerprint]bool{}}
	x.ask = o.Question(t, strings.Replace(oracleText, "colchicine", "medicine", 1), concordat.ShowMetadata, "theses")
	x.base = x.ask.Sentences[0].Fingerprint
	x.truth = o.Question(t, oracleText, concordat.ShowMetadata, "theses").Sentences[0].Fingerprint
	o.ShareWith(t, "theses", "west", rule) // used to learn the position of the sentence
	hits := o.Told(t, "west", o.Question(t, oracleText, concordat.ShowMetadata, "theses")).Hits
	if len(hits) != 1 || hits[0].Closeness != concordat.CloseSame {
		t.Fatalf("the sentence itself has hits %+v", hits)
	}
	x.ordinal = hits[0].Ordinal
	return x
}

// withHash returns f with its i-th group of four bits XORed with xor.
func withHash(f concordat.Fingerprint, i int, xor uint64) concordat.Fingerprint {
	if i < 15 {
		f[0] ^= xor << (4 * i)
	} else {
		f[1] ^= xor << (4 * (i - 15))
	}
	return f
}

// steps asks about fs in one ask of a new job. It returns how close each is to the sentence according to the answer, or -1 if the answer
// does not say.
func (x *oracle) steps(fs ...concordat.Fingerprint) []int {
	x.t.Helper()
	a := *x.ask
	x.jobs++
	binary.BigEndian.PutUint32(a.Job[4:], x.jobs)
	a.Sentences = nil
	out := make([]int, len(fs))
	for i, f := range fs {
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: f, Gate: x.ask.Sentences[0].Gate})
		out[i] = -1
	}
	for _, h := range x.o.Told(x.t, "north", &a).Hits {
		if h.Ordinal == x.ordinal {
			out[h.Sentence], x.told[fs[h.Sentence]] = int(h.Closeness), true
		}
	}
	return out
}

// unlimited is a rule without budgets.
var unlimited = store.ShareRule{Level: concordat.ShowMetadata, Matches: 1,
	Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}}

// TestA3OneAsk: if a member asks about a sentence and a hundred variants, each with a different bit changed, only one is answered, so
// comparing answers reveals nothing. Answers that stated the distance would reveal all 100 bits.
func TestA3OneAsk(t *testing.T) {
	x := newOracle(t, unlimited)
	variants := []concordat.Fingerprint{x.base}
	for i := range concordat.Bits {
		variants = append(variants, withHash(x.base, i/4, 1<<(i%4)))
	}
	x.steps(variants...)
	if n := len(x.told); n != 1 {
		t.Errorf("%d of %d variants are answered, want 1", n, len(variants))
	}
	// If the requester could choose the gate, the gate would be a threshold on the distance.
	a := *x.ask
	a.Sentences = []concordat.AskedSentence{{Fingerprint: x.base, Gate: 9}}
	if _, err := x.o.Answer(t.Context(), "north", &a); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a gate that no scheme gives: error %v, want ErrInvalid", err)
	}
	// Later asks in the same job do not circumvent the limit.
	told := len(x.told)
	for _, f := range variants[1:20] {
		a.Sentences = []concordat.AskedSentence{{Fingerprint: f, Gate: x.ask.Sentences[0].Gate}}
		if tell := x.o.Told(t, "north", &a); len(tell.Hits) > 0 {
			told++
		}
	}
	if told > 2 {
		t.Errorf("of a job's later asks %d variants are answered, want 1", told-1)
	}
}

// maxLearnt is the number of questions about one sentence that an owner answers in a year.
const maxLearnt = 4

// TestA3ManyJobs: a partner without a budget asks about variants in a thousand jobs and bases each question on the earlier answers. It
// worsens its guess until the guess only just fails to match, then tries each value of each hash to see which restores the match. A
// thousand answers would reveal every hash; the partner gets [maxLearnt], and its guess hardly improves.
func TestA3ManyJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: asks a thousand times")
	}
	x := newOracle(t, unlimited)
	const asks = 1000
	step := func(f concordat.Fingerprint) int { return x.steps(f)[0] }
	if step(x.base) != int(concordat.CloseNear) {
		t.Fatalf("the guess differs in %d hashes and is not near", x.base.NibbleDistance(x.truth))
	}
	edge, worse := x.base, map[int]bool{}
	for i := 0; i < concordat.Nibbles && step(edge) == int(concordat.CloseNear); i++ {
		edge = withHash(edge, i, 5)
		worse[i] = true
	}
	got := x.base
	for i := 0; i < concordat.Nibbles; i++ {
		for xor := uint64(1); xor < 16 && x.jobs < asks; xor++ {
			if worse[i] {
				continue
			}
			if step(withHash(edge, i, xor)) == int(concordat.CloseNear) {
				got = withHash(got, i, xor)
				break
			}
		}
	}
	for rnd := rand.New(rand.NewPCG(1, 2)); x.jobs < asks; { // then random variants, whose answers would reveal a bit or two each
		step(withHash(withHash(x.base, rnd.IntN(concordat.Nibbles), uint64(rnd.IntN(16))), rnd.IntN(concordat.Nibbles), uint64(rnd.IntN(16))))
	}
	t.Logf("%d asks, %d questions answered, at most %d bits; the guess differed in %d hashes and differs in %d", x.jobs, len(x.told),
		2*len(x.told), x.base.NibbleDistance(x.truth), got.NibbleDistance(x.truth))
	if n := len(x.told); n > maxLearnt {
		t.Errorf("%d questions about one sentence are answered, want at most %d", n, maxLearnt)
	}
	if before, after := x.base.NibbleDistance(x.truth), got.NibbleDistance(x.truth); after < before-2 {
		t.Errorf("the fingerprint is found out: %d hashes differed, %d differ", before, after)
	}
	// The exact sentence gets no answer either, because an answer would confirm the guess.
	if got := step(x.truth); got != -1 {
		t.Errorf("the sentence itself is still told, step %d", got)
	}
	// A question that was answered before is answered again, and each partner has its own count.
	if got := step(x.base); got != int(concordat.CloseNear) {
		t.Errorf("the first question again: step %d", got)
	}
	x.o.ShareWith(t, "theses", "south", unlimited)
	if tell := x.o.Told(t, "south", x.ask); len(tell.Hits) != 1 {
		t.Errorf("another partner: %d hits", len(tell.Hits))
	}
	x.o.Clock.Move(366 * 24 * time.Hour)
	if got := step(x.truth); got != int(concordat.CloseSame) {
		t.Errorf("after a year: step %d", got)
	}
}

// TestProbingAlarm: a partner that keeps asking about variants of a sentence raises an alarm once a day; a partner that asks about drafts
// of a text raises none.
func TestProbingAlarm(t *testing.T) {
	alarms := func(x *oracle, step string, want int) {
		t.Helper()
		as, err := x.o.Store.Partners.PartnerAlarms(t.Context(), "north", 0)
		sitetest.Must(t, err)
		if len(as) != want {
			t.Errorf("%s: alarms %+v, want %d", step, as, want)
		}
		for _, a := range as {
			if a.Kind != store.AlarmProbing || a.Library != "theses" {
				t.Errorf("%s: %+v", step, a)
			}
		}
	}
	x := newOracle(t, unlimited)
	ask := func(bits int) {
		for i := range bits {
			x.steps(withHash(x.base, i/4, 1<<(i%4)))
		}
	}
	ask(40)
	alarms(x, "forty drafts", 0)
	ask(concordat.Bits)
	alarms(x, "variants without end", 1)
	x.o.Clock.Move(25 * time.Hour)
	ask(concordat.Bits)
	alarms(x, "the next day", 2)
}

// TestOneDocumentAlarm: a partner whose jobs keep reaching the same document raises an alarm once a day; another partner, or drafts of a
// text, raise none.
func TestOneDocumentAlarm(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(sitetest.River+sitetest.Winter, 5)},
		site.Incoming{ID: "b", Text: sitetest.Long(sitetest.Garden+sitetest.Harbour, 5)})
	alarms := func(step string, partner concordat.SiteID, want int) {
		t.Helper()
		o.Clock.Move(2 * time.Hour)
		sitetest.Must(t, o.Sets.CatchUp(t.Context()))
		as, err := o.Store.Partners.PartnerAlarms(t.Context(), partner, 0)
		sitetest.Must(t, err)
		if len(as) != want || want > 0 && (as[0].Kind != store.AlarmOneDocument || as[0].Library != "theses") {
			t.Errorf("%s: alarms %+v, want %d", step, as, want)
		}
	}
	n := uint32(0)
	ask := func(partner concordat.SiteID, text string, jobs int) {
		t.Helper()
		a := o.Question(t, text, concordat.ShowMetadata, "theses")
		for range jobs {
			n++
			binary.BigEndian.PutUint32(a.Job[4:], n)
			if tell := o.Told(t, partner, a); len(tell.Documents) != 1 {
				t.Fatalf("job %d is told of %d documents", n, len(tell.Documents))
			}
		}
	}
	for _, partner := range []concordat.SiteID{"north", "south"} {
		o.ShareWith(t, "theses", partner, store.ShareRule{Level: concordat.ShowMetadata, Matches: 2,
			Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}})
	}
	ask("north", sitetest.River+sitetest.Winter, 199)
	ask("south", sitetest.Garden+sitetest.Harbour, 150)
	ask("south", sitetest.River+sitetest.Winter, 150)
	alarms("less", "north", 0)
	ask("north", sitetest.River+sitetest.Winter, 1)
	alarms("two hundred jobs", "north", 1)
	alarms("an hour later", "north", 1)
	alarms("two documents", "south", 0)
	o.Clock.Move(25 * time.Hour)
	alarms("the next day", "north", 2)
	o.Clock.Move(31 * 24 * time.Hour)
	alarms("when the jobs are forgotten", "north", 2)
}

// TestA3Withheld: the audit shows the owner how many sentences went unanswered.
func TestA3Withheld(t *testing.T) {
	x := newOracle(t, unlimited)
	for i := range maxLearnt + 3 {
		x.steps(withHash(x.base, i, 7))
	}
	es, err := x.o.Store.Audit.Audit(t.Context(), 0, 0)
	sitetest.Must(t, err)
	n := 0
	for _, e := range es {
		if strings.Contains(string(e.Detail), `"withheld":1`) {
			n++
		}
	}
	if n == 0 {
		t.Error("no line of the audit tells of a sentence that was not answered")
	}
}

// TestD4Edges is attack D4: word order and word sets together reveal nearly all words of a text. The owner does not reveal word order. It
// compares the texts itself and answers with the stretches that also occur word for word in the requester's text.
func TestD4Edges(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	sketchKey := sitetest.Key("sketch of " + sitetest.TestEpoch.String())
	secret := "After the operation the patient in bed seventeen was given colchicine twice a day until the fever had left him entirely. "
	text := sitetest.Long(secret+sitetest.River, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords,
		Limits: store.Limits{Characters: -1, Sentences: -1, Burst: -1, Documents: -1, Disclosures: -1}})
	guess := strings.Replace(strings.Replace(secret, "colchicine", "medicine", 1), "seventeen", "four", 1)
	a, d, _ := o.Named(t, "north", guess+strings.Replace(sitetest.River, " the ", " that ", 1), "theses")
	at := strings.Index(text, secret)
	edges := func(words []byte) [][]concordat.EdgeCopy {
		t.Helper()
		e, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
			Passages: []concordat.EdgePassage{{Span: concordat.Span{Start: at, End: at + len(secret)}, Words: words}}})
		if err != nil {
			refused(t, err, concordat.ReasonBudget)
			return nil
		}
		return e.Passages
	}
	own, err := align.Prepare(guess).Order(sketchKey, concordat.Span{End: len(guess)})
	sitetest.Must(t, err)
	if got := edges(own.Words); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("of a passage that is no literal copy it is told %+v", got)
	}
	// A single sentence that the requester has in full is too short to be disclosed, and a stretch ends at the first word that the
	// requester lacks.
	truth, err := align.Prepare(secret).Order(sketchKey, concordat.Span{End: len(secret)})
	sitetest.Must(t, err)
	if got := edges(truth.Words); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("of one sentence it is told %+v", got)
	}
	// Trying every possible next word soon reaches a limit.
	tried := 0
	for b := range 256 {
		if edges(append(slices.Clone(truth.Words[:len(truth.Words)-1]), byte(b))) == nil {
			break
		}
		tried++
	}
	if tried >= 200 {
		t.Errorf("%d tries at one word are answered", tried)
	}
}

// TestD5Runes is attack D5: a refusal that depended on whether a span began within a character would reveal text anywhere in a document
// at no cost. All such spans are refused alike, and each refusal is charged.
func TestD5Runes(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	hidden := "Тайное предложение, которого никто из партнёров не видел и видеть не должен. "
	text := sitetest.Long(sitetest.River+sitetest.Winter, 30) + hidden + sitetest.Long(sitetest.Garden, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowOverlap, Limits: store.Limits{Opened: 20, Disclosures: -1}})
	a, d, _ := o.Named(t, "north", sitetest.River+sitetest.Winter, "theses")
	at := strings.Index(text, hidden)
	probe := func(start, end int) error {
		_, err := o.AnswerReveal(t.Context(), "north", &concordat.RevealAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
			Level: concordat.ShowOverlap, Passages: []concordat.RevealPassage{{Span: concordat.Span{Start: start, End: end}, Text: "x"}}})
		return err
	}
	for what, span := range map[string][2]int{"a character": {at, at + 100}, "within one": {at + 1, at + 100},
		"beyond the text": {len(text) + 5, len(text) + 50}} {
		err := probe(span[0], span[1])
		refused(t, err, concordat.ReasonGate)
		if want := "passage 0 is not shown"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	looks := 3
	for ; looks < 100; looks++ {
		if err := probe(at+looks%len(hidden), at+100); err != nil && strings.Contains(err.Error(), "not shown") {
			continue
		} else {
			refused(t, err, concordat.ReasonBudget)
		}
		break
	}
	if looks != 20 {
		t.Errorf("%d looks were taken, want 20", looks)
	}
}

// TestS2WithdrawnMirror is attack S2: a withdrawn mirror still gave access to outlines, regardless of the new rule.
func TestS2WithdrawnMirror(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(sitetest.River+sitetest.Winter, 30)})
	rule := store.ShareRule{Level: concordat.ShowMetadata, Ship: true, Outline: concordat.OutlineFingerprints}
	o.ShareWith(t, "theses", "north", rule)
	s, err := o.AnswerShip(t.Context(), "north", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
	sitetest.Must(t, err)
	h := s.Documents[0].Handle
	ask := func(what string) {
		t.Helper()
		job := concordat.JobID{9, 9}
		out, err := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: job, Epoch: o.Epoch,
			Documents: []concordat.OutlineOf{{Handle: h, Ordinals: []int{0, 20, 40}}}})
		sitetest.Must(t, err)
		if r := out.Documents[0].Refusal; r == nil || r.Reason != concordat.ReasonUnknown {
			t.Errorf("%s: the outline of a document that no job was told of: %+v", what, out.Documents[0])
		}
		_, err = o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: job, Epoch: o.Epoch, Handle: h,
			Passages: []concordat.EdgePassage{{Span: concordat.Span{End: 100}, Words: []byte{1}}}})
		refused(t, err, concordat.ReasonUnknown)
	}
	ask("mirrored")
	rule.Ship, rule.Purposes = false, []string{"grant"}
	o.ShareWith(t, "theses", "north", rule)
	ask("withdrawn")
	if _, err := o.Store.Answers.ShippedDocument(t.Context(), "north", o.Epoch, h); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the mirror is still in the books: %v", err)
	}
}

// TestA4Inbox is attack A4: a partner could send notices about unknown jobs, and each was stored at six times its size. Such notices are
// not stored, and a partner that keeps sending them is told to retry later.
func TestA4Inbox(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	tell := &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: "theses", Level: concordat.ShowMetadata, Exists: true,
		LeftSentences: -1, LeftDisclosures: -1}}}
	for range 300 {
		tell.Documents = append(tell.Documents, concordat.DocumentAnswer{Matches: 1, Title: strings.Repeat("\u0001", 4096)})
	}
	notices := []*concordat.Notice{
		{Kind: concordat.NoticeAlert, Job: concordat.JobID{7}, Library: "theses", At: o.Clock.Now(), Asked: 64, Answer: tell},
		{Kind: concordat.NoticeDisclosure, Job: concordat.JobID{7}, Words: strings.Repeat("x", 4096), At: o.Clock.Now()},
	}
	for _, n := range notices {
		refused(t, o.Receive(t.Context(), "north", n), concordat.ReasonUnknown)
	}
	// A notice about a library that is not mirrored here is not stored either, but the partner is not told.
	withdrawn := &concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "theses", At: o.Clock.Now()}
	taken := len(notices)
	for ; taken < 2000; taken++ {
		if err := o.Receive(t.Context(), "north", withdrawn); err != nil {
			refused(t, err, concordat.ReasonBusy)
			break
		}
	}
	if taken != 1000 {
		t.Errorf("%d notices were taken within an hour, want 1000", taken)
	}
	sitetest.Must(t, o.Receive(t.Context(), "south", withdrawn))
	in, err := o.Notices.Inbox(t.Context(), 0, 0)
	sitetest.Must(t, err)
	alerts, err := o.Store.Alerts.Alerts(t.Context(), 0, 0)
	sitetest.Must(t, err)
	if len(in)+len(alerts) > 0 {
		t.Errorf("%d notices and %d alerts are kept", len(in), len(alerts))
	}
}

// TestShipCost: a partner that keeps requesting a mirror from the beginning is refused before the library is read again, until the next
// day.
func TestShipCost(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	var in []site.Incoming
	for i := range 60 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(strings.Repeat("d", i+1)), Text: sitetest.River})
	}
	o.AddDocuments(t, "theses", in...)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Ship: true})
	ship := func() error {
		_, err := o.AnswerShip(t.Context(), "north", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
		return err
	}
	n := 0
	for ; n < 100; n++ {
		if err := ship(); err != nil {
			refused(t, err, concordat.ReasonBudget)
			break
		}
	}
	if want := (4*60 + 2000) / 60; n != want {
		t.Errorf("it was shipped %d times in a day, want %d", n, want)
	}
	o.Clock.Move(25 * time.Hour)
	sitetest.Must(t, ship())
}

// TestPaidBeforeReading: if later rounds were free, a partner could make the owner read and sketch whole documents at no cost. Once the
// budget is used up, no document is read.
func TestPaidBeforeReading(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	rule := store.ShareRule{Level: concordat.ShowPassage, Outline: concordat.OutlineWords, Approval: time.Hour}
	o.ShareWith(t, "theses", "north", rule)
	a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
	rule.Limits = store.Limits{Documents: 1, Characters: 1, Opened: 1, Disclosures: 1}
	o.ShareWith(t, "theses", "north", rule)
	o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals}) // the last outline within budget
	o.Index.Panics = true                                                               // panics if a document is read
	at := strings.Index(text, sitetest.River)
	reveal := func(level concordat.Show) error {
		_, err := o.AnswerReveal(t.Context(), "north", &concordat.RevealAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle, Level: level,
			Passages: []concordat.RevealPassage{{Span: concordat.Span{Start: at, End: at + len(sitetest.River)}, Text: sitetest.River}}})
		return err
	}
	x := o.Outline(t, "north", a, concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals})[0]
	if x.Refusal == nil || x.Refusal.Reason != concordat.ReasonBudget {
		t.Errorf("an outline: %+v", x)
	}
	_, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
		Passages: []concordat.EdgePassage{{Span: concordat.Span{Start: at, End: at + len(sitetest.River)}, Words: make([]byte, 40)}}})
	refused(t, err, concordat.ReasonBudget)
	refused(t, reveal(concordat.ShowOverlap), concordat.ReasonBudget)
	refused(t, reveal(concordat.ShowPassage), concordat.ReasonBudget)
}

// TestCountsAreRounded: the answer reports whether look-ups were cut short, but not how many.
func TestCountsAreRounded(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(sitetest.River, 5)})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	for cut, want := range map[int]int{0: 0, 1: 1, 37: 1} {
		o.Set.Capped = cut
		if got := o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")).Libraries[0].Capped; got != want {
			t.Errorf("%d look-ups cut short are told as %d, want %d", cut, got, want)
		}
	}
}

// TestRefusedAskedAgain: a partner keeps requesting a passage that a person refused, each time under a new job. Each request costs as
// much as a shown passage, so only a few are possible per document and year, whatever the decision.
func TestRefusedAskedAgain(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
	const opened = 12
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowPassage, Approval: time.Hour, Limits: store.Limits{Opened: opened}})
	asked := 0
	for range 40 {
		a, d, _ := o.Named(t, "north", sitetest.Passage, "theses")
		q := o.RevealAsk(a, d, concordat.ShowPassage, text, sitetest.River, sitetest.River)
		r, err := o.AnswerReveal(t.Context(), "north", q)
		if err != nil {
			refused(t, err, concordat.ReasonBudget)
			break
		}
		asked++
		if r.State != concordat.DisclosurePending {
			t.Fatalf("request %d is %s", asked, r.State)
		}
		ds, err := o.Requests.Disclosures(t.Context(), concordat.DisclosurePending, 0)
		sitetest.Must(t, err)
		_, err = o.Requests.Decide(t.Context(), ds[0].ID, "librarian", false, "no")
		sitetest.Must(t, err)
		o.Clock.Move(24 * time.Hour)
	}
	if asked == 0 || asked > opened {
		t.Errorf("%d requests reached a person, want some and at most %d", asked, opened)
	}
}

// TestLeaderBeginsEpochs: a member that begins an epoch before it asks gets no more answers about a sentence than any other member,
// because questions are counted across epochs.
func TestLeaderBeginsEpochs(t *testing.T) {
	x := newOracle(t, unlimited)
	answered := 0
	for n := 1; n <= 4; n++ {
		if n > 1 {
			x.o.Use(t, x.o.NewSet(t, concordat.Epoch{Federation: "health", Number: uint32(n)}))
			sitetest.Must(t, x.o.Sets.CatchUp(t.Context()))
			x.ask = x.o.Question(t, strings.Replace(oracleText, "colchicine", "medicine", 1), concordat.ShowMetadata, "theses")
			x.base = x.ask.Sentences[0].Fingerprint
		}
		x.told = map[concordat.Fingerprint]bool{}
		for i := range 10 {
			x.steps(withHash(x.base, i, 7))
		}
		answered += len(x.told)
	}
	if answered == 0 || answered > maxLearnt {
		t.Errorf("%d different questions about one sentence are answered in four epochs, want some and at most %d", answered, maxLearnt)
	}
}
