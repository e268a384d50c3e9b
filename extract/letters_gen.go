//go:build ignore

// This program generates letters.txt, the letter pairs with which guess.go distinguishes 8-bit encodings, from the Universal Declaration
// of Human Rights (public domain). Run it with go run letters_gen.go UDHR-FOLDER.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// sources lists the languages written in 8-bit encodings, with their files.
var sources = []struct {
	lang, file string
	enc        encoding.Encoding
}{
	{"be", "udhr/Belorus_Belaruski-UTF8", nil}, {"bg", "udhr/Bulgarian_Balgarski-UTF8", nil},
	{"cs", "udhr/Czech-Latin2", charmap.ISO8859_2}, {"cy", "udhr2/cym.txt", nil}, {"el", "udhr/Greek_Ellinika-UTF8", nil},
	{"es", "udhr/Spanish-Latin1", charmap.ISO8859_1}, {"et", "udhr/Estonian_Eesti-Latin1", charmap.ISO8859_1},
	{"ca", "udhr2/cat.txt", nil}, {"de", "udhr/German_Deutsch-Latin1", charmap.ISO8859_1}, {"eu", "udhr2/eus.txt", nil},
	{"fi", "udhr2/fin.txt", nil}, {"fo", "udhr2/fao.txt", nil}, {"fr", "udhr2/fra.txt", nil},
	{"ga", "udhr/IrishGaelic_Gaeilge-Latin1", charmap.ISO8859_1}, {"gl", "udhr2/glg.txt", nil},
	{"he", "udhr/Hebrew_Ivrit-UTF8", nil}, {"hr", "udhr/Hrvatski_Croatian-Latin2", charmap.Windows1250},
	{"hu", "udhr2/hun.txt", nil}, {"lt", "udhr2/lit.txt", nil}, {"mk", "udhr2/mkd.txt", nil}, {"mt", "udhr2/mlt.txt", nil},
	{"nl", "udhr2/nld.txt", nil}, {"no", "udhr/Norwegian_Norsk-Bokmal-Latin1", charmap.ISO8859_1}, {"pl", "udhr2/pol.txt", nil},
	{"pt", "udhr2/por_BR.txt", nil}, {"ro", "udhr2/ron.txt", nil}, {"ru", "udhr/Russian_Russky-UTF8~", nil},
	{"sk", "udhr/Slovak_Slovencina-Latin2", charmap.Windows1250}, {"sl", "udhr2/slv.txt", nil},
	{"sq", "udhr2/als.txt", nil}, {"sr", "udhr/Serbian_Srpski-UTF8", nil}, {"sv", "udhr/Swedish_Svenska-Latin1", charmap.ISO8859_1},
	{"th", "udhr2/tha.txt", nil}, {"tr", "udhr/Turkish_Turkce-UTF8", nil}, {"uk", "udhr2/ukr.txt", nil},
	{"ar", "udhr2/arb.txt", nil}, {"fa", "udhr2/pes_1.txt", nil},
}

// samples contains everyday words of languages missing from the folder.
var samples = []struct{ lang, text string }{
	{"it", `è perché già più può così là lì giù sarà farà città libertà verità età società qualità possibilità università
		metà novità realtà attività volontà papà caffè però ciò andò parlò disse che è vero, non è così, c'è, cioè, né lui né lei,
		finché benché poiché affinché ventitré lunedì martedì mercoledì giovedì venerdì sì dì tè virtù gioventù laggiù quaggiù
		sarò farò dirò potrò verrà dovrà avrà dirà potrà comincerà è stato è stata perciò tornò guardò arrivò chissà qua là metà`},
	{"da", `på så når også får går står år år før være været både første større største måde måske nå således område årsag
		også på én éen øje ønske øst dør gøre gør høre høj kød køber smør søn søster sød tør været hvornår ændre ændring æble
		ære æske læse lære sætte være vær væk nær nærmest træ frø børn bør først følge følelse før små lå så spørge spørgsmål`},
	{"is", `það þá þegar þess þeir þú að með við sem á í úr út frá hún hann því það er ekki ég mér þér þeim sér sína síðan síðar
		maður góður góð gott stór stærsta fær færa hér þar né nú svo mjög öll önnur íslensk íslenska þjóð þing verð verður á móti
		áður ári ár árum ferð börn börnum gæti hafði hafa sagði sögðu tíma tími fólk fólki svæði því þó þótt móðir faðir bróðir`},
}

func main() {
	out, err := os.Create("letters.txt")
	if err != nil {
		panic(err)
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	defer w.Flush()
	for _, s := range samples {
		fmt.Fprintf(w, "%s\t%s\n", s.lang, model(s.text))
	}
	for _, s := range sources {
		data, err := os.ReadFile(filepath.Join(os.Args[1], s.file))
		if err != nil {
			panic(err)
		}
		text := string(data)
		if s.enc != nil {
			if text, err = s.enc.NewDecoder().String(text); err != nil {
				panic(err)
			}
		}
		if !utf8.ValidString(text) {
			panic(s.file + " is not UTF-8")
		}
		fmt.Fprintf(w, "%s\t%s\n", s.lang, model(text))
		if s.lang == "ro" { // 8-bit encodings have Romanian letters only with a cedilla
			fmt.Fprintf(w, "%s\t%s\n", s.lang, model(strings.NewReplacer("ș", "ş", "ț", "ţ", "Ș", "Ş", "Ț", "Ţ").Replace(text)))
		}
	}
}

// model returns the letter pairs of text with at least one letter outside ASCII, each followed by a
// letter for its frequency: 'a' for one pair in two, 'b' for one in four, and so on.
func model(text string) string {
	counts, all := map[string]int{}, 0
	prev := ' '
	for _, r := range text {
		if r = unicode.ToLower(r); !unicode.IsLetter(r) && !unicode.IsMark(r) {
			r = ' '
		}
		if prev >= 0x80 || r >= 0x80 {
			counts[string(prev)+string(r)]++
			all++
		}
		prev = r
	}
	pairs := make([]string, 0, len(counts))
	for p := range counts {
		pairs = append(pairs, p)
	}
	sort.Strings(pairs)
	var s strings.Builder
	for _, p := range pairs {
		s.WriteString(strings.ReplaceAll(p, " ", "_"))
		s.WriteByte('a' + byte(min(25, max(0, math.Round(-math.Log2(float64(counts[p])/float64(all))-1)))))
	}
	return s.String()
}
