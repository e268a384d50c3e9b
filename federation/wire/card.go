package wire

// MaxCard is the maximum size of a site card in bytes.
const MaxCard = 64 << 10

// AppendCardAsk appends a payload that requests the site's card.
func AppendCardAsk(b []byte) ([]byte, error) { return write(b, "card ask", (*coder).head) }

// ParseCardAsk parses a payload.
func ParseCardAsk(b []byte) error { return read(b, "card ask", (*coder).head) }

func (c *coder) card(card *[]byte) {
	c.payload(Version)
	c.blob(card, 4, MaxCard)
}

// AppendCard appends a payload that contains a signed card.
func AppendCard(b, card []byte) ([]byte, error) {
	return write(b, "card", func(c *coder) { c.card(&card) })
}

// ParseCard parses a payload; it does not check whether the card is genuine.
func ParseCard(b []byte) ([]byte, error) {
	var card []byte
	if err := read(b, "card", func(c *coder) { c.card(&card) }); err != nil {
		return nil, err
	}
	return card, nil
}

// AppendHeadAsk appends a payload that requests only the audit log's head.
func AppendHeadAsk(b []byte) ([]byte, error) { return write(b, "head ask", (*coder).head) }

// ParseHeadAsk parses a payload.
func ParseHeadAsk(b []byte) error { return read(b, "head ask", (*coder).head) }

func (c *coder) headPayload(h *Head) {
	c.payload(Version)
	c.auditHead(h)
}

// AppendHead appends a payload that contains an audit head.
func AppendHead(b []byte, h *Head) ([]byte, error) {
	return write(b, "head", func(c *coder) { c.headPayload(h) })
}

// ParseHead parses a payload.
func ParseHead(b []byte) (*Head, error) {
	var h Head
	if err := read(b, "head", func(c *coder) { c.headPayload(&h) }); err != nil {
		return nil, err
	}
	return &h, nil
}
