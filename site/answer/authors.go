package answer

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// AuthorHashes returns the keyed hashes of the authors named in s, for Ask.Authors. Two sites with the same sketch key get the same
// hashes for the same names, regardless of order, case, accents and punctuation. "Doe, Jane" and "Jane Doe" are the same name; "J. Doe"
// is a different one.
func AuthorHashes(sketchKey []byte, s string) [][16]byte {
	names := authorNames(s)
	out := make([][16]byte, len(names))
	for i, n := range names {
		out[i] = keyedID(sketchKey, "concordat/author/1", []byte(n))
	}
	return out
}

// maxNames is the maximum number of authors of one document.
const maxNames = 64

// authorNames returns the names in s, each as an alphabetical list of its words.
func authorNames(s string) []string {
	if len(s) > 1<<12 {
		s = s[:1<<12]
	}
	s = strings.NewReplacer("\n", ";", "\t", " ", "&", ";", "、", ";", "；", ";", "，", ",").Replace(s)
	for _, and := range []string{" and ", " und ", " et "} {
		s = strings.ReplaceAll(s, and, ";")
	}
	var out []string
	add := func(name string) {
		if words := nameWords(name); len(words) > 0 && len(out) < maxNames {
			out = append(out, strings.Join(words, " "))
		}
	}
	for _, part := range strings.Split(s, ";") {
		add(part)
		// A comma separates authors if there is a whole name on each side.
		if names := strings.Split(part, ","); len(names) > 1 && !slices.ContainsFunc(names,
			func(n string) bool { return len(nameWords(n)) < 2 }) {
			for _, n := range names {
				add(n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nameWords returns the words of a name, folded and sorted.
func nameWords(name string) []string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case r == '\'' || r == '’' || r == '-':
		default:
			b.WriteByte(' ')
		}
	}
	words := strings.Fields(b.String())
	slices.Sort(words)
	return words
}
