package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"unicode/utf8"

	"concordat"
)

// joinGap is the largest gap, in characters, at which two passages of one source are joined. It is the minimum length of a sentence block
// in the natural scheme; a longer gap contains a block that was queried and did not match.
const joinGap = 40

// muchQuoted is the share of a text in excluded quotations at which a report mentions them. A tenth, or one page in ten, exceeds normal
// prose and deserves a look.
const muchQuoted = 0.1

// Build applies rules to findings. It is pure: equal findings and rules yield an equal report, whatever the order of the passages, and
// Build modifies neither argument. It sorts the passages and makes one pass over the text.
//
// Passages of one source that overlap, or are no farther apart than a short sentence, are joined. Joined passages that overlap, from any
// source, become one Evidence with all its sources, so no character is counted twice. Gaps within a joined passage are displayed with it
// but not counted.
func Build(f *Findings, r Rules) *Report { return Prepare(f).Build(r) }

// Prepared is a set of findings prepared for repeated calls of [Build] with different rules; everything independent of the rules is
// computed in advance. It is safe for concurrent use as long as the findings do not change.
type Prepared struct {
	base    builder // without rules
	digest  string
	numbers numbers
}

// Prepare prepares findings.
func Prepare(f *Findings) *Prepared {
	sum := sha256.Sum256([]byte(f.Submission.Text))
	base := newBuilder(f)
	return &Prepared{base, hex.EncodeToString(sum[:]), number(base.with(Rules{}))}
}

// Build returns the same report as the function Build would. Reports from one Prepared share the data that no rule affects.
func (p *Prepared) Build(r Rules) *Report {
	b, f := p.base.with(r), p.base.f
	chains, evidence, of := b.gathered()
	groups := groupShares(b, evidence)
	if leaveGroups(b, evidence) {
		chains, evidence, of = b.gathered()
	}
	rep := &Report{
		Task: f.Task, Submission: f.Submission, Digest: p.digest,
		Scheme: f.Scheme, Made: f.Made, Probe: f.Probe, Forward: f.Forward, Threshold: f.Threshold,
		Rules: r, Checked: b.checked, Skipped: b.skipped(), Quotes: b.quotes, References: b.references, Citations: b.citations,
		Wording: b.sharedWording(), SharedWorks: b.sharedWorks(), Templates: slices.Clone(f.Templates), Dated: f.Dated,
		Authors: slices.Clone(f.Authors), Counting: f.Counting,
		Consulted: slices.Clone(f.Consulted), Flags: slices.Clone(f.Flags), Signatures: slices.Clone(f.Signatures),
		Partners: slices.Clone(f.Partners), Disclosures: slices.Clone(f.Disclosures), Statements: slices.Clone(f.Statements),
		Sites:    maps.Clone(f.Sites),
		Unplaced: b.unplaced,
	}
	if f.Withheld != nil {
		rep.Digest = f.Withheld.Digest
	}
	slices.SortStableFunc(rep.Consulted, func(x, y concordat.Consulted) int {
		return cmp.Or(cmp.Compare(x.Site, y.Site), cmp.Compare(x.Library, y.Library))
	})
	rep.Account = b.account(rep.Skipped)
	rep.Evidence = evidence
	rep.Numbers, rep.LastNumber = p.numbers.of(rep.Evidence), len(p.numbers.passages)
	rep.Leads, rep.LeadSearch = b.leads(rep.Evidence), b.f.LeadSearch
	rep.PartnerLeads = b.partnerLeads()
	covered := coveredBy(chains)
	rep.Covered = b.stretches(chains, covered)
	rep.Scores = b.scores(chains, covered)
	inPercent(groups, rep.Scores.Covered)
	rep.Groups = groups
	rep.Scores.Leads = b.leadShare(rep.Leads, covered)
	rep.Sources = b.ranked(chains, of)
	for i := range rep.Sources {
		rep.Sources[i].Ordinal = p.numbers.sources[b.copies.first(rep.Sources[i].Ref)]
	}
	if len(rep.Sources) > 0 && rep.Sources[0].Excluded == "" {
		rep.Scores.Largest = rep.Sources[0].Share
	}
	rep.Sections = b.sections(covered)
	rep.Short = b.short()
	if rep.Scores.Quoted-rep.Scores.Quotes >= muchQuoted {
		rep.Flags = append(rep.Flags, concordat.Flag{Code: "much_quoted", Detail: "Much of what was found is in quotation marks " +
			"and is not counted. Check whether these are quotations: quotation marks can be added to evade a check."})
	}
	return rep
}

