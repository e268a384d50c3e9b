package answer_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/sitetest"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// harvest contains the titles and outlines that a member obtains by asking about the sentences of texts in a genre and fetching the
// outline of every disclosed document.
type harvest struct {
	told, outlined map[string]bool // documents by title
	units          int
}

// askedOf returns the sentences of texts in the form that a member sends.
func askedOf(t *testing.T, o *sitetest.Owner, texts ...string) (out []concordat.AskedSentence) {
	for _, x := range texts {
		p, err := o.Keyed.Profile(concordat.Document{ID: "s", Text: x}, nil)
		sitetest.Must(t, err)
		for _, q := range p.Questions() {
			out = append(out, concordat.AskedSentence{Fingerprint: q.Fingerprint, Gate: q.Gate})
		}
	}
	return out
}

// harvestFrom asks about all sentences, a fixed number a day, each in its own job.
func harvestFrom(t *testing.T, o *sitetest.Owner, from concordat.SiteID, all []concordat.AskedSentence, daily int) harvest {
	t.Helper()
	h := harvest{told: map[string]bool{}, outlined: map[string]bool{}}
	for day := uint32(0); len(all) > 0; day++ {
		a := o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")
		binary.BigEndian.PutUint32(a.Job[4:], 500+day)
		n := min(daily, len(all))
		a.Sentences, all = all[:n], all[n:]
		o.Clock.Move(25 * time.Hour)
		tell := o.Told(t, from, a)
		if r := tell.Libraries[0].Refusal; r != nil {
			t.Fatal(r)
		}
		ordinals := make([]map[int]bool, len(tell.Documents))
		for _, x := range tell.Hits {
			if ordinals[x.Document] == nil {
				ordinals[x.Document] = map[int]bool{}
			}
			ordinals[x.Document][x.Ordinal] = true
		}
		for i, d := range tell.Documents {
			h.told[d.Title] = true
			of := concordat.OutlineOf{Handle: d.Handle}
			for n := range 2000 {
				if ordinals[i][n] {
					of.Ordinals = append(of.Ordinals, n)
				}
			}
			out, err := o.AnswerOutline(t.Context(), from, &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch, Documents: []concordat.OutlineOf{of}})
			var refusal *concordat.Refusal
			if errors.As(err, &refusal) || err == nil && out.Documents[0].Refusal != nil {
				continue
			}
			sitetest.Must(t, err)
			h.outlined[d.Title] = true
			h.units += len(out.Documents[0].Units)
		}
	}
	return h
}

// genre makes documents with different content but the same 250 phrases of three words each.
func genre(rng *rand.Rand, sentences int) string {
	same := rand.New(rand.NewPCG(8, 8))
	turns := make([]string, 250)
	for i := range turns {
		turns[i] = madeUpWord(same) + " " + madeUpWord(same) + " " + madeUpWord(same)
	}
	var b strings.Builder
	for range sentences {
		b.WriteString("So")
		for _, k := range rng.Perm(len(turns))[:4] {
			b.WriteString(" " + turns[k] + " " + madeUpWord(rng))
		}
		b.WriteString(". ")
	}
	return b.String()
}

// TestChance: a member that copied nothing from a library and asks about texts of the same genre learns of hardly any document and is
// shown none, at every size, although most match in single sentences. A member that copied some sentences and changed them learns of the
// source and is shown it.
func TestChance(t *testing.T) {
	for _, documents := range []int{2, 5, 12, 40} {
		t.Run(fmt.Sprint(documents), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, uint64(documents)))
			o := sitetest.NewOwner(t, "theses")
			var in []site.Incoming
			for i := range documents {
				text := genre(rng, 12) + madeUp(rng) + madeUp(rng) + genre(rng, 12)
				in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("d", i)), Title: fmt.Sprint("T", i), Text: text})
			}
			o.AddDocuments(t, "theses", in...)
			rule := store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords}
			o.ShareWith(t, "theses", "north", rule)
			o.ShareWith(t, "theses", "south", rule)
			rule.Matches, rule.Limits = 1, store.Limits{Documents: -1, Disclosures: -1}
			o.ShareWith(t, "theses", "west", rule)
			var others []string
			for range 50 {
				others = append(others, genre(rng, 25))
			}
			chance := askedOf(t, o, others...)
			if got := harvestFrom(t, o, "west", chance, 512); len(got.told) < documents/8 {
				t.Fatalf("%d documents match by chance: the test shows little", len(got.told))
			} else if len(got.outlined) > 0 {
				t.Errorf("%d documents are outlined by chance, where one match is enough to tell", len(got.outlined))
			}
			if got := harvestFrom(t, o, "north", chance, 512); len(got.told) > max(1, documents/40) || len(got.outlined) > 0 {
				t.Errorf("%d documents are told by chance, %d outlined", len(got.told), len(got.outlined))
			}
			copied := ""
			for i, x := range strings.SplitAfter(in[1].Text, ". ") {
				if i >= 10 && i < 16 {
					copied += edited(rng, x)
				}
			}
			got := harvestFrom(t, o, "south", askedOf(t, o, genre(rng, 10)+copied+genre(rng, 10)), 512)
			if !got.told["T1"] || !got.outlined["T1"] {
				t.Errorf("of a document of which six sentences were taken over, told %v, outlined %v", got.told["T1"], got.outlined["T1"])
			}
			if got.units > 16 {
				t.Errorf("%d units are shown of a copy of six sentences", got.units)
			}
		})
	}
}

