package wire

// MaxCard is the most bytes of a site card.
const MaxCard = 64 << 10

// AppendCardAsk appends the payload that asks for the site's card.
func AppendCardAsk(b []byte) ([]byte, error) { return write(b, "card ask", (*coder).head) }

// ParseCardAsk reads a payload.
func ParseCardAsk(b []byte) error { return read(b, "card ask", (*coder).head) }

func (c *coder) card(card *[]byte) {
	c.constant(Version, "payload version")
	c.blob(card, 4, MaxCard)
}

// AppendCard appends the payload that holds a signed card.
func AppendCard(b, card []byte) ([]byte, error) {
	return write(b, "card", func(c *coder) { c.card(&card) })
}

// ParseCard reads a payload; whether the card is genuine is not looked at.
func ParseCard(b []byte) ([]byte, error) {
	var card []byte
	if err := read(b, "card", func(c *coder) { c.card(&card) }); err != nil {
		return nil, err
	}
	return card, nil
}

// AppendHeadAsk appends the payload that asks for the audit's head alone.
func AppendHeadAsk(b []byte) ([]byte, error) { return write(b, "head ask", (*coder).head) }

// ParseHeadAsk reads a payload.
func ParseHeadAsk(b []byte) error { return read(b, "head ask", (*coder).head) }

func (c *coder) headPayload(h *Head) {
	c.constant(Version, "payload version")
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

// Enrol redeems an invitation: the card of the site that was invited, and a proof that it holds the
// invitation's token.
type Enrol struct {
	Card  []byte
	Proof [32]byte
}

func (c *coder) enrol(e *Enrol) {
	c.constant(Version, "payload version")
	c.blob(&e.Card, 4, MaxCard)
	c.bytes(e.Proof[:])
}

// AppendEnrol appends the message of e. It is sent before the sites know each other, in TLS alone.
func AppendEnrol(b []byte, e *Enrol) ([]byte, error) {
	return write(b, "enrol", func(c *coder) { v := *e; c.enrol(&v) })
}

// ParseEnrol reads a message.
func ParseEnrol(b []byte) (*Enrol, error) {
	var e Enrol
	if err := read(b, "enrol", func(c *coder) { c.enrol(&e) }); err != nil {
		return nil, err
	}
	return &e, nil
}

// Enrolled answers an Enrol: both administrators now compare words and confirm.
type Enrolled struct {
	Proof [32]byte // by the inviting site, over both cards
}

func (c *coder) enrolled(e *Enrolled) {
	c.constant(Version, "payload version")
	c.bytes(e.Proof[:])
}

// AppendEnrolled appends the message of e.
func AppendEnrolled(b []byte, e *Enrolled) ([]byte, error) {
	return write(b, "enrolled", func(c *coder) { c.enrolled(e) })
}

// ParseEnrolled reads a message.
func ParseEnrolled(b []byte) (*Enrolled, error) {
	var e Enrolled
	if err := read(b, "enrolled", func(c *coder) { c.enrolled(&e) }); err != nil {
		return nil, err
	}
	return &e, nil
}
