package answer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"concordat"
)

// TestCut: the audit stores at most 128 bytes of a partner's word, whatever they are, and only as much of its text as fits.
func TestCut(t *testing.T) {
	for _, s := range []string{"", "thesis", strings.Repeat("x", 128), strings.Repeat("ж", 64)} {
		if got := cut(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	for s, want := range map[string]string{
		strings.Repeat("x", 129):          strings.Repeat("x", 128) + "…",
		strings.Repeat("x", 1<<20):        strings.Repeat("x", 128) + "…",
		"x" + strings.Repeat("ж", 100):    "x" + strings.Repeat("ж", 63) + "…",
		strings.Repeat("中", 100):          strings.Repeat("中", 42) + "…",
		strings.Repeat("\x80", 200):       "…",
		"\xff" + strings.Repeat("x", 200): "\uFFFD" + strings.Repeat("x", 127) + "…",
	} {
		if got := cut(s); got != want || !utf8.ValidString(got) {
			t.Errorf("%.20q of %d bytes became %q, want %q", s, len(s), got, want)
		}
	}
}

// TestReasonOf: the audit records the refusal reason that the partner received, and records failures as failures.
func TestReasonOf(t *testing.T) {
	for want, err := range map[string]error{
		"": nil, string(concordat.ReasonBudget): fmt.Errorf("answer: %w", &concordat.Refusal{Reason: concordat.ReasonBudget}),
		"invalid": fmt.Errorf("answer: %w", concordat.ErrInvalid), string(concordat.ReasonFault): errors.New("the disk is broken"),
	} {
		if got := reasonOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestAuthorHashes: the hash of a name ignores word order, case, accents and punctuation; different names have different hashes, and a
// list of names is split.
func TestAuthorHashes(t *testing.T) {
	key := []byte("a sketch key of the federation")
	same := func(a, b string) bool {
		x, y := AuthorHashes(key, a), AuthorHashes(key, b)
		for _, h := range x {
			for _, g := range y {
				if h == g {
					return true
				}
			}
		}
		return false
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Doe, Jane", "Jane Doe", true}, {"JANE DOE", "jane doe", true}, {"José Núñez", "Nunez, Jose", true},
		{"Anne-Marie O'Neill", "AnneMarie ONeill", true},
		{"Sean O’Neill", "Sean O'Neill", true}, {"Sean O Neill", "Sean O'Neill", false}, {"J. Doe", "Jane Doe", false},
		{"Jane Doe Roe", "Jane Doe", false},
		{"Jane Doe and John Roe", "John Roe", true}, {"Jane Doe; John Roe", "Jane Doe", true}, {"Jane Doe, John Roe", "John Roe", true},
		{"Jane Doe & John Roe", "Doe, Jane", true}, {"王明、李华", "李华", true}, {"", "", false}, {" ;,", ";", false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: one author %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if n := len(AuthorHashes(key, strings.Repeat("a b;c d;", 1000))); n != 2 {
		t.Errorf("two names, often: %d", n)
	}
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("name%d", i))
	}
	if n := len(AuthorHashes(key, strings.Join(many, ";"))); n != 64 {
		t.Errorf("300 names: %d, at most 64", n)
	}
}

// TestReadyIsRounded: the searchable share of a library is rounded down to hundredths, so that a partly filled set does not reveal the
// size of a library with hundreds of documents or more. Only a complete set is ready; one that lacks a document is not.
func TestReadyIsRounded(t *testing.T) {
	told := map[float64]int{}
	const all = 1234
	for held := range all + 1 {
		got := readiness{held: held, all: all}.share()
		told[got]++
		if exact := float64(held) / all; got > exact || got <= exact-0.01 || (got == 1) != (held == all) {
			t.Errorf("%d of %d are told as %v", held, all, got)
		}
	}
	if len(told) != 101 {
		t.Errorf("%d values are told, want hundredths", len(told))
	}
}

// TestOpenedSentences: a disclosed passage counts as the maximum number of sentences that it can contain, one for each full or partial
// sentence length.
func TestOpenedSentences(t *testing.T) {
	for letters, want := range map[int]int{1: 1, sentenceLetters - 1: 1, sentenceLetters: 1, sentenceLetters + 1: 2,
		3*sentenceLetters + 1: 4} {
		p := concordat.RevealPassage{Span: concordat.Span{Start: 7, End: 7 + letters}}
		if got := openedSentences([]concordat.RevealPassage{p, p}); got != 2*want {
			t.Errorf("two passages of %d letters count as %d sentences, want %d", letters, got, 2*want)
		}
	}
}
