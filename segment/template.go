package segment

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"

	"concordat/segment/spaced"
)

// Template finds the sections of a kind of document by their headings: "match each chapter exactly" (Jiang, the project's template of
// regular expressions). A nil Template finds none.
type Template struct {
	Name     string
	Headings []Heading
}

// Heading defines one section of a Template. Pattern is matched against each line without surrounding white space; the section extends to
// the next heading of any kind, or to the end of the text.
type Heading struct {
	Section string
	Pattern *regexp.Regexp
	Skip    bool // whether to skip the section
}

// Section is a part of a text found by a Template.
type Section struct {
	Name string
	Span Span
	Skip bool
}

// longestHeading is the maximum length in bytes of lines to try, since a heading is short.
const longestHeading = 200

// Find returns the sections of text in order and disjoint, each beginning with its heading line. Text before the first heading belongs to
// no section.
func (t *Template) Find(text string) []Section {
	if t == nil {
		return nil
	}
	var out []Section
	for at := 0; at < len(text); {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			n = len(text) - at
		}
		if line := strings.TrimSpace(text[at : at+n]); line != "" && len(line) <= longestHeading {
			for _, h := range t.Headings {
				if h.Pattern.MatchString(line) {
					if len(out) > 0 {
						out[len(out)-1].Span.End = at
					}
					out = append(out, Section{h.Section, Span{at, len(text)}, h.Skip})
					break
				}
			}
		}
		at += n + 1
	}
	return out
}

// ParseTemplate parses a template with one heading per line, "section = regular expression". An exclamation mark after the section's name
// means that it should not be checked; # begins a comment. The error lists all faults.
func ParseTemplate(name, text string) (*Template, error) {
	t := &Template{Name: name}
	var faults []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		section, pattern, ok := strings.Cut(line, "=")
		section, skip := strings.CutSuffix(strings.TrimSpace(section), "!")
		section = strings.TrimSpace(section)
		re, err := regexp.Compile(strings.TrimSpace(pattern))
		switch {
		case !ok || section == "":
			faults = append(faults, fmt.Sprintf("invalid line %d: want section = pattern", i+1))
		case err != nil:
			faults = append(faults, fmt.Sprintf("line %d: %v", i+1, err))
		default:
			t.Headings = append(t.Headings, Heading{section, re, skip})
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("template %s: %s", name, strings.Join(faults, "; "))
	}
	return t, nil
}

//go:embed data/templates/*.txt
var templateFiles embed.FS

// Templates returns the program's built-in templates by name.
func Templates() map[string]*Template {
	entries, err := templateFiles.ReadDir("data/templates")
	if err != nil {
		panic(err) // the templates are embedded
	}
	out := map[string]*Template{}
	for _, e := range entries {
		b, err := templateFiles.ReadFile("data/templates/" + e.Name())
		if err != nil {
			panic(err) // the templates are embedded
		}
		name := strings.TrimSuffix(e.Name(), ".txt")
		t, err := ParseTemplate(name, string(b))
		if err != nil {
			panic(err) // the templates are embedded and tested
		}
		out[name] = t
	}
	return out
}

// digestVersion counts changes to the code that change the results of Split, Blocks or Features.
const digestVersion = 2

// Digest returns a hexadecimal digest of everything that determines the features of a text: the version of the code, the rune table, the
// stop lists, the dictionaries of the Chinese segmenter, and how words written apart are joined.
var Digest = sync.OnceValue(func() string {
	h := sha256.New()
	fmt.Fprintf(h, "concordat/segment/%d\n", digestVersion)
	for _, b := range [][]byte{runesGz, jiebaDictGz, jiebaModelGz} {
		sum := sha256.Sum256(b)
		h.Write(sum[:])
	}
	fmt.Fprintf(h, "spaced %s\n", spaced.Digest())
	entries, _ := stopFiles.ReadDir("data/stop")
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		b, _ := stopFiles.ReadFile("data/stop/" + e.Name())
		fmt.Fprintf(h, "%s %d\n", e.Name(), len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
})
