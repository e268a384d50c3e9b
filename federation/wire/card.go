package wire

// MaxCard is the largest size in bytes of a site card.
const MaxCard = 64 << 10

// AppendCardAsk appends the payload that asks for the site's card.
func AppendCardAsk(b []byte) ([]byte, error) { return write(b, "card ask", (*coder).head) }

// ParseCardAsk reads a payload.
func ParseCardAsk(b []byte) error { return read(b, "card ask", (*coder).head) }

func (c *coder) card(card *[]byte) {
	c.payload(Version)
	c.blob(card, 4, MaxCard)
}

// AppendCard appends the payload that holds a signed card.
func AppendCard(b, card []byte) ([]byte, error) {
	return write(b, "card", func(c *coder) { c.card(&card) })
}

// ParseCard reads a payload; it does not check whether the card is genuine.
func ParseCard(b []byte) ([]byte, error) {
	var card []byte
	if err := read(b, "card", func(c *coder) { c.card(&card) }); err != nil {
		return nil, err
	}
	return card, nil
}

// AppendHeadAsk appends the payload that asks only for the audit's head.
func AppendHeadAsk(b []byte) ([]byte, error) { return write(b, "head ask", (*coder).head) }

// ParseHeadAsk reads a payload.
func ParseHeadAsk(b []byte) error { return read(b, "head ask", (*coder).head) }

func (c *coder) headPayload(h *Head) {
	c.payload(Version)
	c.auditHead(h)
}

// AppendHead appends the payload that holds an audit head.
func AppendHead(b []byte, h *Head) ([]byte, error) {
	return write(b, "head", func(c *coder) { c.headPayload(h) })
}

// ParseHead reads a payload.
func ParseHead(b []byte) (*Head, error) {
	var h Head
	if err := read(b, "head", func(c *coder) { c.headPayload(&h) }); err != nil {
		return nil, err
	}
	return &h, nil
}
