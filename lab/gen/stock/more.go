package main

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// articles holds a folder's papers, and which of them contain each run of three words.
type articles struct {
	texts map[string]*article
	held  map[string]map[string]bool
}

type article struct {
	doi     string
	methods []string // sentences of the sections on statistics, ethics and analysis
}

// methodTitle matches the title of a section that describes methods common to a field.
var methodTitle = regexp.MustCompile(`(?i)^\W*(?:[0-9.]+\s*)?(?:statistics|statistical (?:analys[ei]s|methods?|tests?|procedures?|considerations)|data analys[ei]s(?: and statistics)?|sample size(?: calculation)?|ethics?(?: statement| approval)?|ethical (?:approval|considerations?)|informed consent|data availability)\W*$`)

const (
	leastHolders = 2   // minimum number of other articles that contain a commonly used run of words
	leastHeld    = 0.4 // minimum proportion of a sentence in such runs
)

// add reads an article in JATS format whose licence permits sharing with attribution.
func (a *articles) add(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), "creativecommons.org/licenses/by/") && !strings.Contains(string(b), "Creative Commons Attribution") {
		return nil
	}
	out := &article{}
	var open []string // open elements
	var titles []string
	var text, all strings.Builder
	d := xml.NewDecoder(strings.NewReader(string(b)))
	d.Strict, d.Entity = false, xml.HTMLEntity
	doi := false
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil // not an article
		}
		switch t := t.(type) {
		case xml.StartElement:
			open = append(open, t.Name.Local)
			doi = t.Name.Local == "article-id" && out.doi == "" && slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return a.Value == "doi" })
			switch t.Name.Local {
			case "sec":
				titles = append(titles, "")
			case "p":
				text.Reset()
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "sec":
				titles = titles[:max(0, len(titles)-1)]
			case "p":
				p := strings.Join(strings.Fields(text.String()), " ")
				if slices.Contains(open, "body") {
					all.WriteString(p + "\n")
					if slices.ContainsFunc(titles, methodTitle.MatchString) {
						out.methods = append(out.methods, sentencesOf(p)...)
					}
				}
			}
			open = open[:max(0, len(open)-1)]
		case xml.CharData:
			switch {
			case doi:
				out.doi, doi = strings.TrimSpace(string(t)), false
			case len(open) > 1 && open[len(open)-1] == "title" && len(titles) > 0:
				titles[len(titles)-1] += string(t)
			default:
				text.Write(t)
			}
		}
	}
	a.texts[path] = out
	for _, g := range threes(all.String()) {
		if a.held[g] == nil {
			a.held[g] = map[string]bool{}
		}
		a.held[g][path] = true
	}
	return nil
}

// write writes the sentences on methods that have little original content, because most of their words are in runs that other articles
// contain.
func (a *articles) write(seen map[string]bool) {
	for _, path := range slices.Sorted(maps.Keys(a.texts)) {
		x := a.texts[path]
		var kept []string
		for _, s := range x.methods {
			if words := wordsOf(s); len(words) >= 8 && len(words) <= 60 && a.heldPart(words) >= leastHeld {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			write("method", "doi "+x.doi, "CC-BY", strings.Join(kept, " "), seen)
		}
	}
}

// heldPart returns the proportion of words in runs that leastHolders other articles also contain.
func (a *articles) heldPart(words []string) float64 {
	in := make([]bool, len(words))
	for i := 0; i+3 <= len(words); i++ {
		if len(a.held[strings.Join(words[i:i+3], " ")]) > leastHolders {
			in[i], in[i+1], in[i+2] = true, true, true
		}
	}
	n := 0
	for _, x := range in {
		if x {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func threes(s string) []string {
	words := wordsOf(s)
	var out []string
	for i := 0; i+3 <= len(words); i++ {
		out = append(out, strings.Join(words[i:i+3], " "))
	}
	return out
}

// sentenceStart matches the boundary between two sentences.
var sentenceStart = regexp.MustCompile(`[.!?]\s+\p{Lu}`)

func sentencesOf(p string) []string {
	var out []string
	from := 0
	for _, at := range sentenceStart.FindAllStringIndex(p, -1) {
		out = append(out, strings.TrimSpace(p[from:at[0]+1]))
		from = at[0] + 1
	}
	return append(out, strings.TrimSpace(p[from:]))
}

// named matches a definition of doclicense.
var named = regexp.MustCompile(`(?m)^\\@namedef\{doclicense@lang@(thisDoc|word@license|lic@[^}]*)\}\{([^}]*)\}`)

// documentLicence writes a document's statements of its licence in one language.
func documentLicence(path, from string, seen map[string]bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return nil
	}
	var this, word string
	var licences []string
	for _, m := range named.FindAllStringSubmatch(string(b), -1) {
		switch text := strings.Join(strings.Fields(strings.NewReplacer("~", " ", "--", "-").Replace(m[2])), " "); {
		case strings.Contains(text, `\`):
		case m[1] == "thisDoc":
			this = text
		case m[1] == "word@license":
			word = text
		case !strings.Contains(m[1], "code"):
			licences = append(licences, text)
		}
	}
	if this == "" {
		return nil
	}
	var out []string
	for _, l := range licences {
		out = append(out, strings.Join(strings.Fields(this+" "+l+" "+word), " ")+".")
	}
	write("licence", from, "LPPL-1.3c", strings.Join(out, " "), seen)
	return nil
}
