package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"concordat"
)

// SharedWorks are the works cited in the reference lists of both a submission and one source. They are not evidence and not part of any
// share.
type SharedWorks struct {
	Source  concordat.Ref    `json:"source"`
	Title   string           `json:"title"`
	Works   int              `json:"works"`   // works cited by both
	Of      int              `json:"of"`      // works cited by the submission
	Entries []concordat.Span `json:"entries"` // entries of those works in the submission's text, in order
}

// Work is an entry of a list of references.
type Work struct {
	concordat.Span                 // in the text
	doi            string          // folded; empty if absent
	author         string          // first author's family name, folded; in Han, the full name
	year           string          // empty if absent
	title          map[string]bool // first words of the title, folded; each Han character is a word
}

const (
	maxWorks      = 5000 // maximum entries read from one text
	maxTitleWords = 12   // maximum number of title words compared
	// sameTitle is the minimum share of the shorter title's words that the other must contain.
	sameTitle = 0.7
)

// Bibliography holds the reference lists of a text.
type Bibliography struct {
	Lists []concordat.Span // positions of the lists, in text order without overlaps
	Works []Work           // cited works
}

// ReadBibliography reads the reference lists of a text; [References] and [Works] each return part of the result.
func ReadBibliography(text string) Bibliography {
	lists := referenceLists(text)
	return Bibliography{spansOf(text, lists), worksOf(lists)}
}

// Works returns the works cited in a text's reference lists, in order without duplicates, from the first maxWorks entries. An entry can
// span several lines, and can be numbered or set apart. An entry that has neither a DOI nor an author and year is omitted.
func Works(text string) []Work { return worksOf(referenceLists(text)) }

func worksOf(lists []referenceList) []Work {
	var out []Work
	seen := newWorkSet(nil)
	read := 0
	for _, list := range lists {
		for _, r := range list.records {
			if read++; read > maxWorks {
				return out
			}
			if !seen.has(r.Work) {
				out = append(out, r.Work)
				seen.add(r.Work)
			}
		}
	}
	return out
}

// BothCite returns the works that a submission and a source both cite. ok is false if there are none.
func BothCite(submission, source []Work, ref concordat.Ref, title string) (out SharedWorks, ok bool) {
	out = SharedWorks{Source: ref, Title: title, Of: len(submission)}
	if len(submission) == 0 || len(source) == 0 {
		return out, false
	}
	there := newWorkSet(source)
	for _, w := range submission {
		if there.has(w) {
			out.Works++
			out.Entries = append(out.Entries, w.Span)
		}
	}
	return out, out.Works > 0
}

// entriesOf splits the lines of a block into entries. Numbered entries start at their numbers. Others start at a line that begins with an
// author, provided the previous entry is complete.
func entriesOf(text string, ls []line) []concordat.Span {
	numbered := 0
	for _, l := range ls {
		if entryNumber.MatchString(l.trimmed) {
			numbered++
		}
	}
	byNumber := numbered >= 2 && 3*numbered >= len(ls)
	var out []concordat.Span
	for i, l := range ls {
		begins := i == 0 || entryNumber.MatchString(l.trimmed)
		if !byNumber && !begins {
			begins = beginsEntry(l.trimmed) && isWhole(out[len(out)-1].In(text))
		}
		if begins {
			out = append(out, l.Span)
		} else {
			out[len(out)-1].End = l.End
		}
	}
	return out
}

// beginsEntry reports whether a line begins the way an entry does, with a name.
func beginsEntry(l string) bool {
	r, _ := utf8.DecodeRuneInString(l)
	return unicode.IsUpper(r) || unicode.Is(unicode.Han, r)
}

// isWhole reports whether the text read so far can be a complete entry.
func isWhole(entry string) bool {
	entry = strings.TrimSpace(entry)
	last, _ := utf8.DecodeLastRuneInString(entry)
	i := strings.LastIndexAny(entry, " \n")
	return (strings.ContainsRune(".。．)）", last) || unicode.IsDigit(last) || strings.Contains(entry[i+1:], "://")) &&
		hasYear(tail(entry, maxEntry))
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[RuneStart(s, len(s)-n):]
}

