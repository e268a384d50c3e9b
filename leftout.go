package concordat

// MaxLeftOutNames is the maximum number of names in a LeftOut.
const MaxLeftOutNames = 20

// LeftOut counts files in archives that were skipped because no person wrote them, namely lock files of word processors and files that
// operating systems add to folders. The zero value means none.
type LeftOut struct {
	Count int      `json:"count"`
	Names []string `json:"names,omitempty" nullable:"false" doc:"Names of the first 20, as in their archives"` // at most MaxLeftOutNames
}

// Add adds a file by its name in the archive.
func (l *LeftOut) Add(name string) {
	l.Join(LeftOut{1, []string{ShortName(EscapeName(name))}})
}

// Join adds the files of another LeftOut. It does not retain any part of other.
func (l *LeftOut) Join(other LeftOut) {
	l.Count += other.Count
	room := MaxLeftOutNames - len(l.Names)
	l.Names = append(l.Names[:len(l.Names):len(l.Names)], other.Names[:min(max(room, 0), len(other.Names))]...)
}

// IsZero reports whether no files were skipped.
func (l LeftOut) IsZero() bool { return l.Count == 0 }
