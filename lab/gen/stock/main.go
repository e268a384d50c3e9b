// Stock creates the public stock of wording from the given sources, the roots of unpacked packages:
//
//	apt-get download texlive-publishers texlive-publishers-doc texlive-latex-extra texlive-lang-chinese texlive-lang-german \
//	    texlive-lang-italian base-files
//	for p in *.deb; do dpkg-deb --extract $p ROOT/${p%%_*}; done
//	pip download --no-deps allofplos==0.11.1 && unzip allofplos-*.whl -d ROOT/allofplos
//	go -C lab run ./gen/stock ROOT > align/wording/stock/public.txt
//
// It reads the copyright files of apt, curl, git, libexpat1, libx11-6, nodejs, openssl, python3, vim and zlib1g. From classes and
// templates for theses, it takes declarative paragraphs without markup, if the file or its README states the LaTeX Project Public License
// or the MIT licence; nothing is taken from a file under the GNU GPL, whose terms would extend to the program. From base-files and the
// packages' copyright files, it takes licence texts. From doclicense, it takes statements in other languages about licences. From
// articles under CC BY, it takes sentences on statistics and ethics with little original content, because other articles contain most of
// their runs of words.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: stock ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// granting are the packages whose copyright files are read.
var granting = []string{"apt", "curl", "git", "libexpat1", "libx11-6", "nodejs", "openssl", "python3", "vim", "zlib1g"}

// refused marks licences under which nothing is taken, and underGPL lists files whose stated licence differs from their catalogue entry.
const refused = "GPL"

var underGPL = []string{"shtthesis.cls"}

// licences lists the licences that the head of a file can name, in order of preference.
var licences = []struct {
	name string
	says *regexp.Regexp
}{
	{"LPPL-1.3c", regexp.MustCompile(`(?is)LaTeX\s+(?:%+\s*)?Project\s+(?:%+\s*)?Public\s+(?:%+\s*)?Licen[sc]e|\bLPPL\b`)},
	{refused, regexp.MustCompile(`(?is)GNU\s+(?:%+\s*)?General\s+(?:%+\s*)?Public|GNU\s+Licen[sc]e`)},
	{"MIT", regexp.MustCompile(`(?i)\bMIT\b`)},
}

// declares matches words of declarations; a paragraph of a declaration contains at least two of them.
var declares = regexp.MustCompile(`(?i)\bhereby\b|\bI (?:further )?(?:declare|certify|confirm|authori[sz]e|understand|agree)\b|\bown (?:original )?work\b|\bsubmitted (?:for|to|previously)\b|\backnowledged\b|\bsole author\b|\bplagiarism\b|\bhiermit\b|eides|\bselbst(?:st)?ändig\b|\bHilfsmittel\b|\bkenntlich\b|\bPrüfungsbehörde\b|\bgekennzeichnet\b|\bversichere\b|\berkläre\b|\bje (?:soussigné|déclare|certifie)\b|\bplagiat\b|\bdéclare par la présente\b|\bsources\b|\bdeclaro\b|\bpor la presente\b|\bpropio trabajo\b|\bautor(?:ía|ia)\b|\bplagio\b|\bplágio\b|\bdichiaro\b|\boświadczam\b|\bsamodzielnie\b|\bverklaar\b|\beigen werk\b|\bplagiaat\b|声明|聲明|独立|导师|法律|版权|保留|授权|复印|保密|成果|本人`)

// noticed matches words of publishers' notices.
var noticed = regexp.MustCompile(`(?i)all rights reserved|no part of this|permission to make digital|personal or classroom use|prior (?:written|specific) permission|retrieval system|copyright (?:notice|holder)|redistribute to lists|abstracting with credit|without fee|alle rechte vorbehalten|tous droits réservés`)

