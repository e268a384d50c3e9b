package site_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
	"concordat/site/compare"
	"concordat/store"
)

// openRule is a rule without gates, budgets or limits.
var openRule = store.ShareRule{Level: concordat.ShowMetadata, Matches: 1, Closeness: concordat.Bits,
	Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1}, Ship: true, Standing: true,
	Contact: "librarian"}

// corpus makes texts that share sentences, some of which are edited.
type corpus struct {
	rnd  *rand.Rand
	pool [][]string
}

func newCorpus(seed uint64) *corpus {
	c := &corpus{rnd: rand.New(rand.NewPCG(seed, 1))}
	for range 30 {
		var s []string
		for range 14 + c.rnd.IntN(8) {
			s = append(s, c.word())
		}
		c.pool = append(c.pool, s)
	}
	return c
}

func (c *corpus) word() string {
	const syllables = "ba ce di fo gu ka le mi no pu ra se ti vo zu"
	all := strings.Fields(syllables)
	var b strings.Builder
	for range 2 + c.rnd.IntN(3) {
		b.WriteString(all[c.rnd.IntN(len(all))])
	}
	return b.String()
}

// text returns n paragraphs, of one or two sentences each.
func (c *corpus) text(n int) string {
	var b strings.Builder
	for range n {
		for range 1 + c.rnd.IntN(2) {
			b.WriteString(c.sentence(c.rnd.IntN(len(c.pool))))
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// submission returns n sentences, none a variant of another, because a partner would answer only one of them.
func (c *corpus) submission(n int) string {
	var b strings.Builder
	for _, k := range c.rnd.Perm(len(c.pool))[:n] {
		b.WriteString(c.sentence(k) + "\n\n")
	}
	return b.String()
}

// sentence returns a sentence with zero to three words changed.
func (c *corpus) sentence(k int) string {
	s := slices.Clone(c.pool[k])
	for range c.rnd.IntN(4) {
		s[c.rnd.IntN(len(s))] = c.word()
	}
	line := strings.Join(s, " ")
	return strings.ToUpper(line[:1]) + line[1:] + ". "
}

// federation is a group of members with their documents, and one big index of all these documents.
type federation struct {
	members []*sitetest.Member
	central *indextest.Oracle
	site    map[string]concordat.SiteID // by document title
	indexed []*concordat.Profile        // all documents
}

func newFederation(t *testing.T, seed uint64, rule store.ShareRule) (*federation, *corpus) {
	c := newCorpus(seed)
	f := &federation{site: map[string]concordat.SiteID{}}
	for i := range 2 + c.rnd.IntN(5) {
		f.members = append(f.members, sitetest.NewMember(t, concordat.SiteID(fmt.Sprintf("site%d", i)), "l", "m"))
	}
	p := f.members[0].Profiler
	f.central = &indextest.Oracle{Site: "central", Scheme: p.Scheme()}
	for _, m := range f.members {
		for i := range 3 + c.rnd.IntN(6) {
			lib := []concordat.LibraryID{"l", "m"}[i%2]
			title := fmt.Sprintf("%s/%s/%d", m.SiteID, lib, i)
			text := c.text(2 + c.rnd.IntN(6))
			m.Add(t, lib, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Title: title, Text: text})
			d, err := p.ForIndex(concordat.Document{Library: "all", ID: concordat.DocumentID(title), Title: title, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.central.Put(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			f.site[title] = m.SiteID
			f.indexed = append(f.indexed, d)
		}
	}
	for _, m := range f.members[1:] {
		m.ShareAll(t, f.members[0].SiteID, rule, "l", "m")
	}
	return f, c
}

func (f *federation) options(forward string) site.CheckOptions {
	o := site.CheckOptions{Forward: forward}
	for _, m := range f.members[1:] {
		o.Partners = append(o.Partners, m.SeenBy(f.members[0].SiteID, "l", "m"))
	}
	return o
}

// pair is a match, with the same names on both sides.
type pair struct {
	sentence  int
	title     string
	ordinal   int
	step      concordat.Closeness
	documents int // number of documents with the same match
	distance  int // distance in bits, only in central pairs
	hashes    int // number of different hashes, only in central pairs
}

func sortPairs(ps []pair) []pair {
	for i := range ps {
		ps[i].distance, ps[i].hashes = 0, 0
	}
	slices.SortFunc(ps, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.sentence, b.sentence), cmp.Compare(a.title, b.title), cmp.Compare(a.ordinal, b.ordinal))
	})
	return ps
}

// pairOf returns a match as a pair if it is within the gate of its sentence.
func (f *federation) pairOf(m concordat.Match, asked concordat.Sentence) (pair, bool) {
	step, within := f.members[0].Profiler.Closeness(asked, m)
	p := pair{m.Sentence, m.Title, m.Ordinal, step, m.Documents, m.Distance, m.Hashes}
	if step != concordat.CloseSame {
		p.documents = 0
	}
	return p, within
}

// told returns a match with the step that a partner reported.
func told(m concordat.Match) pair {
	p := pair{m.Sentence, m.Title, m.Ordinal, concordat.CloseFar, 0, 0, 0}
	switch {
	case m.Distance == 0:
		p.step, p.documents = concordat.CloseSame, m.Documents
	case m.Distance <= compare.FairDistance+1:
		p.step = concordat.CloseNear
	}
	return p
}

// centrally returns what one big index finds within the gates.
func (f *federation) centrally(t *testing.T, text string) (ps []pair, questions []concordat.Sentence) {
	q, err := f.members[0].Profiler.Profile(concordat.Document{Text: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	query := &concordat.Query{Scheme: q.Scheme, MaxHashes: f.members[0].Profiler.MaxHashes(), Probe: concordat.ProbeOne}
	for _, s := range q.Questions() {
		query.Fingerprints = append(query.Fingerprints, s.Fingerprint)
	}
	a, err := f.central.Match(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range a.Matches {
		if p, within := f.pairOf(m, q.Questions()[m.Sentence]); within {
			ps = append(ps, p)
		}
	}
	return ps, q.Questions()
}

func (f *federation) federated(t *testing.T, text string, o site.CheckOptions) []pair {
	m, err := f.members[0].Matches(t.Context(), site.Submission{ID: "s", Text: text}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Consulted {
		if c.Err != "" || c.Unready > 0 || c.Withheld > 0 {
			t.Fatalf("consulted %+v", c)
		}
	}
	var ps []pair
	for _, x := range m.Matches {
		p := told(x)
		if own := f.members[0]; x.Source.Site == own.SiteID {
			p, _ = f.pairOf(x, m.Sentences[own.SiteID][x.Sentence])
		}
		p.distance = 0
		ps = append(ps, p)
	}
	return sortPairs(ps)
}

// federations returns the number of random federations that a test compares.
func federations() uint64 {
	if testing.Short() {
		return 2
	}
	return 8
}

// TestFederatedEqualsCentral: if everything is asked and nothing withheld, the sites together find exactly the same matches and steps as
// one index of all documents, except where partners do not report exactly (see blurred).
func TestFederatedEqualsCentral(t *testing.T) {
	found := 0
	for seed := range federations() {
		for k := range uint64(3) { // no text has been asked about before
			f, c := newFederation(t, 3*seed+k, openRule)
			text := c.submission(14)
			want, _ := f.centrally(t, text)
			got := f.federated(t, text, f.options(site.ForwardAll))
			blurred := f.blurred(t, text, want)
			want, got = sortPairs(slices.DeleteFunc(want, blurred)), slices.DeleteFunc(got, blurred)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %d sites: %s", seed, len(f.members), difference(want, got))
			}
			found += len(got)
		}
	}
	if found < 80*int(federations()) {
		t.Errorf("%d matches: the test shows little", found)
	}
}

// difference lists the pairs that occur on only one side.
func difference(want, got []pair) string {
	without := func(ps, others []pair) []pair {
		return slices.DeleteFunc(slices.Clone(ps), func(p pair) bool { return slices.Contains(others, p) })
	}
	return fmt.Sprintf("%d wanted, %d found; missing %+v; not wanted %+v", len(want), len(got), without(want, got), without(got, want))
}

// blurred returns a function that reports whether the rules of package site/answer make partners report a match inexactly. They do so for
// matches that differ in nine hashes or more, because each question shifts the limit of ten by up to two. They also do so for a sentence
// that at least two different questions of the text match within two hashes, even if the index does not find it, because only one of
// these questions is answered in full.
func (f *federation) blurred(t *testing.T, text string, central []pair) func(pair) bool {
	far := map[pair]bool{}
	for _, p := range central {
		if p.hashes > 8 {
			far[pair{sentence: p.sentence, title: p.title, ordinal: p.ordinal}] = true
		}
	}
	q, err := f.members[0].Profiler.Profile(concordat.Document{Text: text}, nil)
	sitetest.Must(t, err)
	type sentence struct {
		title   string
		ordinal int
	}
	questions := map[sentence]map[concordat.Fingerprint]bool{}
	for _, d := range f.indexed {
		for ordinal, held := range d.Indexed {
			x := sentence{d.Document.Title, ordinal}
			questions[x] = map[concordat.Fingerprint]bool{}
			for _, asked := range q.Questions() {
				if held.Fingerprint.NibbleDistance(asked.Fingerprint) <= f.members[0].Profiler.MaxHashes()+2 {
					questions[x][asked.Fingerprint] = true
				}
			}
		}
	}
	return func(p pair) bool {
		return f.site[p.title] != f.members[0].SiteID && (len(questions[sentence{p.title, p.ordinal}]) > 1 ||
			far[pair{sentence: p.sentence, title: p.title, ordinal: p.ordinal}])
	}
}

// TestFederatedWithGates: with gates, the partners' matches are exactly the central matches after filtering.
func TestFederatedWithGates(t *testing.T) {
	rule := openRule
	rule.Matches, rule.Closeness = 2, 14
	dropped, kept := 0, 0
	for seed := range federations() {
		f, c := newFederation(t, 100+seed, rule)
		text := c.submission(14)
		all, questions := f.centrally(t, text)
		want := slices.DeleteFunc(slices.Clone(all), func(p pair) bool {
			return f.site[p.title] != f.members[0].SiteID && (p.distance > 14 || !twoPaired(all, p.title, questions, 14))
		})
		got := f.federated(t, text, f.options(site.ForwardAll))
		for _, ps := range [][]pair{got, want} {
			for i := range ps {
				ps[i].documents = 0 // matches hidden by a gate are not counted
			}
		}
		if !slices.Equal(got, sortPairs(want)) {
			t.Fatalf("seed %d: %d matches, want %d of %d", seed, len(got), len(want), len(all))
		}
		dropped, kept = dropped+len(all)-len(want), kept+len(want)
	}
	if least := 6 * int(federations()); dropped < least || kept < least {
		t.Errorf("gates dropped %d matches and kept %d: the test shows little", dropped, kept)
	}
}

// twoPaired reports whether two differently worded sentences match two different sentences of a document.
func twoPaired(all []pair, title string, questions []concordat.Sentence, closeness int) bool {
	for i, a := range all {
		for _, b := range all[:i] {
			if a.title == title && b.title == title && a.ordinal != b.ordinal && max(a.distance, b.distance) <= closeness &&
				questions[a.sentence].Fingerprint != questions[b.sentence].Fingerprint {
				return true
			}
		}
	}
	return false
}

// TestFederatedUnmatched: asking only about sentences not found here omits exactly the matches that the rule names.
func TestFederatedUnmatched(t *testing.T) {
	skipped, asked := 0, 0
	for seed := range federations() {
		f, c := newFederation(t, 200+seed, openRule)
		text := c.submission(14)
		all, questions := f.centrally(t, text)
		own := f.members[0].Found(t, text, site.CheckOptions{Forward: site.ForwardNone})
		want := slices.DeleteFunc(slices.Clone(all), func(p pair) bool {
			return f.site[p.title] != f.members[0].SiteID && !lessThanHalf(text, questions[p.sentence].Span, own)
		})
		for _, q := range questions {
			if lessThanHalf(text, q.Span, own) {
				asked++
			} else {
				skipped++
			}
		}
		got := f.federated(t, text, f.options(site.ForwardUnmatched))
		blurred := f.blurred(t, text, all)
		want, got = slices.DeleteFunc(want, blurred), slices.DeleteFunc(got, blurred)
		for _, ps := range [][]pair{got, want} {
			for i := range ps {
				ps[i].documents = 0 // partners that are not asked are not counted
			}
		}
		if !slices.Equal(got, sortPairs(want)) {
			t.Fatalf("seed %d: of %d matches %s", seed, len(all), difference(want, got))
		}
	}
	if least := 5 * int(federations()) / 2; skipped < least || asked < least {
		t.Errorf("%d sentences were asked and %d were not: the test shows little", asked, skipped)
	}
}

// lessThanHalf is a literal implementation of the rule.
func lessThanHalf(text string, span concordat.Span, f *report.Findings) bool {
	all, held := 0, 0
	for i, r := range text[span.Start:span.End] {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			continue
		}
		all++
		for _, p := range f.Passages {
			if at := span.Start + i; p.Span.Start <= at && at < p.Span.End {
				held++
				break
			}
		}
	}
	return all > 0 && 2*held < all
}

// interrupted is a partner whose answer is interrupted by another event.
type interrupted struct {
	ask.Discloser
	then func()
}

func (p *interrupted) Reveal(ctx context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	p.then()
	return p.Discloser.Reveal(ctx, a)
}

// TestTwoSites runs a whole conversation between two sites: outlines and edges, common words, a passage after a decision, a later
// document, and a mirror until it ends.
func TestTwoSites(t *testing.T) {
	for _, form := range []string{concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run(form, func(t *testing.T) { twoSites(t, form) })
	}
}

func twoSites(t *testing.T, form string) {
	ctx := t.Context()
	a, b := sitetest.NewMember(t, "a", "own"), sitetest.NewMember(t, "b", "theses")
	secret := strings.Replace(sitetest.Essay, "argon", "strontium", 1)
	const head = "An introduction that the copier left out, about guilds and their seals and their quarrels. "
	b.Add(t, "theses", site.Incoming{ID: "d", Title: "Essays", Author: "Writer, Anna", Text: head + secret})
	rule := openRule
	rule.Level, rule.Outline = concordat.ShowPassage, form
	b.ShareAll(t, "a", rule, "theses")
	there := b.SeenBy("a", "theses")
	there.Level = concordat.ShowPassage
	partner := there.Partner.(sitetest.InProcess)
	f := a.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Partners: []site.PartnerLibraries{there}, Standing: true})
	c := sitetest.LineOf(t, f, "b", "theses")
	if c.Err != "" || c.Level != concordat.ShowPassage || !c.Standing || c.Shown.Outlines != 1 || c.Shown.Words == 0 {
		t.Fatalf("line %+v", c)
	}
	if s := f.Partners[0]; s.Title != "Essays" || s.Author != "Writer, Anna" || s.Contact != "librarian" || s.Outline != form {
		t.Errorf("source %+v", s)
	}
	verbatim := slices.IndexFunc(f.Passages, func(p concordat.Passage) bool { return p.Kind == concordat.KindVerbatim })
	if verbatim < 0 {
		t.Fatalf("passages %+v", f.Passages)
	}
	if got := f.Passages[verbatim]; got.Span.Start != len(sitetest.Mine) || got.SourceSpan.Start != len(head) {
		t.Errorf("edges at %v and %v, want %d and %d", got.Span, got.SourceSpan, len(sitetest.Mine), len(head))
	}

	// While the partner answers, another process of this site changes the findings; both changes are kept.
	got, err := a.Reveal(ctx, f.Task, ask.RevealRequest{Partner: &interrupted{partner, func() {
		now, err := a.Findings(ctx, f.Task)
		if err != nil {
			t.Fatal(err)
		}
		now.Flags = append(now.Flags, concordat.Flag{Code: "from_elsewhere"})
		data, err := json.Marshal(now)
		if err == nil {
			err = a.Store.Checks.PutFindings(ctx, f.Task, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}}, verbatim)
	if err != nil || got[0].State != concordat.DisclosureGranted {
		t.Fatalf("common words: %+v, %v", got, err)
	}
	if f, err = a.Findings(ctx, f.Task); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.Flags, func(f concordat.Flag) bool { return f.Code == "from_elsewhere" }) || len(f.Disclosures) != 1 {
		t.Errorf("a change was lost: flags %+v, disclosures %+v", f.Flags, f.Disclosures)
	}
	words := report.SharedWords(f.Submission.Text, f.Passages[verbatim])
	if !strings.Contains(words, "Vostok plateau") || strings.Contains(words, "strontium") || strings.Contains(words, "argon") {
		t.Errorf("common words %q", words)
	}
	got, err = a.Reveal(ctx, f.Task, ask.RevealRequest{Partner: partner, Level: concordat.ShowPassage, Reason: "a case",
		Contact: "dean"}, verbatim)
	if err != nil || got[0].State != concordat.DisclosurePending {
		t.Fatalf("passage: %+v, %v", got, err)
	}
	requests, err := b.Requests.Disclosures(ctx, concordat.DisclosurePending, 0)
	if err != nil || len(requests) != 1 {
		t.Fatalf("requests %+v, %v", requests, err)
	}
	if _, err := b.Requests.Decide(ctx, requests[0].ID, "librarian", true, "agreed"); err != nil {
		t.Fatal(err)
	}
	if got, err = a.RefreshDisclosures(ctx, f.Task, partner); err != nil || got[0].State != concordat.DisclosureGranted {
		t.Fatalf("decided: %+v, %v", got, err)
	}
	if f, err = a.Findings(ctx, f.Task); err != nil || !strings.Contains(f.Passages[verbatim].Text, "strontium") {
		t.Errorf("passage %q, %v", f.Passages[verbatim].Text, err)
	}

	b.Add(t, "theses", site.Incoming{ID: "late", Title: "A late one", Text: sitetest.Bakery + sitetest.Orchard + sitetest.Foundry})
	if err := b.Sets.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	bringNotices(t, b, a)
	alerts, err := a.Alerts(ctx, 0, 0)
	if err != nil || len(alerts) != 1 || alerts[0].Title != "A late one" || alerts[0].Task != f.Task {
		t.Errorf("alerts %+v, %v", alerts, err)
	}
	mine, err := b.Store.Alerts.FilterAlerts(ctx, store.AlertFilter{}, 0, 0)
	if err != nil || len(mine) != 1 {
		t.Fatalf("alerts of the owner %+v, %v", mine, err)
	}
	late := concordat.Ref{Site: "b", Library: "theses", Document: "late"}
	if x := mine[0]; x.Side != store.AlertTold || x.Partner != "a" || x.Source != late || x.Title != "A late one" ||
		x.Sentences != alerts[0].Sentences || len(x.Spans) == 0 || x.Task != "" || x.Asked.IsZero() {
		t.Errorf("alert of the owner %+v", x)
	}
	if err := a.EndStanding(ctx, f.Task, partner); err != nil {
		t.Error(err)
	}
	b.Add(t, "theses", site.Incoming{ID: "later", Title: "A later one",
		Text: sitetest.Bakery + sitetest.Orchard + sitetest.Foundry + sitetest.River})
	if err := b.Sets.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	bringNotices(t, b, a)
	if again, err := a.Alerts(ctx, 0, 0); err != nil || len(again) != 1 {
		t.Errorf("after the end: %+v, %v", again, err)
	}
	mirrored(t, a, b, form)
}

// mirrored mirrors b's library theses at a until b closes the library.
func mirrored(t *testing.T, a, b *sitetest.Member, form string) {
	ctx := t.Context()
	m := site.MirroredLibrary{Site: "b", Library: "theses", Epoch: sitetest.FederationEpoch, Profiler: a.Profiler,
		Index: &indextest.Oracle{Site: "a", Scheme: a.Profiler.Scheme()}}
	done, err := a.SyncMirror(ctx, sitetest.InProcess{From: "a", To: b.Answerer, ID: "b"}, m, nil)
	if form == concordat.OutlineWords {
		// A document that was shown in words is not shipped as fingerprints, but the others are.
		if err != nil || done.Documents != 2 {
			t.Errorf("mirror: %+v, %v", done, err)
		}
	} else if err != nil || done.Documents != 3 || !done.Complete {
		t.Errorf("mirror: %+v, %v", done, err)
	}
	f := a.Found(t, "Nothing of mine is in this text at all. "+sitetest.Bakery+sitetest.Orchard,
		site.CheckOptions{Mirrors: []site.MirroredLibrary{m}})
	if got := sitetest.FoundAt(f); !slices.Contains(got, "b/A late one") {
		t.Errorf("sources %v", got)
	}
	if err := b.Answerer.Shares.Unshare(ctx, "theses", "a"); err != nil {
		t.Fatal(err)
	}
	bringNotices(t, b, a)
	f = a.Found(t, "Nothing of mine is in this text at all. "+sitetest.Bakery+sitetest.Orchard,
		site.CheckOptions{Mirrors: []site.MirroredLibrary{m}})
	if got := sitetest.FoundAt(f); len(got) != 0 {
		t.Errorf("after the library was closed: sources %v", got)
	}
	if err := a.DropMirror(ctx, m); err != nil {
		t.Error(err)
	}
}

// bringNotices delivers one site's notices to another.
func bringNotices(t *testing.T, from, to *sitetest.Member) {
	t.Helper()
	out, err := from.Notices.Outbox(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if err := to.Receive(t.Context(), from.SiteID, &o.Notice); err != nil {
			t.Fatal(err)
		}
		if err := from.Notices.Delivered(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
