package answer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// Limits on how much of a document is disclosed around its matches.
const (
	// outlineAround is how many units or sentences are disclosed on either side of a match that is evidence. A further match this close
	// to the disclosed part is disclosed with its own surroundings, so more follows if the asker's text keeps matching.
	outlineAround = 4
	edgesAround   = 4  // in units: two for the gaps in a passage, and two more at each end
	revealAround  = 20 // in units; a person reads the passage and decides
	// Limits on one question.
	maxOutlines = 200
	maxSpans    = 256
	maxOrdered  = 1 << 17 // in words per passage
	maxCompared = 4 << 20 // in bytes of text
)

func isNotFound(err error) bool { return errors.Is(err, concordat.ErrNotFound) }

// known is the current state of a document that the partner has seen in a job.
type known struct {
	*grant
	set    *epochSet
	key    []byte // for text disclosed to the partner
	row    store.DocumentRow
	handle concordat.Handle
	text   string
	walls  []concordat.Span  // parts of the text that are not disclosed: template wording of the library and reference lists
	hits   []store.AnswerHit // disclosed hits
	lead   bool              // the document was named as a lead, so only passages can be requested
}

// epochFor returns the set of an epoch for a partner.
func (s *core) epochFor(from concordat.SiteID, e concordat.Epoch) (*epochSet, error) {
	set := s.epoch(e)
	if set == nil || !set.member(from) {
		return nil, refuse(concordat.ReasonEpoch, "this site does not answer questions for epoch %s", e)
	}
	return set, nil
}

// known returns a document of a job, without its text, given its handle, or the reason why none of it can be disclosed. It returns the
// same error for handles never disclosed, handles disclosed without metadata, and handles of a text that has since changed.
func (s *Answerer) known(ctx context.Context, from concordat.SiteID, set *epochSet, job concordat.JobID,
	h concordat.Handle) (*known, error) {
	k, err := s.knownOrLead(ctx, from, set, job, h)
	if err == nil && k.lead {
		return nil, errUntold
	}
	return k, err
}

// errUntold is the common error for everything undisclosed.
var errUntold = unknown("no answer to this job included this document")

// knownOrLead also accepts a document named only for its meaning.
func (s *Answerer) knownOrLead(ctx context.Context, from concordat.SiteID, set *epochSet, job concordat.JobID,
	h concordat.Handle) (*known, error) {
	j, err := s.o.Store.Answers.AnswerJob(ctx, from, job)
	if isNotFound(err) || err == nil && j.Epoch != set.Epoch {
		return nil, errUntold
	}
	if err != nil {
		return nil, err
	}
	d, err := s.o.Store.Answers.AnswerDocument(ctx, from, job, h)
	if isNotFound(err) || err == nil && d.Told != toldLead && !atLeast(d.Told, concordat.ShowMetadata) {
		return nil, errUntold
	}
	if err != nil {
		return nil, err
	}
	k := &known{set: set, key: set.shownKey(from), handle: h, lead: d.Told == toldLead}
	if k.hits, err = s.o.Store.Answers.AnswerHits(ctx, from, job, h); err != nil {
		return nil, err
	}
	k.hits = slices.DeleteFunc(k.hits, func(h store.AnswerHit) bool { return !h.Told })
	g, refusal, err := s.grant(ctx, from, d.Library, j.Purpose)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	k.grant = g
	if k.row, err = s.o.Store.Answers.HeldDocument(ctx, set.Epoch, d.Library, d.Document); isNotFound(err) || err == nil &&
		k.row.Hash != d.Hash {
		return nil, errChanged
	}
	return k, err
}

// errChanged is the error for requesting more of a text that has changed since the job's answer.
var errChanged = unknown("the document has changed or has been deleted; ask again")

