package wire

import (
	"math"

	"concordat"
)

var (
	revealLevels = []concordat.Show{concordat.ShowOverlap, concordat.ShowPassage}
	states       = []string{
		concordat.DisclosureGranted, concordat.DisclosurePending, concordat.DisclosureRefused,
		concordat.DisclosureExpired, concordat.DisclosureWithdrawn,
	}
)

func (c *coder) revealAsk(a *concordat.RevealAsk) {
	c.head()
	c.bytes(a.Job[:])
	c.epoch(&a.Epoch)
	c.bytes(a.Handle[:])
	enum(c, &a.Level, revealLevels)
	list(c, &a.Passages, 2, 1, maxPicked, 12, func(p *concordat.RevealPassage) {
		c.span(&p.Span)
		c.exact(&p.Text, maxPassage)
	})
	c.displayText(&a.Reason, maxReason)
	c.displayText(&a.Contact, maxTitle)
}

// AppendRevealAsk appends the payload of a.
func AppendRevealAsk(b []byte, a *concordat.RevealAsk) ([]byte, error) {
	return write(b, "reveal ask", func(c *coder) { v := *a; c.revealAsk(&v) })
}

// ParseRevealAsk reads a payload.
func ParseRevealAsk(b []byte) (*concordat.RevealAsk, error) {
	var a concordat.RevealAsk
	if err := read(b, "reveal ask", func(c *coder) { c.revealAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) revealed(r *concordat.Revealed) {
	c.payload(1)
	enum(c, &r.State, states)
	c.displayText(&r.Words, maxWords)
	c.time(&r.Until)
	list(c, &r.Passages, 2, 0, maxPicked, 8, func(p *concordat.RevealedPassage) {
		list(c, &p.Shared, 4, 0, math.MaxInt32, 8, c.span)
		c.exact(&p.Text, maxPassage)
	})
}

// AppendRevealed appends the payload of r.
func AppendRevealed(b []byte, r *concordat.Revealed) ([]byte, error) {
	return write(b, "revealed", func(c *coder) { v := *r; c.revealed(&v) })
}

// ParseRevealed parses a payload, including earlier versions, because reports keep answers as they were signed.
func ParseRevealed(b []byte) (*concordat.Revealed, error) {
	var r concordat.Revealed
	if err := read(b, "revealed", func(c *coder) { c.revealed(&r) }); err != nil {
		return nil, err
	}
	return &r, nil
}