func run(root string) error {
	seen := map[string]bool{}
	papers := articles{texts: map[string]*article{}, held: map[string]map[string]bool{}}
	defer papers.write(seen)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		of, _, _ := strings.Cut(name, string(filepath.Separator))
		from := filepath.Base(path) + " (" + of + ")"
		switch ext := filepath.Ext(path); {
		case filepath.Base(filepath.Dir(path)) == "common-licenses":
			return whole(path, from, seen)
		case filepath.Base(path) == "copyright" && slices.Contains(granting, of):
			return granted(path, from, seen)
		case ext == ".xml" && of == "allofplos":
			return papers.add(path)
		case ext == ".ldf" && strings.HasPrefix(filepath.Base(path), "doclicense-"):
			return documentLicence(path, from, seen)
		case slices.Contains([]string{".cls", ".sty", ".def", ".cfg", ".tex"}, ext):
			return declarations(path, from, seen)
		}
		return nil
	})
}

// declarations writes the declarations in a template.
func declarations(path, from string, seen map[string]bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(b)
	if !utf8.ValidString(text) {
		return nil
	}
	licence := licenceIn(text)
	for dir := filepath.Dir(path); licence == "" && dir != filepath.Dir(filepath.Dir(filepath.Dir(path))); dir = filepath.Dir(dir) {
		readme, _ := filepath.Glob(filepath.Join(dir, "README*"))
		for _, r := range readme {
			if b, err := os.ReadFile(r); err == nil && licence == "" {
				licence = licenceIn(string(b))
			}
		}
	}
	if licence == "" || licence == refused || slices.Contains(underGPL, filepath.Base(path)) {
		return nil
	}
	for _, p := range paragraphs(text) {
		kind := ""
		switch {
		case distinct(declares, p) >= 2:
			kind = "declaration"
		case distinct(noticed, p) >= 2:
			kind = "notice"
		default:
			continue
		}
		write(kind, from, licence, p, seen)
	}
	return nil
}

// licenceIn returns the licence named in the head of a file, or "".
func licenceIn(text string) string {
	for _, l := range licences {
		if l.says.MatchString(text[:min(len(text), 6000)]) {
			return l.name
		}
	}
	return ""
}

// distinct returns how many different matches of a pattern a text contains.
func distinct(re *regexp.Regexp, s string) int {
	words := map[string]bool{}
	for _, w := range re.FindAllString(s, -1) {
		words[strings.ToLower(w)] = true
	}
	return len(words)
}

var (
	comment  = regexp.MustCompile(`(?m)(^|[^\\])%.*$`)
	accent   = regexp.MustCompile(`\\(["'` + "`" + `^~c])\s*\{?\\?([a-zA-Z])\}?`)
	breaks   = regexp.MustCompile(`\\(?:par|item|newline|bigskip|medskip|smallskip|vspace|vskip|vfill|begin|end|section|chapter|newpage|clearpage)\b\*?(?:\{[^{}]*\})?|\\\\(?:\[[^\]]*\])?|\n\s*\n`)
	command  = regexp.MustCompile(`\\[a-zA-Z@_:]+\*?(?:\[[^\]]*\])?`)
	marks    = regexp.MustCompile(`[{}#$&~\[\]<>=|]+`)
	notWords = regexp.MustCompile(`[@_\\/]`)
)

var accented = map[string]string{
	`"a`: "ä", `"o`: "ö", `"u`: "ü", `"A`: "Ä", `"O`: "Ö", `"U`: "Ü", `'e`: "é", "`e": "è", "`a": "à", `^e`: "ê",
	`^a`: "â", `^o`: "ô", `^i`: "î", `'a`: "á", `'i`: "í", `'o`: "ó", `'u`: "ú", `~n`: "ñ", `~a`: "ã", `~o`: "õ", `cc`: "ç", `"s`: "ß",
}