// read loads the text of the document. The cost must be paid beforehand.
func (s *Answerer) read(ctx context.Context, k *known) error {
	d, err := s.document(ctx, k.library.ID, k.row.ID)
	if err != nil {
		return err
	}
	if d == nil || store.TextHash(d.Text) != k.row.Hash {
		return errChanged
	}
	k.text = d.Text
	k.walls, err = s.unshown(ctx, k.library.ID, d.Text)
	return err
}

func unknown(words string) *concordat.Refusal { return refuse(concordat.ReasonUnknown, "%s", words) }

// pay charges for a later round, and returns the refusal if a budget is exhausted.
func (s *Answerer) pay(ctx context.Context, xs ...store.Spending) error {
	_, refusal, err := s.spend(ctx, xs...)
	if err == nil && refusal != nil {
		return refusal
	}
	return err
}

// AnswerOutline answers the second round. For each requested document, which must have been disclosed to the job with metadata, it
// returns the sentences within 4 of the matches in the form set by the library's rule, unless the partner has the text in another form.
// The matches must be evidence rather than chance; this site's rule decides (see evidenceOf). Each outline costs the asker one document
// from its budget, plus units from the document's yearly budget.
func (s *Answerer) AnswerOutline(ctx context.Context, from concordat.SiteID, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	if len(a.Documents) == 0 || len(a.Documents) > maxOutlines {
		return nil, fmt.Errorf("outline request for %d documents: %w", len(a.Documents), concordat.ErrInvalid)
	}
	out := &concordat.Outlines{}
	for i, of := range a.Documents {
		if len(of.Ordinals) > concordat.MaxAsked {
			return nil, fmt.Errorf("outline request %d lists too many sentences (%d): %w", i, len(of.Ordinals), concordat.ErrInvalid)
		}
		line := auditDocument{Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch.String(), Handle: hex.EncodeToString(of.Handle[:])}
		o, err := s.outline(ctx, from, a, of, &line)
		line.Refused = reasonOf(err)
		if err2 := s.audit(ctx, from, "outline", line); err2 != nil {
			return nil, err2
		}
		var refusal *concordat.Refusal
		switch {
		case errors.As(err, &refusal):
			o = &concordat.Outline{Handle: of.Handle, Refusal: refusal}
		case err != nil:
			return nil, err
		}
		out.Documents = append(out.Documents, *o)
	}
	return out, nil
}

func (s *Answerer) outline(ctx context.Context, from concordat.SiteID, a *concordat.OutlineAsk, of concordat.OutlineOf,
	line *auditDocument) (*concordat.Outline, error) {
	set, err := s.epochFor(from, a.Epoch)
	if err != nil {
		return nil, err
	}
	k, err := s.known(ctx, from, set, a.Job, of.Handle)
	if err != nil {
		return nil, err
	}
	line.Library, line.Document = k.library.ID, k.row.ID
	form := k.rule.Outline
	if form == "" || !atLeast(k.rule.Level, concordat.ShowMetadata) {
		return nil, refuse(concordat.ReasonLevel, "library %s does not share outlines of documents", k.library.ID)
	}
	line.Form = form
	around, err := k.anchors(of.Ordinals)
	if err != nil {
		return nil, err
	}
	if err := s.pay(ctx, k.documents(spendOutlines, 1)); err != nil {
		return nil, err
	}
	if err := s.read(ctx, k); err != nil {
		return nil, err
	}
	var o *concordat.Outline
	if form == concordat.OutlineWords {
		o, err = k.words(around)
	} else {
		o, err = k.fingerprints(around)
	}
	if err != nil {
		return nil, err
	}
	if err := s.ration(ctx, k, o); err != nil {
		return nil, err
	}
	if err := s.withhold(ctx, k, o); err != nil {
		return nil, err
	}
	line.Units = len(o.Units)
	return o, s.show(ctx, k, form, len(o.Units), 0)
}

