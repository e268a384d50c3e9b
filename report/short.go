package report

import (
	"cmp"
	"slices"
	"strings"

	"concordat"
)

// ShortFindings holds a check's findings on pieces too short for fingerprints: titles, headings, answers. They are compared on request
// and do not affect any other score.
type ShortFindings struct {
	Threshold float64      `json:"threshold"` // minimum similarity, above 0 and at most 1
	Pieces    []ShortPiece `json:"pieces"`    // queried pieces, the title first, then in text order
	Unindexed int          `json:"unindexed,omitempty"`
	Capped    int          `json:"capped,omitempty"` // pieces for which some similar texts were not measured
	Matches   []ShortMatch `json:"matches"`          // in any order
}

// ShortPiece is a piece of the submission. A zero Span denotes the title.
type ShortPiece struct {
	Span concordat.Span `json:"span"` // in bytes of the submission's text
	Text string         `json:"text"`
}

// ShortMatch is a piece of a source that resembles a piece of the submission.
type ShortMatch struct {
	Piece      int            `json:"piece"` // index into Pieces
	Source     concordat.Ref  `json:"source"`
	Title      string         `json:"title"`       // title of the source
	SourceSpan concordat.Span `json:"source_span"` // in bytes of the source's text; zero for its title
	Text       string         `json:"text"`        // as it appears in the source
	Similarity float64        `json:"similarity"`  // exact Jaccard similarity of the pieces' grams, 0 to 1
	Documents  int            `json:"documents"`   // number of documents, in any library, that contain the source's piece
}

// ShortTexts holds a report's short pieces, with a separate score.
type ShortTexts struct {
	Threshold float64
	Asked     int // pieces compared
	Found     int // pieces found in a counting source
	Common    int // pieces that are common wording
	Excluded  int // pieces excluded by a rule
	Unindexed int // documents in the libraries that cannot be compared until they are added again or reindexed
	Capped    int
	Pieces    []ShortEvidence // pieces found, in text order
	titleOnly bool            // only the title was compared
}

// ShortEvidence is a short piece with its sources, most similar first.
type ShortEvidence struct {
	ShortPiece
	Sources  []ShortSource
	Excluded concordat.Exclusion // why it does not count; empty if it counts
}

// ShortSource is a document that contains a piece similar to the compared one.
type ShortSource struct {
	ShortMatch
	concordat.Age
	Excluded concordat.Exclusion
}

// Share returns Found divided by Asked, 0 to 1, or 0 if no pieces were compared.
func (s *ShortTexts) Share() float64 {
	if s.Asked == 0 {
		return 0
	}
	return float64(s.Found) / float64(s.Asked)
}

// short applies the rules to the findings on short pieces.
func (b *builder) short() *ShortTexts {
	f := b.f.Short
	if f == nil {
		return nil
	}
	out := &ShortTexts{Threshold: f.Threshold, Asked: len(f.Pieces), Unindexed: f.Unindexed, Capped: f.Capped,
		titleOnly: len(f.Pieces) == 1 && f.Pieces[0].Span.Len() == 0}
	of := make([][]ShortSource, len(f.Pieces))
	for _, m := range f.Matches {
		if m.Piece < 0 || m.Piece >= len(of) {
			continue
		}
		if m.Similarity = min(max(m.Similarity, 0), 1); m.Similarity != m.Similarity { // NaN
			m.Similarity = 0
		}
		s := ShortSource{ShortMatch: m, Age: b.dates[m.Source]}
		switch {
		case b.sources.has(m.Source):
			s.Excluded = concordat.ExcludedSource
		case b.own.has(m.Source):
			s.Excluded = concordat.ExcludedOwn
		case b.common > 0 && m.Documents > b.common:
			s.Excluded = concordat.ExcludedCommon
		}
		of[m.Piece] = append(of[m.Piece], s)
	}
	for i, sources := range of {
		if len(sources) == 0 {
			continue
		}
		out.add(b.shortEvidence(f.Pieces[i], sources))
	}
	return out
}

func (s *ShortTexts) add(e ShortEvidence) {
	switch e.Excluded {
	case "":
		s.Found++
	case concordat.ExcludedCommon:
		s.Common++
	default:
		s.Excluded++
	}
	s.Pieces = append(s.Pieces, e)
}

// shortHolder is a document and the number of counting short texts it contains.
type shortHolder struct {
	ref    concordat.Ref
	title  string
	pieces int
}