// paragraphs returns the prose of a TeX file without its markup.
func paragraphs(text string) []string {
	text = strings.ReplaceAll(text, `\%`, " per cent ")
	text = comment.ReplaceAllString(text, "$1")
	text = accent.ReplaceAllStringFunc(text, func(m string) string {
		p := accent.FindStringSubmatch(m)
		if a, ok := accented[p[1]+p[2]]; ok {
			return a
		}
		return p[2]
	})
	var out []string
	for _, p := range breaks.Split(text, -1) {
		p = marks.ReplaceAllString(command.ReplaceAllString(p, " "), " ")
		p = clean(joinHan(strings.Join(strings.Fields(p), " ")))
		if n := utf8.RuneCountInString(p); n < 40 || n > 1500 || len(notWords.FindAllString(p, -1)) > 2 || letters(p) < 0.75 {
			continue
		}
		out = append(out, p)
	}
	return out
}

var (
	sentence = regexp.MustCompile(`[^.!?;。！？；]+[.!?;。！？；]*`)
	junk     = regexp.MustCompile(`[@_\\/=]|\b\pL*[a-z][A-Z]\pL*\b|\p{Han}[a-zA-Z]{2,}\p{Han}|\b[0-9.]+(?:em|mm|cm|pt)\b`)
)

// clean returns a paragraph's sentences, except for leftovers of markup.
func clean(p string) string {
	var b strings.Builder
	for _, s := range sentence.FindAllString(p, -1) {
		han := strings.Count(s, "") - strings.Count(strings.Map(dropHan, s), "")
		if !junk.MatchString(s) && (han >= 10 || len(strings.Fields(s)) >= 6) {
			b.WriteString(s)
		}
	}
	return strings.TrimSpace(b.String())
}

func dropHan(r rune) rune {
	if unicode.Is(unicode.Han, r) {
		return -1
	}
	return r
}

// joinHan removes the spaces between Chinese characters where lines were broken.
func joinHan(s string) string {
	rs := []rune(s)
	out := rs[:0]
	wide := func(r rune) bool {
		return unicode.Is(unicode.Han, r) || strings.ContainsRune("，。、；：（）《》“”", r)
	}
	for i, r := range rs {
		if r == ' ' && len(out) > 0 && i+1 < len(rs) && (wide(out[len(out)-1]) || wide(rs[i+1])) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func letters(s string) float64 {
	n, all := 0, 0
	for _, r := range s {
		all++
		if unicode.IsLetter(r) {
			n++
		}
	}
	return float64(n) / float64(all)
}

// licencesTaken are the texts of base-files that are taken in full, with their licences; each may be copied unchanged.
var licencesTaken = []string{"Apache-2.0", "BSD", "MPL-2.0", "CC0-1.0"}

func whole(path, from string, seen map[string]bool) error {
	if !slices.Contains(licencesTaken, filepath.Base(path)) {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for p := range strings.SplitSeq(string(b), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); letters(p) > 0.7 && len(p) > 60 {
			write("licence", from, filepath.Base(path), p, seen)
		}
	}
	return nil
}

// grant matches the beginning of a licence paragraph in a copyright file.
var grant = regexp.MustCompile(`(?i)permission is hereby granted|the above copyright notice|the software is provided|this software is provided|redistributions? (?:and use|of source|in binary)|neither the names?|permission to use, copy|licensed under the|you may not use this file|you may obtain a copy|this program is (?:free|distributed)|under the terms of the gnu|you should have received a copy|warrant(?:y|ies)`)

func granted(path, from string, seen map[string]bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(b), "\n .\n", "\n\n")
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); grant.MatchString(p) && letters(p) > 0.7 && len(p) > 60 && len(p) < 2500 &&
			!strings.Contains(p, "@") && !strings.HasPrefix(p, "Files:") {
			write("licence", from, "as it says", p, seen)
		}
	}
	return nil
}

func write(kind, from, licence, text string, seen map[string]bool) {
	if seen[text] {
		return
	}
	seen[text] = true
	fmt.Printf("== %s\t%s\t%s\n%s\n\n", kind, from, licence, text)
}