// ration removes from an outline units that the partner has not seen and that contain no match of the job, if they exceed the document's
// yearly budget.
func (s *Answerer) ration(ctx context.Context, k *known, o *concordat.Outline) error {
	var beside []int
	for _, u := range o.Units {
		if !slices.ContainsFunc(k.hits, func(h store.AnswerHit) bool { return h.Span.Overlaps(u.Span) }) {
			beside = append(beside, u.Ordinal)
		}
	}
	most := k.rule.Limits.Units
	if most >= 0 {
		most = max(most, k.row.Sentences/4)
	}
	of := store.Outlined{Partner: k.from, Library: k.library.ID, Document: k.row.ID}
	shown, err := s.o.Store.Asks.Outline(ctx, of, s.o.Now().Add(-year), most, beside)
	if err != nil {
		return err
	}
	left := map[int]bool{}
	for i, n := range beside {
		left[n] = !shown[i]
	}
	o.Units = slices.DeleteFunc(o.Units, func(u concordat.OutlineUnit) bool { return left[u.Ordinal] })
	return nil
}

// withhold removes from an outline sentences that the partner has in another form, for example as fingerprints of a submission it was
// asked about, and records the rest.
func (s *Answerer) withhold(ctx context.Context, k *known, o *concordat.Outline) error {
	sentences, err := k.set.Profiler.Asked(k.text, func(x concordat.Span) bool {
		return slices.ContainsFunc(o.Units, func(u concordat.OutlineUnit) bool { return u.Span.Overlaps(x) })
	})
	if err != nil {
		return fmt.Errorf("document %s: %w", k.row.ID, err)
	}
	var digests []store.Digest
	for _, x := range sentences {
		digests = append(digests, store.SentenceDigest(x.In(k.text)))
	}
	form := store.FormWords
	if o.Form == concordat.OutlineFingerprints {
		form = store.FingerprintsForm(k.set.Epoch, k.set.Profiler.Scheme())
	}
	withheld, err := s.o.Store.Asks.Expose(ctx, k.from, form, digests)
	if err != nil {
		return err
	}
	o.Units = slices.DeleteFunc(o.Units, func(u concordat.OutlineUnit) bool {
		for i, sp := range sentences {
			if withheld[i] && sp.Overlaps(u.Span) {
				return true
			}
		}
		return false
	})
	if len(o.Units) == 0 {
		return refuse(concordat.ReasonLevel, "you have seen these sentences in a different form, and each text is shown in only one form")
	}
	return nil
}

// show records that part of a document was disclosed to the partner, or refuses if the partner already has the text in a different
// sketch.
func (s *Answerer) show(ctx context.Context, k *known, form string, sentences, characters int) error {
	err := s.o.Store.Asks.Show(ctx, store.Showing{Partner: k.from, Hash: k.row.Hash, Form: form, Library: k.library.ID, Document: k.row.ID,
		Epoch: k.set.Epoch, Sentences: sentences, Characters: characters})
	if errors.Is(err, concordat.ErrRefused) {
		return refuse(concordat.ReasonLevel, "you have seen this text in a different form, and each text is shown in only one form")
	}
	return err
}

// anchors returns the job's matches around which an outline is disclosed, among the requested ordinals. These are matches that are
// evidence by themselves, and matches close to one of them. It refuses if all matches together could be chance.
func (k *known) anchors(ordinals []int) ([]store.AnswerHit, error) {
	all := make([]weighed, len(k.hits))
	best := map[int]store.AnswerHit{}
	for i, h := range k.hits {
		all[i] = weighed{h.Sentence, h.Ordinal, h.Weight}
		if was, ok := best[h.Ordinal]; slices.Contains(ordinals, h.Ordinal) && (!ok || h.Weight > was.Weight) {
			best[h.Ordinal] = h
		}
	}
	if len(best) == 0 {
		return nil, unknown("no answer to this job included any of these sentences")
	}
	if evidenceOf(all) < leastEvidence {
		return nil, refuse(concordat.ReasonGate, "the matches may be coincidental")
	}
	order := slices.Sorted(maps.Keys(best))
	kept := map[int]bool{}
	for _, n := range order {
		kept[n] = best[n].Weight > 0
	}
	spread := func(order []int) { // from kept matches to their neighbours
		for i := 1; i < len(order); i++ {
			a, b := order[i-1], order[i]
			if kept[a] && max(a, b)-min(a, b) <= 2*outlineAround && best[b].Weight > common/2 {
				kept[b] = true
			}
		}
	}
	spread(order)
	slices.Reverse(order)
	spread(order)
	slices.Reverse(order)
	var out []store.AnswerHit
	for _, n := range order {
		if kept[n] {
			out = append(out, best[n])
		}
	}
	if len(out) == 0 {
		return nil, refuse(concordat.ReasonGate, "the matches near these sentences may be coincidental")
	}
	return out, nil
}

