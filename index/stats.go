package index

import (
	"io/fs"
	"path/filepath"
)

// Stats describes a shard at one moment.
type Stats struct {
	Documents int
	Sentences int // including repeats
	Meant     int // documents with words whose meaning cells are known
	// Distinct is the number of entries in the derived table. After Merge, it is the number of distinct fingerprints; before that, a
	// fingerprint in two levels, or in a level and among the fresh ones, counts twice.
	Distinct   int
	DiskBytes  int64 // total size of the shard's files
	TableBytes int64 // memory of the derived table
	Levels     int   // levels of the derived table
	Fresh      int   // sentences not yet in a level
	Segments   int   // Bleve's segments
}

// Stats returns the shard's statistics; after Close, they are zero.
func (s *Shard) Stats() Stats {
	done, err := s.use()
	if err != nil {
		return Stats{}
	}
	defer done()
	s.state.mu.Lock()
	v, cells := s.state.view, s.state.cells
	st := Stats{Documents: len(s.state.byKey), Sentences: s.state.sentences, Meant: s.state.meant}
	s.state.mu.Unlock()
	st.Levels, st.Fresh = len(v.levels), len(v.fresh)
	st.Distinct = len(v.fresh)
	st.TableBytes = int64(len(v.fresh)) * 24
	for _, l := range v.levels {
		st.Distinct += len(l.first)
		st.TableBytes += l.bytes()
	}
	st.TableBytes += int64(len(cells.fresh)) * 8
	for _, l := range cells.levels {
		st.TableBytes += l.bytes()
	}
	if snapshot, err := s.engine.snapshot(); err == nil {
		st.Segments = len(snapshot.Segments())
		snapshot.Close()
	}
	st.DiskBytes = dirBytes(s.dir)
	return st
}

// dirBytes returns the total size of the readable files below dir, in bytes.
func dirBytes(dir string) int64 {
	var n int64
	// Files can vanish while Bleve merges; a vanished file counts as empty.
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if fi, err := e.Info(); err == nil {
			n += fi.Size()
		}
		return nil
	})
	return n
}
