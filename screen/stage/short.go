package stage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"concordat/screen"
	"concordat/segment"
)

// LongestShort is the maximum number of letters in a short text.
const LongestShort = 200

// Counts holds the number of short texts that contain each gram; missing grams count as the rarest. The zero value is ready to use.
type Counts struct{ of map[uint64]uint32 }

// ReadCounts reads the lines of GramCounts after Merge has added them up.
func ReadCounts(in io.Reader) (*Counts, error) {
	c := &Counts{map[uint64]uint32{}}
	err := each(in, 2, func(f []string) error {
		g, err := parsePrint(f[0])
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(f[1], 10, 32)
		if err != nil {
			return fmt.Errorf("invalid number of texts %q", f[1])
		}
		c.of[g] = uint32(n)
		return nil
	})
	return c, err
}

// rarest returns, rarest first, as many grams of a text as are needed so that every sufficiently similar text contains at least one of
// them (prefix filter; Chaudhuri, Ganti and Kaushik 2006).
func (c *Counts) rarest(g screen.Grams, threshold float64) []uint64 {
	least, _, _ := g.Bounds(threshold)
	order := slices.Clone([]uint64(g))
	slices.SortFunc(order, func(a, b uint64) int { return cmp.Or(cmp.Compare(c.of[a], c.of[b]), cmp.Compare(a, b)) })
	return order[:len(order)-max(1, least)+1]
}

// shortTexts calls do with the letters of every short text.
func shortTexts(in io.Reader, do func(id, letters string) error) error {
	return documents(in, func(id, text string) error {
		t, err := segment.Split(text)
		if err != nil {
			return err
		}
		letters := screen.Letters(t)
		if letters == "" || utf8.RuneCountInString(letters) > LongestShort {
			return nil
		}
		return do(id, letters)
	})
}

// GramCounts writes the grams of each short text, each followed by 1. Merge with Sum adds them up.
func GramCounts(in io.Reader, out io.Writer) error {
	return shortTexts(in, func(_, letters string) error {
		for _, g := range screen.GramsOf(letters) {
			if err := put(out, fmt.Sprintf("%016x", g), "1"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Grams writes a line for each of a short text's rarest grams: gram, identifier, letters. It omits longer texts.
func Grams(in io.Reader, out io.Writer, threshold float64, c *Counts) error {
	return shortTexts(in, func(id, letters string) error {
		for _, g := range c.rarest(screen.GramsOf(letters), threshold) {
			if err := put(out, fmt.Sprintf("%016x", g), id, letters); err != nil {
				return err
			}
		}
		return nil
	})
}

// Alike reads the lines of Grams by gram and writes the pairs of similar texts: both identifiers, the smaller first, and the Jaccard
// similarity of their grams. It writes a pair only for the first gram among the rarest of both. Threshold and counts are as in Grams.
func Alike(in io.Reader, out io.Writer, threshold float64, c *Counts) error {
	type entry struct {
		id     string
		grams  screen.Grams
		rarest []uint64
	}
	var held []entry
	return groups(in, 3, func(key string, lines [][]string) error {
		gram, err := parsePrint(key)
		if err != nil {
			return err
		}
		held = held[:0]
		for _, f := range lines {
			e := entry{id: f[1], grams: screen.GramsOf(f[2])}
			e.rarest = c.rarest(e.grams, threshold)
			at := slices.Index(e.rarest, gram)
			if at < 0 {
				return errors.New("gram is not among the rarest grams of its text; use the same threshold and counts as in the grams stage")
			}
			e.rarest = e.rarest[:at] // keep only the grams before it
			held = append(held, e)
		}
		for i := range held {
			a := &held[i]
			for j := range held[:i] {
				b := &held[j]
				if a.id == b.id || slices.ContainsFunc(a.rarest, func(g uint64) bool { return slices.Contains(b.rarest, g) }) {
					continue
				}
				v := a.grams.Jaccard(b.grams)
				if v < threshold {
					continue
				}
				one, two := ordered(a.id, b.id)
				if err := put(out, one, two, decimal(v)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