var (
	workDOI    = regexp.MustCompile(`(?i)\b10\.[0-9]{4,9}/[^\s"<>，。]+`)
	workURL    = regexp.MustCompile(`(?i)(?:https?://|doi:\s*)\S+`)
	workNumber = regexp.MustCompile(`^\s*(?:[①-⑳㉑-㉟]|[\[［〔【(]\s*[0-9]{1,4}\s*[\]］〕】)]|[0-9]{1,3}[.．、])\s*`)
	// workYear matches a year in parentheses, as in most styles; without one, the last year is used.
	workYear   = regexp.MustCompile(`[(（]\s*(?:[^()（）]{0,20}\s)?((?:1[5-9]|20)[0-9]{2})[a-z]?(?:[,，][^()（）]{0,24})?\s*[)）]\s*[.:,．：，]?\s*`)
	anyYear    = regexp.MustCompile(`(?:^|[^0-9])((?:1[5-9]|20)[0-9]{2})[a-z]?(?:[^0-9]|$)`)
	workMark   = regexp.MustCompile(`\s*[\[［](?:EB|DB|CP|[JMDCNPSRGZA])(?:/OL)?[\]］]`)
	workQuoted = regexp.MustCompile(`[“"„«]([^“”"„«»]{8,300})[”"»“]`)
	nameEnds   = regexp.MustCompile(`[,，;；:：.．。(（]|\s(?:and|und|et|&|等)\s`)
	initials   = regexp.MustCompile(`^(?:\p{Lu}\.[\s-]*)+`)
	// titleBegins matches the end of names, after which a title can begin: a colon, or a full stop that does not belong to an initial.
	titleBegins = regexp.MustCompile(`(?:[\p{Ll}\p{Han}]|[\p{L}]\s\p{Lu}{1,3}|\bal|等)[.．。]\s*|[:：]\s*|\p{Lu}\.[.]?:?\s+`)
	titleEnds   = regexp.MustCompile(`[.．。?？!]\s|[.．。]$|//|\.\s*In:`)
)

// parseWork parses an entry; title is the offset in the text where its names end, if known. ok is false if the entry has neither a DOI
// nor an author with a year or a title.
func parseWork(text string, s concordat.Span, title int) (w Work, ok bool) {
	entry := s.In(text)
	if len(entry) > maxEntry {
		entry = entry[:RuneStart(entry, maxEntry)]
	}
	entry = strings.Join(strings.Fields(norm.NFC.String(entry)), " ")
	w.Span = s
	w.doi = strings.ToLower(strings.TrimRight(workDOI.FindString(entry), ".,;)]}"))
	entry = workNumber.ReplaceAllString(workURL.ReplaceAllString(workDOI.ReplaceAllString(entry, ""), ""), "")
	names, rest := entry, ""
	if m := workYear.FindStringSubmatchIndex(entry); m != nil {
		w.year = entry[m[2]:m[3]]
		names, rest = entry[:m[0]], entry[m[1]:]
	} else if all := anyYear.FindAllStringSubmatch(entry, -1); all != nil {
		w.year = all[len(all)-1][1]
	}
	w.author = familyName(names)
	w.title = titleWords(titleOf(entry, names, rest))
	if len(w.title) == 0 && title > s.Start && title < s.End {
		t, _, _ := strings.Cut(strings.Trim(text[title:s.End], " ,.:;"), ", ")
		w.title = titleWords(t)
	}
	return w, w.doi != "" || w.author != "" && len(w.title) > 0 && (w.year != "" || len(w.title) >= 4)
}

// familyName returns the folded family name of the first author.
func familyName(names string) string {
	names = initials.ReplaceAllString(strings.TrimSpace(names), "")
	if m := nameEnds.FindStringIndex(names); m != nil {
		names = names[:m[0]]
	}
	fields := strings.Fields(names)
	if len(fields) == 0 {
		return ""
	}
	name := fields[0]
	for _, f := range fields[1:] { // van der Berg: a lower-case word belongs to the words after it
		if r, _ := utf8.DecodeRuneInString(name); !unicode.IsLower(r) {
			break
		}
		name = f
	}
	return fold(name)
}

// titleOf returns the title of an entry as far as it can be determined; rest is the text after the year in parentheses.
func titleOf(entry, names, rest string) string {
	if m := workQuoted.FindStringSubmatch(entry); m != nil {
		return m[1]
	}
	if m := workMark.FindStringIndex(entry); m != nil { // GB/T 7714 puts the document type after the title
		title := entry[:m[0]]
		if i := titleBegins.FindStringIndex(title); i != nil {
			title = title[i[1]:]
		}
		return title
	}
	// A year that comes after the title, as in "Name: Title. In: Journal 3 (1999), 4-9", is recognised by the names and
	// the colon before it, or by the lack of a title after it.
	if _, title, ok := strings.Cut(names, ": "); ok {
		rest = title
	} else if i := titleBegins.FindStringIndex(names); i != nil && len(titleWords(rest)) < 2 {
		rest = names[i[1]:]
	}
	if m := titleEnds.FindStringIndex(rest); m != nil {
		return rest[:m[0]]
	}
	return rest
}

