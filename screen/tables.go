package screen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

func sqrt(n int) int { return int(math.Sqrt(float64(n))) }

// Hit is a stored print near a query. ID is its number among the prints given to NewTables.
type Hit struct {
	ID       uint32
	Distance int
}

// Tables finds exactly the prints of a fixed set within the design's distance of a given print (Manku, Jain and Das Sarma 2007, section
// 3). It is immutable and safe for concurrent use.
type Tables struct {
	design *Design
	tables [][]uint64 // permuted distinct prints, ascending
	prints []uint64   // ascending
	ids    []uint32   // numbers of prints
}

// NewTables sorts the prints into the tables of the design. It refuses prints with more bits than the design, and more than 2^32-1
// prints. It does not retain the slice.
func NewTables(d *Design, prints []uint64) (*Tables, error) {
	if int64(len(prints)) > math.MaxUint32 {
		return nil, fmt.Errorf("too many fingerprints: %d, but one set of tables can contain at most %d", len(prints), uint32(math.MaxUint32))
	}
	if d.F > 64 {
		return nil, fmt.Errorf("NewTables does not support %d bits: use NewWideTables for more than 64 bits", d.F)
	}
	t := &Tables{design: d, prints: slices.Clone(prints), ids: make([]uint32, len(prints))}
	for i, p := range prints {
		if p&^ones(d.F) != 0 {
			return nil, fmt.Errorf("fingerprint %d has more than %d bits", i, d.F)
		}
		t.ids[i] = uint32(i)
	}
	scratch := make([]uint64, len(prints))
	radix(t.prints, scratch, t.ids, make([]uint32, len(prints)))
	for i := range d.Tables {
		table := make([]uint64, 0, len(prints))
		for j, p := range t.prints {
			if j == 0 || p != t.prints[j-1] {
				table = append(table, d.Tables[i].Permute(p))
			}
		}
		radix(table, scratch[:len(table)], nil, nil)
		t.tables = append(t.tables, table)
	}
	return t, nil
}

// Near appends to dst the stored prints within distance K of q, each once, nearest first, then by ID. It ignores bits of q above the
// design's F.
func (t *Tables) Near(q uint64, dst []Hit) []Hit {
	start := len(dst)
	q &= ones(t.design.F)
	for i := range t.tables {
		dst = t.nearIn(i, q, dst)
	}
	slices.SortFunc(dst[start:], func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return dst
}

// nearIn appends the prints that table i finds and no earlier table does.
func (t *Tables) nearIn(i int, q uint64, dst []Hit) []Hit {
	l, table := &t.design.Tables[i], t.tables[i]
	y := l.Permute(q)
	shift := 64 - l.Lead
	prefix := y >> shift
	for j := lowerBound(table, prefix<<shift); j < len(table) && table[j]>>shift == prefix; j++ {
		if d := distance(table[j], y); d <= t.design.K {
			if p := l.Restore(table[j]); firstOf(t.design, i, p^q) {
				dst = t.append(dst, p, d)
			}
		}
	}
	return dst
}

// firstOf reports whether table i is the first of the design in which two prints with this difference agree in the leading bits, so that
// later duplicates can be dropped without checking other results.
func firstOf(d *Design, i int, difference uint64) bool {
	for j := range i {
		if d.Tables[j].mask[0]&difference == 0 {
			return false
		}
	}
	return true
}

// append appends all numbers of a stored print.
func (t *Tables) append(dst []Hit, print uint64, distance int) []Hit {
	for j := lowerBound(t.prints, print); j < len(t.prints) && t.prints[j] == print; j++ {
		dst = append(dst, Hit{t.ids[j], distance})
	}
	return dst
}

// Hot is a print shared by many documents, for example empty pages, error pages or log-in forms (Manku, Jain and Das Sarma 2007, section
// 5.2). Such a print does not indicate reuse.
type Hot struct {
	Print uint64
	Count int
}

// HotPrints returns the prints that occur more than most times, most frequent first. It sorts prints in place.
func HotPrints(prints []uint64, most int) []Hot {
	slices.Sort(prints)
	return hot(prints, most)
}

func hot(sorted []uint64, most int) []Hot {
	var out []Hot
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if j-i > most {
			out = append(out, Hot{sorted[i], j - i})
		}
		i = j
	}
	slices.SortFunc(out, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Print, b.Print))
	})
	return out
}