// words returns an outline as word sets around matches.
func (k *known) words(around []store.AnswerHit) (*concordat.Outline, error) {
	spans := make([]concordat.Span, len(around))
	for i, h := range around {
		spans[i] = h.Span
	}
	sketch, err := align.PrepareWithout(k.text, k.walls).Sketch(k.key, align.DefaultSketchBits)
	if err != nil {
		return nil, err
	}
	o := &concordat.Outline{Handle: k.handle, Form: concordat.OutlineWords, Bits: sketch.Bits, Length: len(k.text)}
	for _, u := range sketch.Near(spans, outlineAround).Units {
		o.Units = append(o.Units, concordat.OutlineUnit{Ordinal: u.Ordinal, Span: u.Span, Chars: u.Chars, Words: u.Words})
	}
	return o, nil
}

// fingerprints returns an outline as fingerprints around matches.
func (k *known) fingerprints(around []store.AnswerHit) (*concordat.Outline, error) {
	p, err := k.set.Profiler.ForIndex(concordat.Document{ID: k.row.ID, Text: k.text})
	if err != nil {
		return nil, err
	}
	keep := make([]bool, len(p.Indexed))
	for _, h := range around {
		for j := max(0, h.Ordinal-outlineAround); j <= min(len(keep)-1, h.Ordinal+outlineAround); j++ {
			keep[j] = true
		}
	}
	o := &concordat.Outline{Handle: k.handle, Form: concordat.OutlineFingerprints, Length: len(k.text)}
	count := report.NewCounter(k.text)
	text := align.Prepare(k.text)
	for i, sentence := range p.Indexed {
		if !keep[i] || compare.ShareOf(count, sentence.Span, k.walls) >= compare.MostlyShared {
			continue
		}
		chars, features, err := k.set.Profiler.Size(sentence.Span.In(k.text))
		if err != nil {
			return nil, err
		}
		o.Units = append(o.Units, concordat.OutlineUnit{Ordinal: i, Span: sentence.Span, Chars: chars, Features: features,
			Fingerprint: sentence.Fingerprint, Check: text.Check(k.key, sentence.Span)})
	}
	return o, nil
}

// AnswerEdges answers the edge round. It returns the places where the asker's words occur in the same order in the requested spans,
// limited to four units around a matching sentence and to sufficiently long verbatim copies. Every passage is charged, whatever the
// result; otherwise, a requester who knows all of a copy except the next word could try every possible word.
func (s *Answerer) AnswerEdges(ctx context.Context, from concordat.SiteID, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	line := auditDocument{Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch.String(), Handle: hex.EncodeToString(a.Handle[:]),
		Form: store.FormEdges}
	e, err := s.edges(ctx, from, a, &line)
	line.Refused = reasonOf(err)
	if err2 := s.audit(ctx, from, "edges", line); err2 != nil {
		return nil, err2
	}
	return e, err
}

