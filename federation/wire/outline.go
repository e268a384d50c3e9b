package wire

import (
	"math"
	"slices"

	"concordat"
)

// Limits of the later rounds. The text of a reveal is a passage, or a chapter at most.
const (
	maxPicked   = math.MaxUint16 // maximum documents, spans or passages per request
	maxPassage  = 1 << 20        // bytes per text
	maxReason   = 4096
	maxUnitWord = math.MaxUint16
)

func (c *coder) outlineAsk(a *concordat.OutlineAsk) {
	c.head()
	c.bytes(a.Job[:])
	c.epoch(&a.Epoch)
	list(c, &a.Documents, 2, 1, maxPicked, 20, func(d *concordat.OutlineOf) {
		c.bytes(d.Handle[:])
		last := -1
		list(c, &d.Ordinals, 4, 0, math.MaxInt32, 4, func(o *int) {
			c.num(o, 4, math.MaxInt32)
			if *o <= last {
				c.fail("sentences are out of order: %d follows %d", *o, last)
			}
			last = *o
		})
	})
}

// AppendOutlineAsk appends the payload of a.
func AppendOutlineAsk(b []byte, a *concordat.OutlineAsk) ([]byte, error) {
	return write(b, "outline ask", func(c *coder) { v := *a; c.outlineAsk(&v) })
}

// ParseOutlineAsk reads a payload.
func ParseOutlineAsk(b []byte) (*concordat.OutlineAsk, error) {
	var a concordat.OutlineAsk
	if err := read(b, "outline ask", func(c *coder) { c.outlineAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) outlines(o *concordat.Outlines) {
	c.payload(Version)
	list(c, &o.Documents, 2, 0, maxPicked, 37, c.outline)
}

func (c *coder) outline(o *concordat.Outline) {
	c.bytes(o.Handle[:])
	c.refusal(&o.Refusal)
	enum(c, &o.Form, outlines)
	c.num(&o.Bits, 1, 16)
	c.num(&o.Length, 4, math.MaxInt32)
	switch {
	case o.Refusal == nil && o.Form == "", o.Refusal != nil && o.Form != "":
		c.fail("an outline must have either a refusal or a form")
	case (o.Form == concordat.OutlineWords) != (o.Bits > 0):
		c.fail("unexpected number of bits per word (%d) in an outline of form %q", o.Bits, o.Form)
	}
	size := 20 + concordat.FingerprintBytes
	if o.Form == concordat.OutlineWords {
		size = 18
	}
	most := math.MaxInt32
	if o.Form == "" {
		most = 0
	}
	list(c, &o.Units, 4, 0, most, size, func(u *concordat.OutlineUnit) {
		c.num(&u.Ordinal, 4, math.MaxInt32)
		c.span(&u.Span)
		c.num(&u.Chars, 4, math.MaxInt32)
		if o.Form == concordat.OutlineWords {
			c.wordSet(&u.Words, o.Bits)
			return
		}
		c.num(&u.Features, 2, math.MaxUint16)
		c.fingerprint(&u.Fingerprint)
		c.num(&u.Check, 4, math.MaxInt32)
	})
}

// wordSet codes an ascending set of hashes of the given number of bits as their count and then the hashes without gaps, highest bit
// first, padded with zero bits to a whole byte.
func (c *coder) wordSet(words *[]uint16, bits int) {
	n := len(*words)
	c.num(&n, 2, maxUnitWord)
	if c.err != nil {
		return
	}
	if c.reading {
		*words = c.readWords(n, bits)
		return
	}
	acc, have, last := 0, 0, -1
	for _, w := range *words {
		if int(w) <= last || int(w) >= 1<<bits {
			c.fail("words are out of order or too large: %d follows %d in a set of %d-bit words", w, last, bits)
			return
		}
		last = int(w)
		acc, have = acc<<bits|int(w), have+bits
		for ; have >= 8; have -= 8 {
			c.b = append(c.b, byte(acc>>(have-8)))
		}
		acc &= 1<<have - 1
	}
	if have > 0 {
		c.b = append(c.b, byte(acc<<(8-have)))
	}
}

func (c *coder) readWords(n, bits int) []uint16 {
	p := c.take((n*bits + 7) / 8)
	if len(p) == 0 {
		return nil
	}
	words := make([]uint16, n)
	acc, have, last := 0, 0, -1
	for i := range words {
		for ; have < bits; have += 8 {
			acc = acc<<8 | int(p[0])
			p = p[1:]
		}
		have -= bits
		w := acc >> have
		acc &= 1<<have - 1
		if w <= last {
			c.fail("words are out of order: %d follows %d", w, last)
			return nil
		}
		words[i], last = uint16(w), w
	}
	if acc != 0 {
		c.fail("unexpected bits after the last word")
	}
	return words
}

// AppendOutlines appends the payload of o.
func AppendOutlines(b []byte, o *concordat.Outlines) ([]byte, error) {
	return write(b, "outlines", func(c *coder) { c.outlines(o) })
}

// ParseOutlines reads a payload.
func ParseOutlines(b []byte) (*concordat.Outlines, error) {
	var o concordat.Outlines
	if err := read(b, "outlines", func(c *coder) { c.outlines(&o) }); err != nil {
		return nil, err
	}
	return &o, nil
}

func (c *coder) edgesAsk(a *concordat.EdgesAsk) {
	c.head()
	c.bytes(a.Job[:])
	c.epoch(&a.Epoch)
	c.bytes(a.Handle[:])
	list(c, &a.Passages, 2, 1, maxPicked, 12, func(p *concordat.EdgePassage) {
		c.span(&p.Span)
		c.orderedWords(&p.Words)
	})
}

// AppendEdgesAsk appends the payload of a.
func AppendEdgesAsk(b []byte, a *concordat.EdgesAsk) ([]byte, error) {
	return write(b, "edges ask", func(c *coder) { v := *a; c.edgesAsk(&v) })
}

// ParseEdgesAsk reads a payload.
func ParseEdgesAsk(b []byte) (*concordat.EdgesAsk, error) {
	var a concordat.EdgesAsk
	if err := read(b, "edges ask", func(c *coder) { c.edgesAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

// orderedWords codes a list of one-byte hashes.
func (c *coder) orderedWords(words *[]byte) {
	n := len(*words)
	c.num(&n, 4, math.MaxInt32)
	if !c.reading {
		c.bytes(*words)
		return
	}
	*words = nil
	if c.err == nil && n > len(c.b) {
		c.fail("list has %d words, but only %d bytes are left", n, len(c.b))
	}
	if c.err == nil && n > 0 {
		*words = slices.Clone(c.take(n))
	}
}

func (c *coder) edges(e *concordat.Edges) {
	c.payload(Version)
	list(c, &e.Passages, 2, 0, maxPicked, 4, func(p *[]concordat.EdgeCopy) {
		list(c, p, 4, 0, math.MaxInt32, 16, func(x *concordat.EdgeCopy) {
			c.num(&x.From, 4, math.MaxInt32)
			c.num(&x.To, 4, math.MaxInt32)
			c.span(&x.Span)
		})
	})
}

// AppendEdges appends the payload of e.
func AppendEdges(b []byte, e *concordat.Edges) ([]byte, error) {
	return write(b, "edges", func(c *coder) { c.edges(e) })
}

// ParseEdges reads a payload.
func ParseEdges(b []byte) (*concordat.Edges, error) {
	var e concordat.Edges
	if err := read(b, "edges", func(c *coder) { c.edges(&e) }); err != nil {
		return nil, err
	}
	return &e, nil
}
