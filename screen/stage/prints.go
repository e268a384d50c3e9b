package stage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"concordat/screen"
	"concordat/segment"
)

// Prints writes the identifier and the print, 16 hexadecimal digits, of each document with features.
func Prints(in io.Reader, out io.Writer, print func(*segment.Text) (p uint64, any bool, err error)) error {
	return documents(in, func(id, text string) error {
		t, err := segment.Split(text)
		if err != nil {
			return err
		}
		p, any, err := print(t)
		if err != nil || !any {
			return err
		}
		return put(out, id, fmt.Sprintf("%016x", p))
	})
}

func parsePrint(s string) (uint64, error) {
	p, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != 16 {
		return 0, fmt.Errorf("%q is not a fingerprint; want 16 hexadecimal digits", s)
	}
	return p, nil
}

// bucket returns a print's key in a table, which consists of the table and the leading bits.
func bucket(d *screen.Design, table int, p uint64) string {
	l := &d.Tables[table]
	return fmt.Sprintf("%d.%x", table, l.Permute(p)>>(64-l.Lead))
}

// Buckets reads the output of Prints and writes a line of bucket, print and identifier for each print and each table of the design.
func Buckets(in io.Reader, out io.Writer, d *screen.Design) error {
	return each(in, 2, func(f []string) error {
		p, err := parsePrint(f[1])
		if err != nil {
			return err
		}
		for t := range d.Tables {
			if err := put(out, bucket(d, t, p), f[1], f[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pairs reads the lines of Buckets by bucket and writes the pairs of prints within the design's distance: both identifiers, the smaller
// first, and the distance. It writes a pair only in the first table in which both share a bucket. The first of equal prints represents
// them all, and the others are paired only with it.
func Pairs(in io.Reader, out io.Writer, d *screen.Design) error {
	type entry struct {
		print uint64
		id    string
	}
	var held []entry
	return groups(in, 3, func(key string, lines [][]string) error {
		held = held[:0]
		table := -1
		for _, f := range lines {
			p, err := parsePrint(f[1])
			if err != nil {
				return err
			}
			if table < 0 {
				if table = tableOf(d, key, p); table < 0 {
					return fmt.Errorf("%q is not a bucket of fingerprint %s: use the same distance and levels as in the previous stage", key, f[1])
				}
			}
			if n := len(held); n > 0 && held[n-1].print == p { // lines are sorted, so the first print has the smallest identifier
				if table == 0 {
					if err := put(out, held[n-1].id, f[2], "0"); err != nil {
						return err
					}
				}
				continue
			}
			held = append(held, entry{p, f[2]})
		}
		for i, a := range held {
			for _, b := range held[i+1:] {
				n := distance(a.print, b.print)
				if n > d.K || firstTable(d, a.print, b.print) != table {
					continue
				}
				one, two := ordered(a.id, b.id)
				if err := put(out, one, two, strconv.Itoa(n)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tableOf returns the table of the given bucket if the print is in that bucket, or -1.
func tableOf(d *screen.Design, key string, p uint64) int {
	for t := range d.Tables {
		if bucket(d, t, p) == key {
			return t
		}
	}
	return -1
}

// firstTable returns the first table in which two prints share a bucket.
func firstTable(d *screen.Design, a, b uint64) int {
	return slices.IndexFunc(d.Tables, func(l screen.Layout) bool { return l.Permute(a^b)>>(64-l.Lead) == 0 })
}

// nearChunk is the number of stored prints compared at once.
const nearChunk = 1 << 16

// Near reads stored prints in the format of Prints and writes the prints near a query as query, stored print and distance.
func Near(in io.Reader, out io.Writer, d *screen.Design, queries io.Reader) error {
	var ids []string
	var prints []uint64
	err := each(queries, 2, func(f []string) error {
		p, err := parsePrint(f[1])
		ids, prints = append(ids, f[0]), append(prints, p)
		return err
	})
	if err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	b, err := screen.NewBatch(d, prints)
	if err != nil {
		return err
	}
	var stored []string
	var chunk []uint64
	var found []screen.Found
	scan := func() error {
		found = b.Scan(chunk, 0, found[:0])
		slices.SortFunc(found, func(a, b screen.Found) int {
			return cmp.Or(cmp.Compare(a.Stored, b.Stored), cmp.Compare(a.Query, b.Query))
		})
		for _, h := range found {
			if err := put(out, ids[h.Query], stored[h.Stored], strconv.Itoa(h.Distance)); err != nil {
				return err
			}
		}
		stored, chunk = stored[:0], chunk[:0]
		return nil
	}
	err = each(in, 2, func(f []string) error {
		p, err := parsePrint(f[1])
		if err != nil {
			return err
		}
		if stored, chunk = append(stored, f[0]), append(chunk, p); len(chunk) == nearChunk {
			return scan()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := scan(); err != nil {
		return err.(*writeError).err
	}
	return nil
}
