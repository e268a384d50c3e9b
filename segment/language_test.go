package segment

import (
	"math/bits"
	"path"
	"sort"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"concordat/internal/corpora"
)

// languageFiles are the texts of the Universal Declaration in languages with a stop list.
var languageFiles = map[string]struct {
	language string
	encoding encoding.Encoding
}{
	"arb.txt": {"ar", nil}, "cat.txt": {"ca", nil}, "cmn_hans.txt": {"zh", nil}, "eng.txt": {"en", nil}, "eus.txt": {"eu", nil},
	"fin.txt": {"fi", nil},
	"fra.txt": {"fr", nil}, "glg.txt": {"gl", nil}, "hun.txt": {"hu", nil}, "hye.txt": {"hy", nil}, "ind.txt": {"id", nil},
	"nld.txt": {"nl", nil},
	"pol.txt": {"pl", nil}, "por_BR.txt": {"pt", nil}, "ron.txt": {"ro", nil}, "pes_1.txt": {"fa", nil},
	"Bulgarian_Balgarski-UTF8": {"bg", nil}, "Czech_Cesky-UTF8": {"cs", nil}, "Greek_Ellinika-UTF8": {"el", nil},
	"Russian_Russky-UTF8~": {"ru", nil},
	"Turkish_Turkce-UTF8":  {"tr", nil}, "Hindi-UTF8": {"hi", nil}, "German_Deutsch-Latin1": {"de", charmap.ISO8859_1},
	"Spanish-Latin1":         {"es", charmap.ISO8859_1},
	"Swedish_Svenska-Latin1": {"sv", charmap.ISO8859_1}, "Norwegian_Norsk-Bokmal-Latin1": {"no", charmap.ISO8859_1},
	"Hrvatski_Croatian-Latin2": {"hr", charmap.ISO8859_2}, "IrishGaelic_Gaeilge-Latin1": {"ga", charmap.ISO8859_1},
}

// TestLanguageOfParagraphs mixes paragraphs of all languages in one document and determines the language of each block, which must not
// depend on its neighbours.
func TestLanguageOfParagraphs(t *testing.T) {
	paragraphs := map[string][]string{}
	most := 0
	for _, d := range corpora.Tar(t, "udhr/udhr.tar.zst", "") {
		f, ok := languageFiles[path.Base(d.Name)]
		if !ok {
			continue
		}
		text := d.Text
		if f.encoding != nil {
			var err error
			if text, err = f.encoding.NewDecoder().String(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range strings.Split(text, "\n") {
			if l = strings.TrimSpace(l); len([]rune(l)) >= 60 || f.language == "zh" && len([]rune(l)) >= 20 {
				paragraphs[f.language] = append(paragraphs[f.language], l)
			}
		}
		most = max(most, len(paragraphs[f.language]))
	}
	var mixed strings.Builder
	var starts []int
	var truth []string
	for i := range most {
		for _, lang := range sortedKeys(paragraphs) {
			if i < len(paragraphs[lang]) {
				starts, truth = append(starts, mixed.Len()), append(truth, lang)
				mixed.WriteString(paragraphs[lang][i] + "\n\n")
			}
		}
	}
	text, err := Split(mixed.String())
	if err != nil {
		t.Fatal(err)
	}
	right, all, wrong := map[string]int{}, map[string]int{}, map[string]map[string]int{}
	indexed, _, _ := text.Blocks(Natural)
	for _, b := range indexed {
		lang := truth[sort.SearchInts(starts, b.Span.Start+1)-1]
		got := "none"
		switch kind, bit := text.kindOf(text.Words[b.First:b.Last]); kind {
		case Content:
			got = Languages()[bits.TrailingZeros32(bit)]
		case Chinese:
			got = "zh"
		}
		all[lang]++
		if got == lang {
			right[lang]++
			continue
		}
		if wrong[lang] == nil {
			wrong[lang] = map[string]int{}
		}
		wrong[lang][got]++
	}
	sumRight, sum := 0, 0
	for _, lang := range sortedKeys(paragraphs) {
		t.Logf("%s: %d of %d blocks, not %v", lang, right[lang], all[lang], wrong[lang])
		sumRight, sum = sumRight+right[lang], sum+all[lang]
	}
	t.Logf("all %d languages: %d of %d blocks, %.3f", len(all), sumRight, sum, float64(sumRight)/float64(sum))
	if sumRight*100 < sum*85 {
		t.Errorf("%d of %d blocks have their language, want 85 %%", sumRight, sum)
	}
}

func sortedKeys(m map[string][]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