// gathered returns the judged chains, and the evidence with the chains of each piece of evidence.
func (b *builder) gathered() ([]*chain, []concordat.Evidence, [][]int) {
	chains := b.chains()
	b.judge(chains)
	evidence, of := b.evidence(chains)
	return chains, evidence, of
}

// builder holds the intermediate results of Build for one text and one set of rules.
type builder struct {
	f                  *Findings
	r                  Rules
	text               string
	count              *Counter
	passages           []concordat.Passage // within the text, ordered by source, then span
	unplaced           int
	checked            spans
	measured           int   // number of characters in checked
	could              spans // checked text that no rule excludes
	countable          int   // characters in could; the denominator of shares that count
	quotes, references spans
	citations          spans
	headings           spans // between paragraphs, within matched text
	headed             spans // headings, except those that the rules count
	dates              map[concordat.Ref]concordat.Age
	remotes            map[concordat.Ref]bool // see method remote
	copies             copies
	titles             map[concordat.Ref]string // titles of copies, from their passages
	given              map[string]bool          // folded lines of templates; see setMasks
	masks              []mask
	masked             spans // union of masks
	counted            spans // shared wording that an officer chose to count
	legal              spans // quotations recognised with their source
	common             int   // number of documents above which wording is common
	byNumber           bool  // whether common applies to each passage; see commonByNumber
	kinds              map[concordat.Kind]bool
	sources, own       refSet
}

// mask is text that never counts, whichever sources it has.
type mask struct {
	why   concordat.Exclusion
	spans spans
}

// newBuilder returns a builder without rules.
func newBuilder(f *Findings) builder {
	text := f.Submission.Text
	b := builder{f: f, text: text, count: NewCounter(text),
		quotes: quotations(text), references: bibliography(text), citations: citations(text), headings: headings(text)}
	if w := f.Withheld; w != nil {
		b.quotes, b.references, b.citations = slices.Clone(w.Quotes), slices.Clone(w.References), slices.Clone(w.Citations)
		b.headings = slices.Clone(w.Headings)
	}
	b.copies, b.titles = newCopies(f.Works), map[concordat.Ref]string{}
	b.dates, b.remotes = b.ages(), b.remote()
	b.place()
	for _, p := range b.passages {
		if b.copies.known[p.Source].Same != (concordat.Ref{}) {
			b.titles[p.Source] = cmp.Or(b.titles[p.Source], p.Title)
		}
	}
	found := make([]concordat.Span, len(b.passages))
	for i, p := range b.passages {
		found[i] = p.Span
	}
	b.headings = b.headings.and(union(found))
	var legal []concordat.Span
	for _, w := range f.Wording {
		if w.Kind == concordat.KindQuotation && quotesSource(w.Why) {
			legal = append(legal, clip(text, w.Span))
		}
	}
	for _, p := range b.passages {
		if p.Wording == concordat.KindQuotation && quotesSource(p.Why) {
			legal = append(legal, p.Span)
		}
	}
	b.legal = union(legal)
	b.setChecked()
	return b
}

// with returns a builder with rules. Slices and maps that do not depend on rules are shared.
func (b builder) with(r Rules) *builder {
	b.r, b.common, b.kinds = r, r.CommonAbove, map[concordat.Kind]bool{}
	b.sources, b.own = newRefSet(r.ExcludeSources), newRefSet(r.OwnWork)
	b.copies.extend(b.sources, b.own)
	b.passages = b.oneCopy()
	if b.common == 0 {
		b.common = DefaultCommonAbove
	}
	b.byNumber = b.commonByNumber()
	for _, k := range r.ExcludeKinds {
		b.kinds[k] = true
	}
	b.setMasks()
	if b.headed = nil; !b.countsShared(concordat.ExcludedForm, "") {
		b.headed = b.headings.without(b.counted)
	}
	b.could = b.couldCount()
	b.countable = b.count.sum(b.could)
	return &b
}

