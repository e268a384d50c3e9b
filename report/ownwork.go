package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
)

// OwnWork proposes a source as earlier work of the submission's author. Because it is only a proposal, the source counts until someone
// decides.
type OwnWork struct {
	By     string // OwnByORCID or OwnByName
	Author string // name in the submission
	ORCID  string // set if By is OwnByORCID
}

// The bases of a proposal.
const (
	OwnByORCID = "orcid"
	OwnByName  = "name" // several people can share a name
)

// ownWork returns the reason to propose a source as earlier work of the submission's author, or nil if there is no reason, the proposal
// was dismissed, or the source is later than the submission.
func (b *builder) ownWork(ref concordat.Ref) *OwnWork {
	if len(b.f.Authors) == 0 || slices.ContainsFunc(b.copies.all(ref), newRefSet(b.r.NotOwnWork).has) {
		return nil
	}
	var out *OwnWork
	for _, one := range b.copies.all(ref) {
		if b.dates[one].Later {
			return nil
		}
		a, _, by := samePerson(b.f.Authors, b.creators(one))
		if by == OwnByORCID {
			return &OwnWork{by, a.Name, a.ORCID}
		}
		if by == OwnByName && out == nil {
			out = &OwnWork{By: by, Author: a.Name}
		}
	}
	return out
}

// SameAuthor returns the reason to suspect that a document found after a check, for example the published thesis, is by an author of its
// submission, or nil if there is none.
func SameAuthor(submission, document []concordat.Creator) *OwnWork {
	a, _, by := samePerson(submission, document)
	switch by {
	case OwnByORCID:
		return &OwnWork{by, a.Name, a.ORCID}
	case OwnByName:
		return &OwnWork{By: by, Author: a.Name}
	}
	return nil
}

// creators returns the authors of a source, whether it is here or at a partner.
func (b *builder) creators(ref concordat.Ref) []concordat.Creator {
	if w, ok := b.copies.known[ref]; ok {
		return w.creators()
	}
	if i := slices.IndexFunc(b.f.Partners, func(p PartnerSource) bool { return p.Ref == ref }); i >= 0 {
		return concordat.ParseCreators(b.f.Partners[i].Author)
	}
	return nil
}

// samePerson returns the first two creators who are the same person, and the basis for the match: OwnByORCID, which takes precedence, or
// OwnByName. The basis is empty if no creators match.
func samePerson(as, bs []concordat.Creator) (a, b concordat.Creator, by string) {
	for _, x := range as {
		for _, y := range bs {
			switch {
			case x.ORCID != "" && x.ORCID == y.ORCID:
				return x, y, OwnByORCID
			case x.ORCID != "" && y.ORCID != "": // different people
			case by == "" && sameName(x.Name, y.Name):
				a, b, by = x, y, OwnByName
			}
		}
	}
	return a, b, by
}

// personName is a name folded for comparison. If a name has no comma, either word can be the family name.
type personName struct {
	family string
	given  []string
	all    []string // sorted words; nil if the name order is certain
}

// notNames lists words that programs write in place of an author's name.
var notNames = words("user|admin|administrator|author|autor|student|office|microsoft|windows|owner|unknown|anonymous|guest|default|test")

// readName parses a name; ok is false if it is not a person's name, or only a family name.
func readName(s string) (n personName, ok bool) {
	family, given, comma := strings.Cut(s, ",")
	list := func(s string) (out []string) {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .\t\n\u00a0·・", r) }) {
			w = fold(w)
			if notNames[w] {
				return nil
			}
			if w != "" {
				out = append(out, w)
			}
		}
		return out
	}
	if comma {
		f := list(family)
		n.given = list(given)
		if len(f) > 0 {
			n.family = f[len(f)-1] // van der Berg
		}
		return n, n.family != "" && len(n.given) > 0
	}
	all := list(s)
	if len(all) == 1 && unspaced(firstRune(strings.TrimSpace(s))) && utf8.RuneCountInString(all[0]) > 1 {
		return personName{family: all[0]}, true // 王小明
	}
	if len(all) < 2 {
		return n, false
	}
	n = personName{family: all[len(all)-1], given: all[:len(all)-1], all: slices.Sorted(slices.Values(all))}
	return n, true
}

// sameName reports whether two names can belong to one person: the family names are equal, and so are the given names that both spell
// out. A family name alone does not suffice.
func sameName(x, y string) bool {
	a, ok := readName(x)
	b, ok2 := readName(y)
	if !ok || !ok2 {
		return false
	}
	if a.all != nil && b.all != nil && slices.Equal(a.all, b.all) {
		return true // Wang Wei, Wei Wang
	}
	if a.family != b.family {
		return false
	}
	for i := range min(len(a.given), len(b.given)) {
		p, q := a.given[i], b.given[i]
		if utf8.RuneCountInString(p) > utf8.RuneCountInString(q) {
			p, q = q, p
		}
		if p != q && !(utf8.RuneCountInString(p) == 1 && strings.HasPrefix(q, p)) {
			return false
		}
	}
	return true
}

// OwnWords describes a proposal that a source is the author's own earlier work, and its reliability.
func (l Language) OwnWords(o *OwnWork) string {
	if o == nil {
		return ""
	}
	if o.By == OwnByORCID {
		return l.Say("Probably the author's own earlier work: the ORCID iD of %s (%s) is the same.", cmp.Or(o.Author, o.ORCID), o.ORCID)
	}
	return l.Say("Possibly the author's own earlier work: one of its authors is also called %s. Several people can have the same name.", o.Author)
}

// SameAuthorWords says that a later document might be by the author of the submission, and how reliable that guess is.
func (l Language) SameAuthorWords(o *OwnWork) string {
	switch {
	case o == nil:
		return ""
	case o.By == OwnByORCID:
		return l.Say("Probably by the same author: the ORCID iD of %s (%s) is the same.", cmp.Or(o.Author, o.ORCID), o.ORCID)
	}
	return l.Say("Possibly by the same author: one of its authors is also called %s. Several people can have the same name.", o.Author)
}