func (s *Answerer) edges(ctx context.Context, from concordat.SiteID, a *concordat.EdgesAsk, line *auditDocument) (*concordat.Edges, error) {
	set, err := s.epochFor(from, a.Epoch)
	if err != nil {
		return nil, err
	}
	chars := 0
	for i, p := range a.Passages {
		if p.Span.Start < 0 || p.Span.End <= p.Span.Start || len(p.Words) == 0 || len(p.Words) > maxOrdered {
			return nil, fmt.Errorf("passage %d (bytes %d to %d, %d words): %w", i, p.Span.Start, p.Span.End, len(p.Words),
				concordat.ErrInvalid)
		}
		chars += p.Span.Len()
	}
	if n := len(a.Passages); n == 0 || n > maxSpans || chars > maxCompared {
		return nil, fmt.Errorf("%d passages with %d bytes in total: %w", n, chars, concordat.ErrInvalid)
	}
	k, err := s.known(ctx, from, set, a.Job, a.Handle)
	if err != nil {
		return nil, err
	}
	line.Library, line.Document = k.library.ID, k.row.ID
	if k.rule.Outline == "" || k.rule.NoEdges {
		return nil, refuse(concordat.ReasonLevel, "library %s does not allow word order to be compared", k.library.ID)
	}
	if err := s.pay(ctx, k.characters(spendEdges, chars), k.compared(k.row.ID, len(a.Passages))); err != nil {
		return nil, err
	}
	if err := s.read(ctx, k); err != nil {
		return nil, err
	}
	e, told, err := k.copies(a.Passages)
	if err != nil {
		return nil, err
	}
	for _, p := range a.Passages {
		line.Words += len(p.Words)
	}
	line.Characters = told
	return e, s.show(ctx, k, store.FormEdges, 0, told)
}

// copies compares the order of the asker's words with the order in the nearby parts of the spans. It returns the copies and the number of
// bytes of text they cover.
func (k *known) copies(ps []concordat.EdgePassage) (*concordat.Edges, int, error) {
	text := align.PrepareWithout(k.text, k.walls)
	near, err := k.near(text, edgesAround)
	if err != nil {
		return nil, 0, err
	}
	e := &concordat.Edges{}
	told := 0
	for _, p := range ps {
		var ours, theirs align.Order
		for _, part := range clip(p.Span, near) {
			o, err := text.Order(k.key, part)
			if err != nil {
				return nil, 0, err
			}
			ours.Spans, ours.Words = append(ours.Spans, o.Spans...), append(ours.Words, o.Words...)
		}
		theirs.Words = p.Words
		for i := range p.Words { // positions among the asker's words, since the asker's text is unknown
			theirs.Spans = append(theirs.Spans, concordat.Span{Start: i, End: i + 1})
		}
		found, err := align.Copies(theirs, ours, align.Options{})
		if err != nil {
			return nil, 0, err
		}
		var copies []concordat.EdgeCopy
		for _, x := range found {
			copies = append(copies, concordat.EdgeCopy{From: x.A.Start, To: x.A.End, Span: x.B})
			told += x.B.Len()
		}
		e.Passages = append(e.Passages, copies)
	}
	return e, told, nil
}

// near returns the text within around units of any sentence named in the job's answer, as ordered spans that do not touch.
func (k *known) near(text *align.Text, around int) ([]concordat.Span, error) {
	sketch, err := text.Sketch(k.key, align.DefaultSketchBits)
	if err != nil {
		return nil, err
	}
	var spans []concordat.Span
	for i, h := range k.hits {
		if i == 0 || h.Ordinal != k.hits[i-1].Ordinal {
			spans = append(spans, h.Span)
		}
	}
	var out []concordat.Span
	last := -2
	for _, u := range sketch.Near(spans, around).Units {
		if u.Ordinal == last+1 {
			out[len(out)-1].End = u.Span.End
		} else {
			out = append(out, u.Span)
		}
		last = u.Ordinal
	}
	return out, nil
}

// clip returns the parts of sp inside spans.
func clip(sp concordat.Span, spans []concordat.Span) []concordat.Span {
	var out []concordat.Span
	for _, x := range spans {
		if part := (concordat.Span{Start: max(sp.Start, x.Start), End: min(sp.End, x.End)}); part.Start < part.End {
			out = append(out, part)
		}
	}
	return out
}
