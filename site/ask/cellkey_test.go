package ask_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/sitetest"
	"concordat/meaning"
	"concordat/site"
)

// cellBook is a set of sentences with their cells, which anyone can compute because the table is public.
type cellBook struct {
	cells  [][concordat.Bands]uint32
	points []meaning.Point
	of     []int // document of each sentence
	at     map[[concordat.Bands]uint32]int
}

func (d *cellBook) add(t *testing.T, text string, of int) {
	t.Helper()
	table, err := meaning.Default()
	sitetest.Must(t, err)
	cells, err := meaning.DefaultCells()
	sitetest.Must(t, err)
	if d.at == nil {
		d.at = map[[concordat.Bands]uint32]int{}
	}
	for _, stretch := range meaning.NewEncoder(table).Read(text, "en").Asked(cells) {
		for _, x := range stretch {
			if _, ok := d.at[x.Cells]; !ok {
				d.at[x.Cells] = len(d.cells)
			}
			d.cells, d.points, d.of = append(d.cells, x.Cells), append(d.points, cells.Estimate(x.Cells)), append(d.of, of)
		}
	}
}

// looked returns the entry that shares the most cells with the question, or a negative number if none shares any.
func (d *cellBook) looked(asked [concordat.Bands]uint32) int {
	best, most := -1, 0
	for i, cells := range d.cells {
		n := 0
		for band := range cells {
			if cells[band] == asked[band] {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// nearest returns the entry nearest to the point that the cells of the question make likeliest.
func (d *cellBook) nearest(t *testing.T, asked [concordat.Bands]uint32) int {
	t.Helper()
	cells, err := meaning.DefaultCells()
	sitetest.Must(t, err)
	p := cells.Estimate(asked)
	best, most := -1, math.Inf(-1)
	for i := range d.points {
		dot, length := 0.0, 0.0
		for k, x := range d.points[i] {
			dot += float64(x) * float64(p[k])
			length += float64(x) * float64(x)
		}
		if c := dot / math.Sqrt(length); c > most {
			best, most = i, c
		}
	}
	return best
}

// sent returns the message about a text that leaves the site.
func sent(t *testing.T, text string) *concordat.LeadAsk {
	t.Helper()
	m, partner := sitetest.NewMember(t, "north", "own"), sitetest.NewPartner(t, "here")
	var a *concordat.LeadAsk
	partner.TellLeads = func(asked *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
		if len(asked.Cells) > 0 {
			a = asked
		}
		return leadAnswer(asked), nil
	}
	_, err := m.Check(t.Context(), site.Submission{ID: "thesis", Text: text}, site.CheckOptions{Leads: true, PartnerLeads: true,
		Partners: []site.PartnerLibraries{partner.Libraries("theses")}})
	sitetest.Must(t, err)
	if a == nil {
		t.Fatal("nothing was asked")
	}
	return a
}

// TestStrangersLearnNothingOfCells: a stranger has the public table and a dictionary with every sentence in question, but not the
// federation's secret. The stranger cannot identify a sentence by its cells, find a document through its other sentences, or see that two
// questions concern the same text. A member can identify every sentence in its dictionary. With CONCORDAT_CORPORA the dictionary comes
// from 400 reviews, and the test asks about the first halves of 40 of them.
func TestStrangersLearnNothingOfCells(t *testing.T) {
	var whole, others cellBook // all sentences, and the ones that are not asked about
	var asked []string
	if os.Getenv("CONCORDAT_CORPORA") == "" {
		text := sitetest.Fillers(t, 300)
		whole.add(t, text, 0)
		asked = []string{text}
	} else {
		for i, d := range corpora.Reviews(t, 400) {
			whole.add(t, d.Text, i)
			if spans := meaning.Sentences(d.Text); i%10 == 0 && len(spans) > 2 {
				cut := spans[len(spans)/2].Start
				asked = append(asked, d.Text[:cut])
				others.add(t, d.Text[cut:], i)
			} else {
				others.add(t, d.Text, i)
			}
		}
	}
	text := strings.Join(asked, "\n\n")
	one, two := sent(t, text), sent(t, text)
	keyed := memberCells(t, one)

	n, stranger, about, member, strangerElse, memberElse := 0, 0, 0, 0, 0, 0
	for i, x := range one.Cells {
		is, ok := whole.at[keyed[i]]
		if !ok {
			continue // a dummy, or two sentences across the end of a part
		}
		n++
		if at := whole.looked(x.Cells); at >= 0 && whole.cells[at] == keyed[i] {
			stranger++
		}
		if at := whole.nearest(t, x.Cells); whole.of[at] == whole.of[is] {
			about++
		}
		if at := whole.looked(keyed[i]); at >= 0 && whole.cells[at] == keyed[i] {
			member++
		}
		if len(others.cells) > 0 {
			if at := others.nearest(t, keyed[i]); others.of[at] == whole.of[is] {
				memberElse++
			}
			if at := others.nearest(t, x.Cells); others.of[at] == whole.of[is] {
				strangerElse++
			}
		}
	}
	if n < 200 {
		t.Fatalf("%d sentences asked", n)
	}
	t.Logf("%d cells asked, dictionary of %d: a stranger names %d; a member names %d; by other sentences of their documents a stranger "+
		"finds the documents of %d, a member of %d", n, len(whole.cells), stranger, member, strangerElse, memberElse)
	if stranger > 3 {
		t.Errorf("a stranger names %d of %d", stranger, n)
	}
	if len(others.cells) > 0 { // each of the 400 documents is as probable as its share of the dictionary
		if chance := float64(n) / 400; float64(about) > 4*chance+6 || float64(strangerElse) > 4*chance+6 {
			t.Errorf("a stranger finds the document of %d and %d of %d, by chance some %.1f", about, strangerElse, n, chance)
		}
	}
	if member < n*99/100 {
		t.Errorf("a member names %d of %d: the test shows nothing", member, n)
	}
	equal := 0
	seen := map[[2]uint32]bool{}
	for _, x := range one.Cells {
		for band, cell := range x.Cells {
			seen[[2]uint32{uint32(band), cell}] = true
		}
	}
	for _, x := range two.Cells {
		for band, cell := range x.Cells {
			if seen[[2]uint32{uint32(band), cell}] {
				equal++
			}
		}
	}
	if usual := float64(concordat.Bands) * float64(len(one.Cells)) * float64(len(two.Cells)) / (1 << concordat.BandBits); float64(equal) >
		usual+6*math.Sqrt(usual)+6 {
		t.Errorf("%d cells of two questions about one text are equal, by chance %.1f", equal, usual)
	}
}

// memberCells returns the cells of an ask with the key removed.
func memberCells(t *testing.T, a *concordat.LeadAsk) [][concordat.Bands]uint32 {
	t.Helper()
	keyed := sitetest.CipherOf(t, sitetest.Key("cells"), a.Job)
	out := make([][concordat.Bands]uint32, len(a.Cells))
	for i, x := range a.Cells {
		for band, cell := range x.Cells {
			out[i][band] = keyed.Open(i, band, cell)
		}
	}
	return out
}
