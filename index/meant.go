package index

import (
	"cmp"
	"slices"

	"concordat"
)

// Meant says what an index keeps, or should keep, about a document's meaning.
type Meant uint8

// The values of Meant.
const (
	MeantUnknown Meant = iota // no cells, for example because the site indexes without meaning
	MeantNone                 // the document is known to have no cells: its library has none, or it has no sentence of prose
	MeantCells
)

// UnfitQuery asks for the documents of a library that are not indexed by meaning as they should be.
type UnfitQuery struct {
	Library concordat.LibraryID
	Want    Meant
	After   concordat.DocumentID // only documents after this one
	Limit   int                  // maximum length of Documents; with 0, none are named
}

// Unfit describes the documents of a library that are not, or may not be, indexed by meaning as they should
// be.
type Unfit struct {
	Lacking     int // nothing is known about their cells
	Superfluous int // they have cells, or are known to have none, but should not
	Bare        int // they are known to have no cells but should have those of their prose, if any
	Documents   []UnfitDocument
}

// UnfitDocument is one of these documents, by identity.
type UnfitDocument struct {
	ID   concordat.DocumentID
	Bare bool
}

// Unfit answers q from memory, which takes a moment for each million documents of the shard.
func (s *Shard) Unfit(q *UnfitQuery) (*Unfit, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	out := &Unfit{}
	s.mu.Lock()
	for k, d := range s.byKey {
		if k.library != q.Library || k.id <= q.After {
			continue
		}
		has := d.has()
		switch {
		case has == q.Want:
			continue
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
	s.mu.Unlock()
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

// Join adds the answer of another shard to the same question.
func (u *Unfit) Join(v *Unfit, limit int) {
	u.Lacking, u.Superfluous, u.Bare = u.Lacking+v.Lacking, u.Superfluous+v.Superfluous, u.Bare+v.Bare
	u.Documents = append(u.Documents, v.Documents...)
	u.cut(limit)
}

// cut keeps only the first documents.
func (u *Unfit) cut(limit int) {
	slices.SortFunc(u.Documents, func(a, b UnfitDocument) int { return cmp.Compare(a.ID, b.ID) })
	u.Documents = slices.Clone(u.Documents[:min(len(u.Documents), max(0, limit))])
}
