package profile

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// Short pieces are compared by their grams, on request.
const (
	// shortBelow is the number of folded characters below which a paragraph is a short piece, which is the minimum length of a block in
	// the natural packing. A paragraph of at least segment.Natural.Short characters also has a fingerprint.
	shortBelow = 40
	// longestTitle is the maximum length, in folded characters, of a title that is a short piece.
	longestTitle = 200
	// leastLetters is the minimum number of characters, and leastWords is the minimum number of letters among them, of a piece
	// distinctive enough to compare; dates and page numbers have no letters.
	leastLetters = 4
	leastWords   = 3
	// maxShort bounds the short pieces of a document, because a list of words is not a list of headings.
	maxShort = 2000
)

// short returns the short pieces of the split text outside excluded sections, which are its short paragraphs or, if the text is a list,
// its lines.
func (s *scratch) short(sections []concordat.Section, excluded []bool) []concordat.ShortPiece {
	if lines := s.list(); lines != nil {
		return slices.DeleteFunc(lines, func(p concordat.ShortPiece) bool { return left(p.Span.Start, sections, excluded) })
	}
	out := []concordat.ShortPiece{}
	t := &s.text
	for _, p := range t.Paragraphs {
		chars := 0
		for i := p.First; i < p.Last; i++ {
			chars += t.Sentences[i].Chars
		}
		if chars < leastLetters || chars >= shortBelow || len(out) == maxShort {
			continue
		}
		first, last := &t.Sentences[p.First], &t.Sentences[p.Last-1]
		span := concordat.Span{Start: first.Span.Start, End: last.Span.End}
		if left(span.Start, sections, excluded) {
			continue
		}
		if letters := s.letters(first.First, last.Last); telling(letters) {
			out = append(out, concordat.ShortPiece{Span: span, Letters: letters, Text: span.In(t.Source)})
		}
	}
	return out
}

// list returns the lines of a text of two or more lines that are all short, for example a list of titles. It returns nil if the text is
// not a list. A paragraph of running text is seldom broken into lines of fewer than 40 characters.
func (s *scratch) list() []concordat.ShortPiece {
	t := &s.text
	out, lines, word := []concordat.ShortPiece{}, 0, 0
	for start := 0; start < len(t.Source); {
		end := len(t.Source)
		if n := strings.IndexByte(t.Source[start:], '\n'); n >= 0 {
			end = start + n
		}
		first := word
		for word < len(t.Words) && int(t.Words[word].Start) < end {
			word++
		}
		letters := s.letters(first, word)
		switch n := utf8.RuneCountInString(letters); {
		case n >= shortBelow:
			return nil
		case n > 0:
			if lines++; n >= leastLetters && telling(letters) && len(out) < maxShort {
				span := concordat.Span{Start: int(t.Words[first].Start), End: max(end, int(t.Words[word-1].End))}
				span.End = span.Start + len(strings.TrimRightFunc(span.In(t.Source), unicode.IsSpace))
				out = append(out, concordat.ShortPiece{Span: span, Letters: letters, Text: span.In(t.Source)})
			}
		}
		start = end + 1
	}
	if lines < 2 {
		return nil
	}
	return out
}

// title returns the title as a short piece, if it qualifies. It splits the title and discards the text that was split before.
func (s *scratch) title(title string) ([]concordat.ShortPiece, error) {
	if title == "" || len(title) > 8*longestTitle {
		return nil, nil
	}
	if err := s.text.Split(title); err != nil {
		return nil, err
	}
	if n := s.text.Chars(); n < leastLetters || n > longestTitle {
		return nil, nil
	}
	letters := s.letters(0, len(s.text.Words))
	if !telling(letters) {
		return nil, nil
	}
	return []concordat.ShortPiece{{Letters: letters, Text: title}}, nil
}

// letters returns the folded letters of words first to last-1 without spaces.
func (s *scratch) letters(first, last int) string {
	if first >= last {
		return ""
	}
	norm := s.text.Norm[s.text.Words[first].NormStart:s.text.Words[last-1].NormEnd]
	out := make([]byte, 0, len(norm))
	for _, c := range norm {
		if c != ' ' {
			out = append(out, c)
		}
	}
	return string(out)
}

// telling reports whether letters contain more than a number.
func telling(letters string) bool {
	n := 0
	for _, r := range letters {
		if unicode.IsLetter(r) {
			if n++; n == leastWords {
				return true
			}
		}
	}
	return false
}

// left reports whether a position is in an excluded section.
func left(at int, sections []concordat.Section, excluded []bool) bool {
	for i := range sections {
		if sections[i].Span.Start <= at && at < sections[i].Span.End {
			return excluded[i]
		}
	}
	return false
}