// TestChanceReviews does the same with film reviews: the library has 400 documents of eight reviews each, and the member has 3,200 other
// reviews and asks about 1,024 sentences a day. Reviews that share a sentence with the library are left out, because they were posted
// twice.
func TestChanceReviews(t *testing.T) {
	const documents, each, days = 400, 8, 10
	reviews := corpora.Reviews(t, 2*documents*each)
	o := sitetest.NewOwner(t, "theses")
	var in []site.Incoming
	held := map[string]bool{}
	for i := range documents {
		var b strings.Builder
		for _, r := range reviews[i*each : (i+1)*each] {
			b.WriteString(strings.ReplaceAll(r.Text, "\\n", " ") + "\n\n")
		}
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("d", i)), Title: fmt.Sprint("T", i), Text: b.String()})
		for _, s := range longSentences(t, o.Keyed, b.String()) {
			held[s] = true
		}
	}
	o.AddDocuments(t, "theses", in...)
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords})
	var others []string
	twice := 0
	for _, r := range reviews[documents*each:] {
		text := strings.ReplaceAll(r.Text, "\\n", " ")
		copied := false
		for _, s := range longSentences(t, o.Keyed, text) {
			copied = copied || held[s]
		}
		if copied {
			twice++
			continue
		}
		others = append(others, text)
	}
	all := askedOf(t, o, others...)
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	got := harvestFrom(t, o, "north", all[:min(len(all), days*1024)], 1024)
	t.Logf("%d documents are told by chance in %d days, %d outlined, %d units; %d reviews are in both", len(got.told), days, len(got.outlined),
		got.units, twice)
	if len(got.told) > 8 || len(got.outlined) > 0 {
		t.Errorf("%d documents are told by chance in %d days and %d outlined, want at most 8 and none", len(got.told), days, len(got.outlined))
	}
}

// longSentences returns the sentences of 60 bytes or more.
func longSentences(t *testing.T, p *profile.Profiler, text string) (out []string) {
	x, err := p.ForIndex(concordat.Document{ID: "s", Text: text})
	sitetest.Must(t, err)
	for _, s := range x.Indexed {
		if s.Span.Len() >= 60 {
			out = append(out, strings.Join(strings.Fields(s.Span.In(text)), " "))
		}
	}
	return out
}

// TestOutlineOfYear: within a year, the outlines of a document show a limited number of sentences besides the matched ones, whatever the
// partner asks. Sentences shown before can be shown again.
func TestOutlineOfYear(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	o := sitetest.NewOwner(t, "theses")
	var sentences []string
	for range 120 {
		sentences = append(sentences, madeUp(rng))
	}
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "A", Text: strings.Join(sentences, "")})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: concordat.OutlineWords,
		Limits: store.Limits{Units: 12}})
	beside := map[int]bool{}
	for at := 5; at < 110; at += 15 {
		a := o.Question(t, sentences[at]+sentences[at+1], concordat.ShowMetadata, "theses")
		binary.BigEndian.PutUint32(a.Job[4:], uint32(at))
		for range 2 {
			tell := o.Told(t, "north", a)
			of := concordat.OutlineOf{Handle: tell.Documents[0].Handle, Ordinals: []int{at, at + 1}}
			for _, u := range o.Outline(t, "north", a, of)[0].Units {
				if u.Ordinal != at && u.Ordinal != at+1 {
					beside[u.Ordinal] = true
				}
			}
		}
	}
	if most := 120 / 4; len(beside) > most || len(beside) < most-2 {
		t.Errorf("%d sentences beside matches are shown, want %d", len(beside), most)
	}
}

// TestLibraryAlarm: a partner that has learned of a fifth of a library raises an alarm once a month; a partner that has learned of less
// raises none.
func TestLibraryAlarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	o := sitetest.NewOwner(t, "theses")
	var in []site.Incoming
	for i := range 60 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("d", i)), Title: fmt.Sprint("T", i), Text: madeUp(rng) + madeUp(rng)})
	}
	o.AddDocuments(t, "theses", in...)
	for partner, documents := range map[concordat.SiteID]int{"north": 20, "south": 19} {
		o.ShareWith(t, "theses", partner, store.ShareRule{Level: concordat.ShowMetadata})
		var b strings.Builder
		for _, d := range in[:documents] {
			b.WriteString(d.Text)
		}
		if tell := o.Told(t, partner, o.Question(t, b.String(), concordat.ShowMetadata, "theses")); len(tell.Documents) != documents {
			t.Fatalf("%s is told of %d documents, want %d", partner, len(tell.Documents), documents)
		}
	}
	for _, want := range []int{1, 1} {
		o.Clock.Move(25 * time.Hour)
		sitetest.Must(t, o.Sets.CatchUp(t.Context()))
		for partner, n := range map[concordat.SiteID]int{"north": want, "south": 0} {
			as, err := o.Store.Partners.PartnerAlarms(t.Context(), partner, 0)
			sitetest.Must(t, err)
			if len(as) != n || n > 0 && (as[0].Kind != store.AlarmLibrary || as[0].Library != "theses") {
				t.Errorf("%s: alarms %+v, want %d", partner, as, n)
			}
		}
	}
}
