package eval

import (
	"slices"
	"strings"

	"concordat/lab/pieces"
	"concordat/meaning"
)

// verseArchive is an archive of Bible translations, with one verse per line.
const verseArchive = "verse-retranslations/verse-retranslations.tar.zst"

// freeTranslations are the translations in the public domain whose language has pieces in the table.
var freeTranslations = []string{"en/BSB.tsv", "en/JPS.tsv", "en/Noyes.tsv", "en/Twenty.tsv", "en/Anderson.tsv", "en/Haweis.tsv",
	"zh/ChiUn.tsv", "zh/ChiUnL.tsv", "de/GerAlbrecht.tsv", "de/GerTafel.tsv", "fr/FreOltramare1874.tsv", "fr/FreStapfer1889.tsv"}

// Verses returns verses of public-domain translations from a folder of corpora, always in the same order.
func Verses(corpora string) ([]pieces.Verse, error) {
	var out []pieces.Verse
	err := corpusDir(corpora).files(verseArchive, func(name, text string) error {
		if !slices.Contains(freeTranslations, name) {
			return nil
		}
		language, _, _ := strings.Cut(name, "/")
		for line := range strings.Lines(text) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(f) < 3 {
				continue
			}
			if language == "zh" {
				f[2] = strings.ReplaceAll(f[2], " ", "") // spaces between words
			}
			if meaning.Letters(f[2]) > 10 {
				out = append(out, pieces.Verse{Language: language, Place: f[0] + " " + f[1], Text: f[2]})
			}
		}
		return nil
	})
	return out, err
}

// freeSources lists the corpus files with redistributable texts, and the part to use of each.
var freeSources = []struct {
	path  string
	field int                    // in tab-separated files, the column with the text
	want  func(name string) bool // files to use, if it is an archive; nil otherwise
	every int                    // use one sentence in this many
}{
	{"grants/nih-calls.tsv.gz", 2, nil, 1},
	{"zh-laws/zh-laws.tar.zst", -1, func(name string) bool { return strings.HasSuffix(name, ".md") }, 30},
	{"bulk-zh-histories-modern/sentences.tsv.zst", 2, nil, 40},
	{verseArchive, 2, among("en/BSB.tsv", "en/Noyes.tsv", "en/JPS.tsv"), 4},
	{verseArchive, 2, among("de/GerTafel.tsv", "fr/FreOltramare1874.tsv"), 8},
}

func among(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// FreeSentences calls each with sentences of redistributable texts in a folder of corpora, in English, Chinese, German and French, always
// the same ones.
func FreeSentences(corpora string, each func(text string)) error {
	c := corpusDir(corpora)
	for _, s := range freeSources {
		n := 0
		take := func(text string) {
			for _, span := range meaning.Sentences(text) {
				if in := span.In(text); meaning.Letters(in) >= 40 {
					if n%s.every == 0 {
						each(in)
					}
					n++
				}
			}
		}
		field := func(line []string) bool {
			if s.field < len(line) {
				take(line[s.field])
			}
			return true
		}
		var err error
		switch {
		case s.want == nil:
			err = c.rows(s.path, field)
		case s.field < 0:
			err = c.files(s.path, func(name, text string) error {
				if s.want(name) {
					take(text)
				}
				return nil
			})
		default:
			err = c.files(s.path, func(name, text string) error {
				if s.want(name) {
					for line := range strings.Lines(text) {
						field(strings.Split(line, "\t"))
					}
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
