package spaced_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"concordat/internal/cputime"
	"concordat/segment/spaced"
)

// apart spaces out letters, with inner after every character of a word and outer between words.
func apart(s, inner, outer string) string {
	var words []string
	for _, w := range strings.Fields(s) {
		var chars []string
		for len(w) > 0 {
			_, n := utf8.DecodeRuneInString(w)
			for n < len(w) {
				r, size := utf8.DecodeRuneInString(w[n:])
				if !unicode.Is(unicode.Mn, r) {
					break
				}
				n += size
			}
			chars, w = append(chars, w[:n]), w[n:]
		}
		words = append(words, strings.Join(chars, inner))
	}
	return strings.Join(words, outer)
}

const (
	english = "The committee found that the merchants of the town had counted their barrels, and that most of them were empty."
	russian = "Комитет установил, что купцы города считали бочки всю долгую зиму."
	greek   = "Η επιτροπή διαπίστωσε ότι οι έμποροι της πόλης μέτρησαν τα βαρέλια."
	french  = "Le comité a constaté que les marchands de la ville avaient compté leurs tonneaux pendant l’hiver."
)

func joined(text string) string {
	out, at := "", 0
	for _, r := range spaced.Find(text) {
		out += text[at:r.Start] + r.Joined
		at = r.End
	}
	return out + text[at:]
}

func TestWordsAreJoined(t *testing.T) {
	for _, text := range []string{english, russian, greek, french, strings.ToUpper(english)} {
		for _, c := range []struct{ name, inner, outer string }{
			{"wide", " ", "   "}, {"two", " ", "  "}, {"thin", "\u2009", " "}, {"hair", "\u200a", "\u2003"}, {"no-break", "\u00a0", " "},
			{"em", " ", "\u2003"}, {"zero width too", " \u200b", "  "}, {"lines", " ", "\n"}, {"narrow", "\u202f", "\u00a0"},
		} {
			if c.name == "lines" && text != english {
				continue // all gaps are single spaces, and only English has a dictionary
			}
			before, after := "An ordinary sentence. ", " And one more."
			got := joined(before + apart(text, c.inner, c.outer) + after)
			want := before + text + after
			if strings.ReplaceAll(got, "\u200b", "") != want {
				t.Errorf("%s %s: got %q, want %q", c.name, text[:5], got, want)
			}
		}
	}
}

func TestEnglishWithoutWordGaps(t *testing.T) {
	for _, text := range []string{english, "A student who copies a paragraph from the internet commits plagiarism.",
		"Neural networks have become the dominant approach to machine translation in recent years."} {
		if got := joined(apart(text, " ", " ")); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

func TestOneWord(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"This is a case of p l a g i a r i s m in the text.", "This is a case of plagiarism in the text."},
		{"We found a p l a g i a r i s m case.", "We found a plagiarism case."},
		{"t h e  h a r b o u r\nd u r i n g  t h e  l o n g  w i\nn t e r  m o n t h s", "the harbour during the long winter months"},
		{"Это п л а г и а т о р с т в о.", "Это плагиаторство."},
		{"Είναι λ ο γ ο κ λ ο π ή.", "Είναι λογοκλοπή."},
	} {
		if got := joined(c.text); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	for _, s := range []string{
		"", "a", "a b", " ", "\n\n\n", english, "ANNA B C D E F G H I J K L M N",
		"Section A B C D e f g h i j k l m n o p q r s t u v w x y z",
		"J. R. R. Tolkien and C. S. Lewis", "x y z a b c", "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
		"中 文 字 本 来 就 是 分 开 的 所 以 没 有 问 题", "| a | b | c | d | e | f | g | h |", "U S A   U K   E U   U N   W H O",
		"a b c d\ne f g h\ni j k l\nm n o p", "α β γ δ ε ζ η θ ι κ λ μ", "f ( x ) = a x + b y + c z - d w",
	} {
		if got := joined(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add(apart(english, " ", "  "))
	f.Add(apart(english, " ", " "))
	f.Add("x" + apart(russian, "\u2009", " ") + "\n\n" + apart(greek, "\u200b ", "\u3000"))
	f.Add("a \u0301b c\xff d e f g")
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, r := range spaced.Find(s) {
			if r.Start < at || r.End <= r.Start || r.End > len(s) {
				t.Fatalf("run %d to %d after byte %d of %d", r.Start, r.End, at, len(s))
			}
			if len(r.At) != len(r.Joined) {
				t.Fatalf("%d places for %d bytes", len(r.At), len(r.Joined))
			}
			last := r.Start
			for i, p := range r.At {
				if p < last || p > r.End || r.Joined[i] != ' ' && p == r.End {
					t.Fatalf("byte %d of %q stands at %d", i, r.Joined, p)
				}
				last = p
			}
			at = r.End
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"english", english}, {"russian", russian}, {"chinese", "委员会认定商人在整个漫长的冬季清点了成桶的咸鱼"}} {
		b.Run("text="+c.name, func(b *testing.B) {
			text := strings.Repeat(c.text+" ", 1000)
			b.SetBytes(int64(len(text)))
			start := cputime.Used()
			for b.Loop() {
				spaced.Find(text)
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