// place sets the passages to those within the text, in an order independent of the input order.
func (b *builder) place() {
	b.passages = make([]concordat.Passage, 0, len(b.f.Passages))
	for _, p := range b.f.Passages {
		p.Span = trim(b.text, clip(b.text, p.Span))
		if p.Span.Len() == 0 || b.count.Characters(p.Span) == 0 {
			b.unplaced++
			continue
		}
		if p.SourceSpan.Start < 0 || p.SourceSpan.End < p.SourceSpan.Start {
			p.SourceSpan, p.SourcePoints, p.Words = concordat.Span{}, concordat.Span{}, nil
		}
		if strength(p.Kind) == unknownStrength {
			p.Kind = concordat.KindParaphrase // the weakest counting kind
		}
		if p.SourcePoints.Len() <= 0 && p.SourceSpan.Start == 0 && len(p.Text) == p.SourceSpan.Len() {
			p.SourcePoints = concordat.Span{End: utf8.RuneCountInString(p.Text)} // the source text begins at this passage
		}
		p.Similarity = min(max(p.Similarity, 0), 1)
		if p.Similarity != p.Similarity { // NaN
			p.Similarity = 0
		}
		b.passages = append(b.passages, p)
	}
	slices.SortStableFunc(b.passages, byPassage)
}

// byPassage orders passages by every field that a report shows.
func byPassage(p, q concordat.Passage) int {
	return cmp.Or(
		compareRefs(p.Source, q.Source),
		bySpan(p.Span, q.Span),
		bySpan(p.SourceSpan, q.SourceSpan),
		cmp.Compare(strength(p.Kind), strength(q.Kind)),
		cmp.Compare(p.Kind, q.Kind),
		-cmp.Compare(p.Similarity, q.Similarity),
		cmp.Compare(p.Documents, q.Documents),
		cmp.Compare(p.Wording, q.Wording),
		cmp.Compare(p.Why, q.Why),
		cmp.Compare(p.Title, q.Title),
		cmp.Compare(p.Text, q.Text),
		cmp.Compare(p.Before, q.Before),
		cmp.Compare(p.After, q.After),
		bySpan(p.SourcePoints, q.SourcePoints),
		slices.CompareFunc(p.Words, q.Words, func(v, w concordat.SpanPair) int {
			return cmp.Or(bySpan(v.Span, w.Span), bySpan(v.Source, w.Source))
		}),
		slices.CompareFunc(p.Shared, q.Shared, bySpan),
	)
}

func compareRefs(x, y concordat.Ref) int {
	return cmp.Or(cmp.Compare(x.Site, y.Site), cmp.Compare(x.Library, y.Library), cmp.Compare(x.Document, y.Document))
}

// unknownStrength is the strength of a kind unknown to this version.
const unknownStrength = 5

// strength ranks a kind; lower is stronger.
func strength(k concordat.Kind) int {
	switch k {
	case concordat.KindVerbatim:
		return 0
	case concordat.KindNear:
		return 1
	case concordat.KindParaphrase:
		return 2
	case concordat.KindSummary:
		return 3
	case concordat.KindCommon:
		return 4
	}
	return unknownStrength
}

// setChecked determines which text was compared: the parts listed in the findings, and every passage, because whatever matched was also
// compared. The result is independent of the rules.
func (b *builder) setChecked() {
	all := make([]concordat.Span, 0, len(b.f.Checked)+len(b.passages))
	if b.f.Checked == nil {
		var skipped []concordat.Span
		for _, s := range b.f.Skipped {
			skipped = append(skipped, clip(b.text, s.Span))
		}
		all = append(all, spans{{Start: 0, End: len(b.text)}}.without(union(skipped))...)
	}
	for _, s := range b.f.Checked {
		all = append(all, clip(b.text, s))
	}
	for _, p := range b.passages {
		all = append(all, p.Span)
	}
	b.checked = union(all)
	b.measured = b.count.sum(b.checked)
}

