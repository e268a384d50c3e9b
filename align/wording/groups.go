package wording

import (
	"cmp"
	"slices"

	"concordat"
)

// Groups groups stretches of texts by their wording. The zero value is empty and ready to use.
type Groups struct {
	of  map[uint64]int // group of each gram
	all []Group
}

// Group is wording that occurs in several texts.
type Group struct {
	Words  int     // words in its longest stretch
	Texts  int     // number of texts that contain it
	Places []Place // longest first
	latest int     // text added last
}

// Place is a stretch of a text.
type Place struct {
	Text int // number given by the caller
	concordat.Span
}

// Add adds a stretch of a text. It joins the group that has the most of its grams, if that is at least half, or else starts a new group.
// The stretches of one text must be added consecutively.
func (g *Groups) Add(text int, w *Words, s concordat.Span) {
	first, last := w.within(s)
	var grams []uint64
	for i := first; i+gramWords <= last; i++ {
		if h := w.grams[i].hash; h != noGram {
			grams = append(grams, h)
		}
	}
	if len(grams) == 0 && first < last {
		grams = append(grams, ^w.hashOf(int(first), int(last)))
	}
	if len(grams) == 0 {
		return
	}
	if g.of == nil {
		g.of = map[uint64]int{}
	}
	n := g.mostly(grams)
	if n < 0 {
		n = len(g.all)
		g.all = append(g.all, Group{})
	}
	for _, h := range grams {
		if _, known := g.of[h]; !known {
			g.of[h] = n
		}
	}
	g.all[n].add(Place{text, s}, int(last-first))
}

// mostly returns the group that has at least half of the grams, the first in case of a tie, or -1 if there is none.
func (g *Groups) mostly(grams []uint64) int {
	count := map[int]int{}
	for _, h := range grams {
		if n, known := g.of[h]; known {
			count[n]++
		}
	}
	best := -1
	for n, c := range count {
		if 2*c >= len(grams) && (best < 0 || c > count[best] || c == count[best] && n < best) {
			best = n
		}
	}
	return best
}

func (g *Group) add(p Place, words int) {
	if len(g.Places) == 0 || g.latest != p.Text {
		g.Texts++
		g.latest = p.Text
	}
	g.Places = append(g.Places, p)
	if words > g.Words {
		g.Words = words
		last := len(g.Places) - 1
		g.Places[0], g.Places[last] = g.Places[last], g.Places[0]
	}
}

// Held returns up to most groups found in at least least texts, in descending order of total words over all texts.
func (g *Groups) Held(least, most int) []Group {
	var out []Group
	for _, x := range g.all {
		if x.Texts >= least {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Words*y.Texts, x.Words*x.Texts), cmp.Compare(y.Texts, x.Texts))
	})
	return out[:min(len(out), most)]
}