// titleWords returns the first words of a title, folded.
func titleWords(title string) map[string]bool {
	out := map[string]bool{}
	add := func(w string) {
		if w != "" && len(out) < maxTitleWords {
			out[w] = true
		}
	}
	for _, word := range strings.FieldsFunc(title, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) &&
			!unicode.IsDigit(r)
	}) {
		from := 0
		for i, r := range word {
			if unicode.Is(unicode.Han, r) {
				add(significant(word[from:i]))
				add(string(r))
				from = i + utf8.RuneLen(r)
			}
		}
		add(significant(word[from:]))
	}
	return out
}

// significant returns the folded word, or "" if it is no longer than an article or an initial.
func significant(word string) string {
	if utf8.RuneCountInString(word) < 3 {
		return ""
	}
	return fold(word)
}

// umlauts undoes the spelling of umlauts with an e, common on keyboards that lack them.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u", "ß", "ss")

// fold returns the letters and digits of a word in lower case without diacritics.
func fold(word string) string {
	return umlauts.Replace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsMark(r), !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(word)))
}

// workSet looks up works by DOI, or by author and year.
type workSet struct {
	dois map[string]bool
	by   map[string][]Work
}

func newWorkSet(works []Work) *workSet {
	s := &workSet{map[string]bool{}, map[string][]Work{}}
	for _, w := range works {
		s.add(w)
	}
	return s
}

func (w Work) key() string { return w.author + "|" + w.year }

func (s *workSet) add(w Work) {
	if w.doi != "" {
		s.dois[w.doi] = true
	}
	if w.author != "" {
		s.by[w.key()] = append(s.by[w.key()], w)
	}
}

// maxAlike is the maximum number of works by one author from one year with which a work is compared.
const maxAlike = 50

func (s *workSet) has(w Work) bool {
	if w.doi != "" && s.dois[w.doi] {
		return true
	}
	alike := s.by[w.key()]
	if w.author == "" {
		return false
	}
	return slices.ContainsFunc(alike[:min(len(alike), maxAlike)], func(x Work) bool {
		return (w.doi == "" || x.doi == "" || w.doi == x.doi) && sameTitles(w.title, x.title)
	})
}

// sameTitles reports whether two titles name one work.
func sameTitles(a, b map[string]bool) bool {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return both > 0 && float64(both) >= sameTitle*float64(min(len(a), len(b))) && 2*both >= max(len(a), len(b))
}

// sharedWorks returns the shared works that can be placed in the text, most works first, then by source.
func (b *builder) sharedWorks() []SharedWorks {
	var out []SharedWorks
	for _, w := range b.f.SharedWorks {
		w.Entries = union(clipAll(b.text, w.Entries))
		if w.Works > 0 {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(x, y SharedWorks) int {
		return cmp.Or(cmp.Compare(y.Works, x.Works), compareRefs(x.Source, y.Source))
	})
	return firstCopies(b.copies, out, func(w SharedWorks) (concordat.Ref, any) { return w.Source, nil })
}

func clipAll(text string, spans []concordat.Span) []concordat.Span {
	out := make([]concordat.Span, len(spans))
	for i, s := range spans {
		out[i] = clip(text, s)
	}
	return out
}

// maxCiting is the maximum number of sources listed as citing the same works; the JSON form lists all.
const maxCiting = 10

// citesWords states how many works the submission and its sources both cite, one line per source.
func (r *Report) citesWords() []string {
	l := r.Language
	var out []string
	for _, w := range r.SharedWorks[:min(len(r.SharedWorks), maxCiting)] {
		out = append(out, l.Say("%s of the %s works cited here are also cited by %s. This is not part of any share.", Thousands(l, w.Works),
			Thousands(l, w.Of), cmp.Or(w.Title, string(w.Source.Document))))
	}
	if n := len(r.SharedWorks) - maxCiting; n > 0 {
		out = append(out, l.Say("Some of the same works are cited by %s.", l.Plural(n, "more source", "more sources")))
	}
	return out
}
