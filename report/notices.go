package report

import (
	"regexp"
	"strings"
	"unicode"

	"concordat"
)

const (
	maxLinkedNotice = 200 // maximum words in a notice made of links, excluding the links
	leastLinks      = 4   // minimum links in such a notice
	wordsForLink    = 25  // maximum words per link in such a notice
	maxRightsNotice = 80  // maximum words in a notice that begins with a copyright mark
	frontWords      = 300 // words at the beginning of a document searched for its authors
	leastNames      = 6   // minimum words in a paragraph of names
	maxNames        = 120 // maximum words in a paragraph of names
	namesShare      = 0.6 // share of words that must look like names
)

var (
	// linkHost matches a link or an address, and captures the host.
	linkHost = regexp.MustCompile(`(?i)(?:https?://|www\.|[\w.+-]+@)((?:[\w-]+\.)+\pL{2,})`)
	linkWord = regexp.MustCompile(`(?i)\S*(?:https?://|www\.|@)\S*`)
	// rightsMark matches the start of a rights notice: a mark and a year, in either order.
	rightsMark = regexp.MustCompile(`(?i)^[\s*_]*(?:[0-9]{4}\s*)?(?:copyright\s*)?(?:©|\(c\)|copyright\s+c\b)[^\n]{0,60}|^[\s*_]*copyright\s+(?:\S+\s+){0,6}?(?:19|20)[0-9]{2}\b`)
	rightsYear = regexp.MustCompile(`\b(?:1[5-9]|20)[0-9]{2}\b`)
)

// notice reports whether a paragraph looks like a publisher's notice: it begins with a copyright mark, or has a link on every other line,
// all to one host. In a single text, these signs prove nothing, because anyone can add links and marks to a page.
func notice(p string) bool {
	if len(p) > 20*maxLinkedNotice {
		return false
	}
	if at := rightsMark.FindString(p); at != "" && rightsYear.MatchString(at) {
		if measureWords(p) <= maxRightsNotice {
			return true
		}
	}
	links := linkHost.FindAllStringSubmatch(p, 4*maxLinkedNotice)
	if len(links) < leastLinks {
		return false
	}
	of := map[string]int{}
	most := 0
	for _, m := range links {
		host := strings.TrimPrefix(strings.ToLower(m[1]), "www.")
		of[host]++
		most = max(most, of[host])
	}
	words := measureWords(linkWord.ReplaceAllString(p, ""))
	return most >= leastLinks && 2*most >= len(links) && words <= maxLinkedNotice && words <= wordsForLink*most
}

// authorLines returns the paragraphs at the beginning of a document that consist of names: authors and their institutions. In a single
// text, these signs prove nothing, because anyone can write a page in capitals.
func authorLines(text string, ps []concordat.Span) []Attributed {
	var out []Attributed
	before := 0
	for _, p := range ps {
		if before > frontWords {
			break
		}
		in := p.In(text)
		words := measureWords(in)
		before += words
		if words >= leastNames && words <= maxNames && namesIn(in) {
			out = append(out, Attributed{p, AsAuthors})
		}
	}
	return out
}

// namesIn reports whether most words of a paragraph are capitalised or are addresses, separated by commas or line breaks.
func namesIn(p string) bool {
	words, names, set := 0, 0, 0
	for _, f := range strings.Fields(p) {
		f = strings.TrimLeft(f, "*†‡§¶#([{\"“„«0123456789,.;:")
		letters := strings.IndexFunc(f, unicode.IsLetter)
		if letters < 0 {
			continue
		}
		words++
		if r := []rune(f)[0]; unicode.IsUpper(r) || unicode.IsTitle(r) || strings.Contains(f, "@") {
			names++
		}
		if strings.HasSuffix(f, ",") || strings.HasSuffix(f, ";") {
			set++
		}
	}
	set += strings.Count(strings.TrimSpace(p), "\n")
	return words >= leastNames && float64(names) >= namesShare*float64(words) && 10*set >= words
}