// skipped returns the text that was not compared, with the reason if it is known.
func (b *builder) skipped() []concordat.Skipped {
	var out []concordat.Skipped
	rest := spans{{Start: 0, End: len(b.text)}}.without(b.checked)
	given := slices.Clone(b.f.Skipped)
	slices.SortStableFunc(given, func(x, y concordat.Skipped) int {
		return cmp.Or(bySpan(x.Span, y.Span), cmp.Compare(x.Reason, y.Reason))
	})
	end := 0
	for _, s := range given { // without overlaps; the first reason for each byte wins
		s.Span = clip(b.text, s.Span)
		s.Span.Start = max(s.Span.Start, end)
		if s.Span.Start >= s.Span.End {
			continue
		}
		end = s.Span.End
		for _, x := range (spans{s.Span}).and(rest) {
			out = append(out, concordat.Skipped{Span: x, Reason: s.Reason})
		}
	}
	var named []concordat.Span
	for _, s := range out {
		named = append(named, s.Span)
	}
	for _, x := range rest.without(union(named)) {
		out = append(out, concordat.Skipped{Span: x, Reason: SkipUnasked})
	}
	out = slices.DeleteFunc(out, func(s concordat.Skipped) bool { return b.count.Characters(s.Span) == 0 })
	slices.SortFunc(out, func(x, y concordat.Skipped) int { return bySpan(x.Span, y.Span) })
	return out
}

// SkipUnasked is the reason for text that the findings do not cover.
const SkipUnasked concordat.SkipReason = "unasked"

func (b *builder) setMasks() {
	var counted []concordat.Span
	for _, c := range b.r.CountWording {
		counted = append(counted, clip(b.text, c.Span))
	}
	b.counted = union(counted)
	if b.r.ExcludeQuotes {
		b.masks = append(b.masks, mask{concordat.ExcludedQuote, b.quotes.without(b.counted)})
	}
	if b.r.ExcludeBibliography {
		b.masks = append(b.masks, mask{concordat.ExcludedBibliography, b.references})
	}
	if b.r.ExcludeCitations {
		b.masks = append(b.masks, mask{concordat.ExcludedCitation, b.citations})
	}
	var sections []concordat.Span
	for _, s := range b.f.Sections {
		if slices.Contains(b.r.ExcludeSections, s.Name) {
			sections = append(sections, clip(b.text, s.Span))
		}
	}
	templates := b.r.ExcludeTemplate
	if !b.r.CountTemplates {
		templates = slices.Clip(templates)
		for _, t := range b.f.Templates {
			templates = append(templates, t.Text)
		}
	}
	b.given = givenLines(templates)
	given := append(wordingOf(b.text, templates), wholeLines(b.text, b.given)...)
	if w := b.f.Withheld; w != nil && !b.r.CountTemplates {
		for _, s := range w.Given {
			given = append(given, clip(b.text, s))
		}
	}
	b.masks = append(b.masks,
		mask{concordat.ExcludedSection, union(sections)},
		mask{concordat.ExcludedPassage, b.left()},
		mask{concordat.ExcludedTemplate, union(given)})
	b.masks = append(b.masks, b.sharedMasks()...)
	var all []concordat.Span
	for _, m := range b.masks {
		all = append(all, m.spans...)
	}
	b.masked = union(all)
}

// sharedMasks returns shared wording as masks, except the parts that an officer counts.
func (b *builder) sharedMasks() []mask {
	of := map[concordat.Exclusion][]concordat.Span{}
	for _, w := range b.f.Wording {
		if why := w.exclusion(); !b.countsShared(why, w.Why) {
			of[why] = append(of[why], clip(b.text, w.Span))
		}
	}
	var out []mask
	for _, why := range []concordat.Exclusion{concordat.ExcludedCommon, concordat.ExcludedForm, concordat.ExcludedQuote,
		concordat.ExcludedUndecided} {
		s := union(of[why]).without(b.counted)
		if why == concordat.ExcludedUndecided {
			s = s.without(b.left())
		}
		if len(s) > 0 {
			out = append(out, mask{why, s})
		}
	}
	return out
}

// left returns the text that an officer excluded.
func (b *builder) left() spans {
	var out []concordat.Span
	for _, p := range b.r.ExcludePassages {
		out = append(out, clip(b.text, p.Span))
	}
	return union(out)
}

// exclusion returns the rule that excludes w.
func (w Wording) exclusion() concordat.Exclusion {
	switch w.Kind {
	case concordat.KindForm:
		return concordat.ExcludedForm
	case concordat.KindQuotation:
		return concordat.ExcludedQuote
	case concordat.KindUndecided:
		return concordat.ExcludedUndecided
	}
	return concordat.ExcludedCommon
}

