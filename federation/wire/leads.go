package wire

import (
	"math"

	"concordat"
)

// Limits on a question about meaning and its answer.
const (
	cellsBytes   = 2 + 1 + 3*concordat.Bands
	maxLeadPlace = math.MaxUint8
)

func (c *coder) leadAsk(a *concordat.LeadAsk) {
	c.head()
	c.bytes(a.Job[:])
	c.epoch(&a.Epoch)
	name(c, &a.Table, 1)
	name(c, &a.Purpose, 0)
	c.bytes(a.Commitment[:])
	list(c, &a.Libraries, 2, 1, maxLibraries, 3, func(l *concordat.LibraryID) { name(c, l, 1) })
	list(c, &a.Cells, 4, 0, concordat.MaxLeadCells, cellsBytes, func(x *concordat.AskedCells) {
		c.num(&x.Stretch, 2, concordat.MaxLeadCells-1)
		c.flag(&x.Chinese)
		for i := range x.Cells {
			cell := int(x.Cells[i])
			c.num(&cell, 3, 1<<concordat.BandBits-1)
			x.Cells[i] = uint32(cell)
		}
	})
	if c.err != nil || len(a.Cells) == 0 {
		return
	}
	if concordat.Padded(len(a.Cells)) != len(a.Cells) {
		c.fail("the number of cells, %d, is not padded", len(a.Cells))
	}
	stretch := 0
	for _, x := range a.Cells {
		if x.Stretch != stretch && x.Stretch != stretch+1 {
			c.fail("cells are out of order: stretch %d follows stretch %d", x.Stretch, stretch)
		}
		stretch = x.Stretch
	}
}

// AppendLeadAsk appends the payload of a; its cells must be padded and ordered by stretch.
func AppendLeadAsk(b []byte, a *concordat.LeadAsk) ([]byte, error) {
	return write(b, "lead ask", func(c *coder) { v := *a; c.leadAsk(&v) })
}

// ParseLeadAsk reads a payload.
func ParseLeadAsk(b []byte) (*concordat.LeadAsk, error) {
	var a concordat.LeadAsk
	if err := read(b, "lead ask", func(c *coder) { c.leadAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) leadAnswer(t *concordat.LeadAnswer) {
	c.payload(Version)
	name(c, &t.Table, 1)
	list(c, &t.Libraries, 2, 0, maxLibraries, 26, func(l *concordat.LeadLibraryAnswer) {
		name(c, &l.Library, 1)
		c.refusal(&l.Refusal)
		c.num(&l.Missing, 4, math.MaxInt32)
		c.left(&l.LeftCells)
		c.left(&l.LeftNear)
	})
	list(c, &t.Documents, 4, 0, math.MaxInt32, 41, c.leadDocument)
	list(c, &t.Hits, 4, 0, math.MaxInt32, 8, func(h *concordat.LeadHit) {
		c.num(&h.Cells, 2, concordat.MaxLeadCells-1)
		c.num(&h.Document, 4, math.MaxInt32)
		c.num(&h.Place, 1, maxLeadPlace)
		step := int(h.Step)
		c.num(&step, 1, int(concordat.LeadVeryNear))
		h.Step = concordat.LeadStep(step)
	})
	if c.err != nil {
		return
	}
	for _, d := range t.Documents {
		if d.Library >= len(t.Libraries) {
			c.fail("a document refers to library %d of %d", d.Library, len(t.Libraries))
		}
	}
	for _, h := range t.Hits {
		if h.Document >= len(t.Documents) || h.Place >= len(t.Documents[h.Document].Places) {
			c.fail("a match refers to missing place %d of document %d of %d", h.Place, h.Document, len(t.Documents))
		}
	}
}

func (c *coder) leadDocument(d *concordat.LeadDocument) {
	c.bytes(d.Handle[:])
	c.num(&d.Library, 2, maxLibraries)
	c.displayText(&d.Title, maxTitle)
	c.displayText(&d.Author, maxTitle)
	c.displayText(&d.Contact, maxTitle)
	c.time(&d.Date)
	list(c, &d.Places, 1, 1, maxLeadPlace, 8, c.span)
	end := -1
	for _, p := range d.Places {
		if p.Start <= end || p.Len() == 0 {
			c.fail("places are empty, overlap or are out of order")
		}
		end = p.End
	}
}

// AppendLeadAnswer appends the payload of t.
func AppendLeadAnswer(b []byte, t *concordat.LeadAnswer) ([]byte, error) {
	return write(b, "leads", func(c *coder) { c.leadAnswer(t) })
}

// ParseLeadAnswer reads a payload. Indexes of libraries, documents and places are within bounds; indexes of cells are below MaxLeadCells.
func ParseLeadAnswer(b []byte) (*concordat.LeadAnswer, error) {
	var t concordat.LeadAnswer
	if err := read(b, "leads", func(c *coder) { c.leadAnswer(&t) }); err != nil {
		return nil, err
	}
	return &t, nil
}