// sources returns the documents that contain counting short texts, most texts first. Repetitions within a document count once.
func (s *ShortTexts) sources() []shortHolder {
	if s == nil {
		return nil
	}
	var out []shortHolder
	at := map[concordat.Ref]int{}
	for _, p := range s.Pieces {
		if p.Excluded != "" {
			continue
		}
		seen := map[concordat.Ref]bool{}
		for _, x := range p.Sources {
			if x.Excluded != "" || seen[x.Source] {
				continue
			}
			seen[x.Source] = true
			i, known := at[x.Source]
			if !known {
				i, at[x.Source] = len(out), len(out)
				out = append(out, shortHolder{ref: x.Source, title: x.Title})
			}
			out[i].pieces++
		}
	}
	slices.SortStableFunc(out, func(x, y shortHolder) int {
		return cmp.Or(cmp.Compare(y.pieces, x.pieces), compareRefs(x.ref, y.ref))
	})
	return out
}

func (b *builder) shortEvidence(p ShortPiece, sources []ShortSource) ShortEvidence {
	slices.SortStableFunc(sources, func(x, y ShortSource) int {
		return cmp.Or(cmp.Compare(boolInt(x.Excluded != ""), boolInt(y.Excluded != "")), cmp.Compare(y.Similarity, x.Similarity),
			compareRefs(x.Source, y.Source), bySpan(x.SourceSpan, y.SourceSpan), strings.Compare(x.Text, y.Text))
	})
	sources = firstCopies(b.copies, sources, func(s ShortSource) (concordat.Ref, any) { return s.Source, s.Text })
	e := ShortEvidence{ShortPiece: p, Sources: sources, Excluded: sources[0].Excluded}
	if slices.ContainsFunc(sources, func(s ShortSource) bool { return s.Excluded == concordat.ExcludedCommon }) {
		// The rarity of a variant means nothing if the wording itself is common.
		e.Excluded = concordat.ExcludedCommon
	}
	if s := clip(b.text, p.Span); e.Excluded == "" && s.Len() > 0 && b.count.sum(spans{s}.without(b.masked)) == 0 {
		e.Excluded = b.reason(spans{s})
	}
	if e.Excluded == "" && p.Span.Len() == 0 && b.givenLine(p.Text) {
		e.Excluded = concordat.ExcludedTemplate
	}
	all := make([]aged, len(e.Sources))
	for i := range e.Sources {
		all[i] = aged{e.Sources[i].Source, &e.Sources[i].Age}
	}
	markOldest(all)
	return e
}

// Stand returns the end of a sentence, in English, that states how many of the compared texts also occur elsewhere.
func (s *ShortTexts) Stand() string {
	if s.Found == 1 {
		return "also appears in other documents."
	}
	return "also appear in other documents."
}

// listHint explains how to submit a list of short texts.
const listHint = "A list is read line by line if all its lines are that short; otherwise, put an empty line between its entries."

// shortStatement returns sentences that say which short texts were compared and found, or nil if they were not requested.
func (r *Report) shortStatement() []string {
	s, l := r.Short, r.Language
	if s == nil {
		return nil
	}
	if s.Asked == 0 {
		return []string{l.Say("No short text was compared: a short text is a title, or a paragraph of 4 to 39 letters."), l.Say(listHint)}
	}
	stand := "Short texts (titles, headings, answers): %s of %s also appear in other documents. They are not part of the shares."
	if s.Found == 1 {
		stand = "Short texts (titles, headings, answers): %s of %s also appears in other documents. They are not part of the shares."
	}
	out := []string{l.Say(stand, Thousands(l, s.Found), l.Plural(s.Asked, "compared short text", "compared short texts"))}
	if s.titleOnly {
		out = append(out, l.Say("Of the short texts, only the title was compared: the text has no paragraph of 4 to 39 letters."), l.Say(listHint))
	}
	if s.Common+s.Excluded > 0 {
		out = append(out, l.Say("Of the short texts, %s found as common wording and %s excluded by rules do not count.", Thousands(l, s.Common),
			Thousands(l, s.Excluded)))
	}
	if s.Unindexed > 0 {
		out = append(out, l.Say("The short texts of %s are not indexed and were not compared; concordat reindex indexes them.",
			l.Plural(s.Unindexed, "document", "documents")))
	}
	if s.Capped > 0 {
		out = append(out, l.Say("For %s, not all similar texts were measured.", l.Plural(s.Capped, "short text", "short texts")))
	}
	return out
}

// ShortCloseness describes the similarity of two short texts, in one of four steps. The similarity is the exact Jaccard similarity of
// their grams, in which one changed letter counts two or three times.
func (l Language) ShortCloseness(similarity float64) string {
	switch {
	case similarity >= 1:
		return l.Say("identical")
	case similarity >= 0.8:
		return l.Say("nearly identical")
	case similarity >= 0.65:
		return l.Say("strongly similar")
	}
	return l.Say("similar")
}
