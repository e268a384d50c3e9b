package batch

import (
	"path"
	"strings"

	"concordat/store"
)

// LineageRules determine which pairs in a batch can legitimately share wording. Such pairs are displayed but do not count. With the zero
// value, every pair counts.
type LineageRules struct {
	Author bool `json:"author"` // applies if both are declared to have the same author
	Group  bool `json:"group"`  // applies if both are declared to belong to the same group
	// Draft applies if one document is declared to be an earlier or later version of the other, or if both have the same declared author
	// and title but different dates.
	Draft bool `json:"draft"`
	// Metadata also uses the author in the files' own metadata. It is off by default, because documents written on one computer, or based
	// on one form, carry the same name, which does not make shared wording legitimate.
	Metadata bool `json:"metadata"`
}

// DefaultLineage returns the lineage rules of a new batch.
func DefaultLineage() LineageRules { return LineageRules{Author: true, Group: true, Draft: true} }

// Reasons why a pair does not count.
const (
	LineageAuthor  = "author"
	LineageGroup   = "group"
	LineageDraft   = "draft"
	LineageVerdict = "verdict" // decided by a person
)

// Lineage returns the reason why the pair of a and b does not count, or "" if it does. The order of the arguments does not matter.
func (l LineageRules) Lineage(a, b *store.BatchMember) string {
	common := l.commonAuthor(a, b)
	switch {
	case l.Draft && (draftOf(a, b) || draftOf(b, a)):
		return LineageDraft
	case l.Draft && common && a.Title != "" && fold(a.Title) == fold(b.Title) && (a.Dated.Before(b.Dated) || b.Dated.Before(a.Dated)):
		return LineageDraft
	case l.Group && a.Group != "" && fold(a.Group) == fold(b.Group):
		return LineageGroup
	case l.Author && common:
		return LineageAuthor
	}
	return ""
}

// commonAuthor reports whether a and b have an author in common.
func (l LineageRules) commonAuthor(a, b *store.BatchMember) bool {
	x, y := l.authors(a), l.authors(b)
	for name := range x {
		if y[name] {
			return true
		}
	}
	return false
}

// authors returns the folded names of a member's authors, which are separated by semicolons in the metadata.
func (l LineageRules) authors(m *store.BatchMember) map[string]bool {
	out := map[string]bool{}
	if m.AuthorBy == store.AuthorMetadata && !l.Metadata {
		return out
	}
	for name := range strings.SplitSeq(m.Author, ";") {
		if name = fold(name); name != "" {
			out[name] = true
		}
	}
	return out
}

// draftOf reports whether a is declared to be a version of b.
func draftOf(a, b *store.BatchMember) bool {
	return a.DraftOf != "" && SameFile(a.DraftOf, b.Name)
}

// SameFile reports whether given is a member's full name or its last part.
func SameFile(given, name string) bool {
	given = strings.ReplaceAll(given, `\`, "/")
	return given == name || given == lastPart(name)
}

// lastPart returns a member's file name, or its name inside an archive.
func lastPart(name string) string {
	if i := strings.LastIndex(name, "!/"); i >= 0 {
		name = name[i+2:]
	}
	return path.Base(name)
}

func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
