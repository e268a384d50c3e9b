package index

import (
	"cmp"
	"slices"

	"concordat"
)

// Meant describes what an index stores, or should store, about a document's meaning.
type Meant uint8

// These are the values of Meant.
const (
	MeantUnknown Meant = iota // cells are unknown, for example because the site indexes without meaning
	MeantNone                 // the document has no cells, because its library has none or it contains no prose
	MeantCells
)

const (
	// PresentCells is the digest of the present definition of cells (profile.Profiler.CellsDigest). A profile whose CellsBy is empty has
	// cells by this definition; cells by any other are stale.
	PresentCells = "f192052c24dbc865"
	// UnknownCells is the CellsBy of cells whose definition is not known.
	UnknownCells = "unknown"
)

// UnfitQuery asks which documents of a library are not indexed by meaning as Want requires.
type UnfitQuery struct {
	Library concordat.LibraryID
	Want    Meant
	After   concordat.DocumentID // list only documents after this one
	Limit   int                  // maximum length of Documents; 0 lists none
}

// Unfit describes documents of a library that are not, or might not be, indexed by meaning as required.
type Unfit struct {
	Lacking     int // documents whose cells are unknown
	Stale       int // documents with cells by an earlier definition, although cells are wanted
	Superfluous int // documents whose cells are known, although they should be unknown or absent
	Bare        int // documents known to have no cells, although cells of any prose are wanted
	Documents   []UnfitDocument
}

// UnfitDocument identifies one of these documents.
type UnfitDocument struct {
	ID   concordat.DocumentID
	Bare bool
}

// Unfit answers q from memory; it takes a moment per million documents.
func (s *Shard) Unfit(q *UnfitQuery) (*Unfit, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	out := &Unfit{}
	s.state.mu.Lock()
	for k, d := range s.state.byKey {
		if k.library != q.Library || k.id <= q.After {
			continue
		}
		has := d.has()
		switch {
		case has == q.Want && !d.outdated():
			continue
		case has == q.Want:
			out.Stale++
		case has == MeantUnknown:
			out.Lacking++
		case q.Want == MeantCells:
			out.Bare++
		default:
			out.Superfluous++
		}
		if q.Limit > 0 {
			out.Documents = append(out.Documents, UnfitDocument{k.id, has == MeantNone && q.Want == MeantCells})
		}
	}
	s.state.mu.Unlock()
	out.cut(q.Limit)
	return out, nil
}

func (d *document) has() Meant {
	switch {
	case !d.meant:
		return MeantUnknown
	case d.cellCount == 0:
		return MeantNone
	}
	return MeantCells
}

// outdated reports whether the document has cells by an earlier definition.
func (d *document) outdated() bool { return d.stale && d.has() == MeantCells }

// Faulty returns the number of documents that must be recomputed; Bare documents might have to be.
func (u *Unfit) Faulty() int { return u.Lacking + u.Stale + u.Superfluous }

// Join merges another shard's answer to the same query into u.
func (u *Unfit) Join(v *Unfit, limit int) {
	u.Lacking, u.Stale, u.Superfluous, u.Bare = u.Lacking+v.Lacking, u.Stale+v.Stale, u.Superfluous+v.Superfluous, u.Bare+v.Bare
	u.Documents = append(u.Documents, v.Documents...)
	u.cut(limit)
}

// cut keeps only the first limit documents.
func (u *Unfit) cut(limit int) {
	slices.SortFunc(u.Documents, func(a, b UnfitDocument) int { return cmp.Compare(a.ID, b.ID) })
	u.Documents = slices.Clone(u.Documents[:min(len(u.Documents), max(0, limit))])
}
