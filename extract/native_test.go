package extract

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// nativeToken matches strings, word separators, and the brackets between them.
var nativeToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z]+|[\[\]()]`)

// nativeText returns the text of pandoc's expected parse. It consists of the Str and Code strings, with blanks where the parse has blanks
// or begins a block, and without descriptions of pictures, formulas, comments, and raw or metadata strings.
func nativeText(s string) string {
	var out strings.Builder
	last, depth, code, span := "", 0, -1, 0
	skip, groups := -1, 0 // an inline at depth skip is skipped until groups of its groups have closed
	for _, tok := range nativeToken.FindAllString(s, -1) {
		switch {
		case tok == "[" || tok == "(":
			depth++
		case tok == "]" || tok == ")":
			if depth--; depth == skip {
				groups--
			}
			if depth < skip || groups == 0 {
				skip = -1
			}
		case tok[0] == '"':
			if strings.Contains(tok, "comment-start") && skip < 0 {
				skip, groups = span, 2
			}
			if skip < 0 && (last == "Str" || code == depth) {
				out.WriteString(unescapeHaskell(tok[1 : len(tok)-1]))
			}
			if code == depth {
				code = -1
			}
		default:
			switch tok {
			case "Image":
				if skip < 0 {
					skip, groups = depth, 3
				}
			case "Span":
				span = depth
			case "Code", "CodeBlock":
				code = depth
			case "Space", "SoftBreak", "LineBreak", "Para", "Plain", "Header", "Note", "Cell", "Row":
				out.WriteByte(' ')
			}
		}
		last = tok
	}
	return out.String()
}

// nativeWords returns the words of pandoc's expected parse.
func nativeWords(s string) []string { return wordsOf(nativeText(s)) }

var haskellEscape = regexp.MustCompile(`\\(\d+|.)`)

func unescapeHaskell(s string) string {
	return haskellEscape.ReplaceAllStringFunc(s, func(e string) string {
		n := 0
		for _, c := range e[1:] {
			if c < '0' || c > '9' {
				break
			}
			n = n*10 + int(c-'0')
		}
		switch {
		case n > 0:
			return string(rune(n))
		case e[1] == 'n':
			return "\n"
		case e[1] == 't':
			return "\t"
		case e[1] == '&':
			return ""
		}
		return e[1:]
	})
}

// wordsOf splits s at everything except letters, marks and digits.
func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// TestNativeRecall measures the share of words in pandoc's expected parses that the package returns.
func TestNativeRecall(t *testing.T) {
	dir := corpus(t, "formats")
	for _, format := range []string{"docx", "odt", "rtf"} {
		t.Run(format, func(t *testing.T) {
			want, found, n := 0, 0, 0
			for _, p := range files(t, dir) {
				if filepath.Ext(p) != "."+format || !strings.Contains(p, "pandoc") {
					continue
				}
				stem := strings.TrimSuffix(p, "."+format)
				native, err := os.ReadFile(stem + ".native")
				if err != nil {
					native, err = os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(stem)), "native", filepath.Base(stem)+".native"))
				}
				if err != nil {
					continue
				}
				words := nativeWords(string(native))
				if len(words) == 0 {
					continue
				}
				data, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				have := map[string]int{}
				if r, err := Bytes(p, data, Options{}); err == nil {
					for _, w := range wordsOf(r.Text) {
						have[w]++
					}
				}
				hit := 0
				var missing []string
				for _, w := range words {
					if have[w] > 0 {
						have[w]--
						hit++
					} else if len(missing) < 12 {
						missing = append(missing, w)
					}
				}
				n, want, found = n+1, want+len(words), found+hit
				if hit < len(words) {
					t.Logf("%s: %d of %d words, missing %v", filepath.Base(p), hit, len(words), missing)
				}
			}
			if n == 0 {
				t.Skip("no expected parses for " + format)
			}
			t.Logf("%s: %d files, word recall %.4f (%d of %d)", format, n, float64(found)/float64(want), found, want)
			if found*100 < want*99 {
				t.Errorf("word recall %.4f, want 0.99", float64(found)/float64(want))
			}
		})
	}
}
