package extract_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"concordat/extract"
)

// TestMarksInAnyOrder: the marks of letters are read in their order of composition, whatever their order in the file.
func TestMarksInAnyOrder(t *testing.T) {
	for name, c := range map[string]struct{ stored, want string }{
		"below after above":        {"Vie\u0302\u0323t Nam", "Việt Nam"},
		"below after a letter":     {"Vi\u00ea\u0323t Nam", "Việt Nam"},
		"tone before circumflex":   {"tie\u0301\u0302ng Viê\u0323t", "tiếng Việt"},
		"tone of a letter":         {"ti\u00e9\u0302ng Vi\u1ec7t", "tiếng Việt"},
		"horn after tone":          {"ngu\u031bo\u0301\u031bi", "ngu\u031bới"},
		"in order":                 {"tie\u0302\u0301ng Vie\u0323\u0302t", "tie\u0302\u0301ng Vie\u0323\u0302t"},
		"breathing after accent":   {"\u03b1\u0301\u0313 word", "\u1f04 word"},
		"points of Hebrew":         {"\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"},
		"points of Hebrew, turned": {"\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"},
		"letters of no language":   {"x\u0301\u0302y z\u0302\u0301w", "x\u0301\u0302y z\u0302\u0301w"},
		"marks without a letter":   {"one \u0301\u0302 two", "one \u0301\u0302 two"},
		"at the end":               {"cafe\u0302\u0323", "cafệ"},
	} {
		r, err := extract.Bytes("a.txt", []byte(c.stored), extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(r.Text); got != c.want {
			t.Errorf("%s: got %+q, want %+q", name, got, c.want)
		}
	}
}

// TestMarksOfVietnamese: every Vietnamese letter results from its marks in any order.
func TestMarksOfVietnamese(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for r := rune(0xc0); r < 0x1f00; r++ {
		apart := []rune(norm.NFD.String(string(r)))
		if !unicode.Is(unicode.Latin, r) || len(apart) < 3 {
			continue
		}
		random.Shuffle(len(apart)-1, func(i, j int) { apart[i+1], apart[j+1] = apart[j+1], apart[i+1] })
		res, err := extract.Bytes("a.txt", []byte("a word "+string(apart)+" more"), extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := []rune(norm.NFC.String(string(apart)))
		if len(want) > 1 { // otherwise it composes to a different letter
			want = []rune{r}
		}
		if got := norm.NFC.String(strings.TrimSpace(res.Text)); got != "a word "+string(want)+" more" {
			t.Errorf("%+q of %c: got %q", string(apart), r, got)
		}
	}
}