// sharedWording returns the shared wording within the text and whether the rules count each part.
func (b *builder) sharedWording() []SharedWording {
	var out []SharedWording
	for _, w := range b.f.Wording {
		w.Span = clip(b.text, w.Span)
		n := b.count.Characters(w.Span)
		if n == 0 {
			continue
		}
		left := float64(b.count.sum(spans{w.Span}.and(b.left()))) >= 0.5*float64(n)
		out = append(out, SharedWording{w, !left && (b.countsShared(w.exclusion(), w.Why) || b.countedByHand(spans{w.Span})), left})
	}
	slices.SortStableFunc(out, func(x, y SharedWording) int { return bySpan(x.Span, y.Span) })
	return out
}

// whyOf returns the reason that accounts for most characters of shared wording in a span.
func (b *builder) whyOf(kind concordat.Kind, s concordat.Span, passages []concordat.Passage) string {
	by := map[string]int{}
	for _, w := range b.f.Wording {
		if w.Kind == kind {
			by[w.Why] += b.count.sum((spans{s}).and(spans{clip(b.text, w.Span)}))
		}
	}
	for _, p := range passages {
		if p.Wording == kind {
			by[p.Why] += b.count.sum((spans{s}).and(spans{p.Span}))
		}
	}
	delete(by, "")
	best := ""
	for _, why := range slices.Sorted(maps.Keys(by)) {
		if by[why] > by[best] {
			best = why
		}
	}
	return best
}

// sharedAs returns the rule under which a passage is legitimately shared, or "" if it is evidence or an officer counts it.
func (b *builder) sharedAs(p concordat.Passage) concordat.Exclusion {
	why := concordat.Exclusion("")
	switch p.Wording {
	case "":
		if b.isCommon(p) && !b.countedByHand(spans{p.Span}) {
			return concordat.ExcludedCommon
		}
		return ""
	case concordat.KindForm:
		why = concordat.ExcludedForm
	case concordat.KindTemplate:
		why = concordat.ExcludedTemplate
	case concordat.KindQuotation:
		why = concordat.ExcludedQuote
	case concordat.KindSentence:
		why = concordat.ExcludedSentence
	case concordat.KindUndecided:
		why = concordat.ExcludedUndecided
	default:
		why = concordat.ExcludedCommon
	}
	if b.countsShared(why, p.Why) || b.countedByHand(spans{p.Span}) {
		return ""
	}
	return why
}

// countedByHand reports whether an officer counts most of s.
func (b *builder) countedByHand(s spans) bool {
	return len(b.counted) > 0 && 2*b.count.sum(s.and(b.counted)) >= b.count.sum(s)
}

// quotesSource reports whether a quotation is legitimate because the text names its source, rather than because it is a licence, a
// declaration or the like.
func quotesSource(why string) bool {
	return slices.Contains([]string{string(AsQuotation), string(AsStatute), string(AsScripture), string(AsVerse)}, why)
}

// countsShared reports whether the rules count all shared wording with a given reason. For quotations, that means quotations that name
// their source.
func (b *builder) countsShared(why concordat.Exclusion, reason string) bool {
	switch why {
	case concordat.ExcludedQuote:
		return b.r.CountQuotations && quotesSource(reason)
	case concordat.ExcludedForm:
		return b.r.CountForms
	case concordat.ExcludedSentence:
		return b.r.CountSentences
	case concordat.ExcludedTemplate:
		return b.r.CountTemplates
	case concordat.ExcludedCommon, concordat.ExcludedUndecided:
		return b.r.CommonAbove < 0
	}
	return false
}

// refSet is a set of documents, libraries and sites.
type refSet map[concordat.Ref]bool

func newRefSet(refs []concordat.Ref) refSet {
	s := refSet{}
	for _, r := range refs {
		if r != (concordat.Ref{}) {
			s[r] = true
		}
	}
	return s
}

func (s refSet) has(r concordat.Ref) bool {
	return s[r] || s[concordat.Ref{Site: r.Site, Library: r.Library}] || s[concordat.Ref{Site: r.Site}]
}
