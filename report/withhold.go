package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// Withheld is the part of a submission that remains when its text is not stored. It suffices for computing the same scores under any
// rules. Spans are in bytes of the text.
type Withheld struct {
	Digest string `json:"digest"` // SHA-256 of the text, in hexadecimal
	// Quotes, References and Citations are the spans that rules can exclude; Given is the wording of Templates.
	Quotes     []concordat.Span `json:"quotes"`
	References []concordat.Span `json:"references"`
	Citations  []concordat.Span `json:"citations"`
	Given      []concordat.Span `json:"given"`
	Headings   []concordat.Span `json:"headings,omitempty"`
}

// TextKept reports whether f contains the text of its submission.
func (f *Findings) TextKept() bool { return f.Withheld == nil && f.Submission.Text != "" }

// FlagWithheld is the code of the flag on findings without the text of the submission.
const FlagWithheld = "text_not_kept"

// Withhold removes the submission's text from the findings and records the data needed for scores. Letters and digits become placeholders
// of the same length in bytes and code points, except in citation marks; other characters remain, and so do word lengths. The sources'
// texts also remain, so a passage in the same words as a source can be read there. Withhold does nothing if the findings have no text or
// were already processed.
func Withhold(f *Findings) {
	text := f.Submission.Text
	if text == "" || f.Withheld != nil {
		return
	}
	sum := sha256.Sum256([]byte(text))
	var given []string
	for _, t := range f.Templates {
		given = append(given, t.Text)
	}
	w := &Withheld{Digest: hex.EncodeToString(sum[:]), Quotes: quotations(text), References: bibliography(text), Citations: citations(text),
		Given: union(append(wordingOf(text, given), wholeLines(text, givenLines(given))...)), Headings: headings(text)}
	f.Submission.Text = masking(text, w.Citations)
	f.Withheld = w
	if f.Short != nil {
		short := *f.Short
		short.Pieces = append([]ShortPiece(nil), short.Pieces...)
		for i := range short.Pieces {
			if short.Pieces[i].Span.Len() > 0 { // otherwise the piece is the title, which remains
				short.Pieces[i].Text = masking(short.Pieces[i].Text, nil)
			}
		}
		f.Short = &short
	}
	f.Flags = append(f.Flags[:len(f.Flags):len(f.Flags)], concordat.Flag{Code: FlagWithheld,
		Detail: "The text of the submission and its original were not kept once the report was made. The report shows placeholders of the same length; scores, places, and sources with their wording are unchanged."})
}

// masking replaces the letters and digits of text outside the spans with placeholders.
func masking(text string, keep spans) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		for len(keep) > 0 && i >= keep[0].End {
			keep = keep[1:]
		}
		if len(keep) > 0 && i >= keep[0].Start || r == utf8.RuneError && n == 1 {
			b.WriteString(text[i : i+n])
		} else {
			b.WriteString(placeholder(r, n, text[i:i+n]))
		}
		i += n
	}
	return b.String()
}

// Placeholders by length in bytes.
var (
	letterPlaceholders = [5]string{1: "x", 2: "ж", 3: "某", 4: "𝕩"}
	markPlaceholders   = [5]string{1: "x", 2: "\u0301", 3: "\u20d0", 4: "\U0001d165"}
	digitPlaceholders  = [5]string{1: "0", 2: "٠", 3: "０", 4: "𝟎"}
)

// placeholder returns the placeholder for an n-byte rune. The function counts treats the placeholder like the rune.
func placeholder(r rune, n int, itself string) string {
	switch {
	case unicode.IsLetter(r):
		return letterPlaceholders[n]
	case unicode.IsMark(r):
		return markPlaceholders[n]
	case unicode.IsDigit(r):
		return digitPlaceholders[n]
	}
	return itself
}
