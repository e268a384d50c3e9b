package wire

import (
	"math"

	"concordat"
)

const (
	maxDescription = math.MaxUint16
	maxCursor      = 64
)

// MaxHeads is the maximum number of other sites' audit heads in a catalogue.
const MaxHeads = 64

// headBytes is the length of an audit head that names its site (crypto.HeadSize).
const headBytes = 148

// AppendCatalogueAsk appends a payload that requests the catalogue.
func AppendCatalogueAsk(b []byte) ([]byte, error) {
	return write(b, "catalogue ask", (*coder).head)
}

// ParseCatalogueAsk reads a payload.
func ParseCatalogueAsk(b []byte) error { return read(b, "catalogue ask", (*coder).head) }

func (c *coder) catalogue(v *concordat.Catalogue) {
	c.payload(Version)
	list(c, &v.Libraries, 2, 0, math.MaxUint16, 41, c.openLibrary)
	list(c, &v.Heads, 1, 0, MaxHeads, headBytes, func(h *[]byte) {
		if c.reading {
			*h = make([]byte, headBytes)
		}
		if len(*h) != headBytes {
			c.fail("audit head has %d bytes, want %d", len(*h), headBytes)
			return
		}
		c.bytes(*h)
	})
}

func (c *coder) openLibrary(l *concordat.OpenLibrary) {
	name(c, &l.ID, 1)
	c.displayText(&l.Title, maxTitle)
	c.displayText(&l.Description, maxDescription)
	c.num(&l.Documents, 4, math.MaxInt32)
	enum(c, &l.Level, levels)
	enum(c, &l.Outline, outlines)
	list(c, &l.Purposes, 1, 0, math.MaxUint8, 3, func(s *string) { name(c, s, 1) })
	c.flag(&l.Ship)
	c.flag(&l.Standing)
	list(c, &l.Ready, 1, 0, math.MaxUint8, 14, func(e *concordat.EpochReadiness) {
		c.epoch(&e.Epoch)
		name(c, &e.Scheme, 1)
		c.share(&e.Ready)
	})
	c.time(&l.Embargo)
	c.time(&l.Expires)
	c.left(&l.Sentences)
	c.left(&l.Disclosures)
}

// AppendCatalogue appends the payload of v.
func AppendCatalogue(b []byte, v *concordat.Catalogue) ([]byte, error) {
	return write(b, "catalogue", func(c *coder) { c.catalogue(v) })
}

// ParseCatalogue reads a payload.
func ParseCatalogue(b []byte) (*concordat.Catalogue, error) {
	var v concordat.Catalogue
	if err := read(b, "catalogue", func(c *coder) { c.catalogue(&v) }); err != nil {
		return nil, err
	}
	return &v, nil
}

func (c *coder) shipAsk(a *concordat.ShipAsk) {
	c.head()
	c.epoch(&a.Epoch)
	name(c, &a.Library, 1)
	c.blob(&a.Cursor, 1, maxCursor)
}

// AppendShipAsk appends the payload of a.
func AppendShipAsk(b []byte, a *concordat.ShipAsk) ([]byte, error) {
	return write(b, "ship ask", func(c *coder) { v := *a; c.shipAsk(&v) })
}

// ParseShipAsk reads a payload.
func ParseShipAsk(b []byte) (*concordat.ShipAsk, error) {
	var a concordat.ShipAsk
	if err := read(b, "ship ask", func(c *coder) { c.shipAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) shipment(s *concordat.Shipment) {
	c.payload(Version)
	name(c, &s.Scheme, 1)
	list(c, &s.Documents, 4, 0, math.MaxInt32, 35, func(d *concordat.ShippedDocument) {
		c.bytes(d.Handle[:])
		c.fate(d)
		c.displayText(&d.Title, maxTitle)
		c.displayText(&d.Author, maxTitle)
		c.displayText(&d.Contact, maxTitle)
		c.time(&d.Date)
		list(c, &d.Sentences, 4, 0, math.MaxInt32, concordat.FingerprintBytes+4, func(t *concordat.ShippedSentence) {
			c.fingerprint(&t.Fingerprint)
			c.num(&t.Ordinal, 4, math.MaxInt32)
		})
		if (d.Removed || d.Withheld) && (d.Title != "" || d.Author != "" || d.Contact != "" || !d.Date.IsZero() || d.Sentences != nil) {
			c.fail("a removed or withheld document has a title or contents")
		}
	})
	c.blob(&s.Cursor, 1, maxCursor)
	c.flag(&s.More)
}

// fate codes whether a document is shipped (0), removed (1) or withheld (2).
func (c *coder) fate(d *concordat.ShippedDocument) {
	n := 0
	switch {
	case d.Removed && d.Withheld:
		c.fail("a document is both removed and withheld")
	case d.Removed:
		n = 1
	case d.Withheld:
		n = 2
	}
	c.num(&n, 1, 2)
	if c.reading {
		d.Removed, d.Withheld = n == 1, n == 2
	}
}

// AppendShipment appends the payload of s.
func AppendShipment(b []byte, s *concordat.Shipment) ([]byte, error) {
	return write(b, "shipment", func(c *coder) { v := *s; c.shipment(&v) })
}

// ParseShipment reads a payload.
func ParseShipment(b []byte) (*concordat.Shipment, error) {
	var s concordat.Shipment
	if err := read(b, "shipment", func(c *coder) { c.shipment(&s) }); err != nil {
		return nil, err
	}
	return &s, nil
}
