package wire

import (
	"math"

	"concordat"
)

// Limits on an ask and its answer.
const (
	maxLibraries = math.MaxUint16
	maxAuthors   = math.MaxUint8
	entryBytes   = concordat.FingerprintBytes + 1
)

var (
	levels   = concordat.Levels()
	outlines = []string{"", concordat.OutlineWords, concordat.OutlineFingerprints}
)

// head codes the first bytes, common to all requests.
func (c *coder) head() {
	c.payload(Version)
	c.constant(ModeSealed, "mode")
}

func (c *coder) ask(a *concordat.Ask) {
	c.head()
	c.bytes(a.Job[:])
	c.epoch(&a.Epoch)
	name(c, &a.Scheme, 1)
	enum(c, &a.Level, levels)
	probe := int(a.Probe)
	c.num(&probe, 1, int(concordat.ProbeOne))
	a.Probe = concordat.Probe(probe)
	c.flag(&a.Standing)
	name(c, &a.Purpose, 0)
	c.bytes(a.Commitment[:])
	list(c, &a.Libraries, 2, 1, maxLibraries, 3, func(l *concordat.LibraryID) { name(c, l, 1) })
	list(c, &a.Authors, 1, 0, maxAuthors, 16, func(p *[16]byte) { c.bytes(p[:]) })
	list(c, &a.Sentences, 4, 1, concordat.MaxAsked, entryBytes, func(s *concordat.AskedSentence) {
		c.fingerprint(&s.Fingerprint)
		c.num(&s.Gate, 1, concordat.Bits)
	})
	if c.err == nil && concordat.Padded(len(a.Sentences)) != len(a.Sentences) {
		c.fail("the number of sentences, %d, is not padded", len(a.Sentences))
	}
}

// AppendAsk appends the payload of a; Pad must have padded its sentences.
func AppendAsk(b []byte, a *concordat.Ask) ([]byte, error) {
	return write(b, "ask", func(c *coder) { v := *a; c.ask(&v) })
}

// ParseAsk parses a payload; the sentences are padded, and their order reveals nothing.
func ParseAsk(b []byte) (*concordat.Ask, error) {
	var a concordat.Ask
	if err := read(b, "ask", func(c *coder) { c.ask(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

// EpochAnswer is a SiteAnswer with the epoch and scheme of the compared fingerprints, which the answering site also signs.
type EpochAnswer struct {
	Epoch  concordat.Epoch
	Scheme concordat.Scheme
	Answer concordat.SiteAnswer `json:"Tell"`
}

func (c *coder) siteAnswer(t *concordat.SiteAnswer) {
	list(c, &t.Libraries, 2, 0, maxLibraries, 45, c.libraryAnswer)
	list(c, &t.Documents, 4, 0, math.MaxInt32, 37, c.documentAnswer)
	list(c, &t.Hits, 4, 0, math.MaxInt32, 15, c.hit)
	if c.err != nil {
		return
	}
	for _, d := range t.Documents {
		if d.Library >= len(t.Libraries) {
			c.fail("a document refers to library %d of %d", d.Library, len(t.Libraries))
		}
	}
	for _, h := range t.Hits {
		if h.Document >= len(t.Documents) {
			c.fail("a match refers to document %d of %d", h.Document, len(t.Documents))
		}
	}
}

func (c *coder) libraryAnswer(l *concordat.LibraryAnswer) {
	name(c, &l.Library, 1)
	enum(c, &l.Level, levels)
	c.refusal(&l.Refusal)
	c.share(&l.Ready)
	c.flag(&l.Exists)
	c.num(&l.Documents, 4, math.MaxInt32)
	c.num(&l.Sentences, 4, math.MaxInt32)
	c.num(&l.Missing, 4, math.MaxInt32)
	c.num(&l.Capped, 4, math.MaxInt32)
	c.left(&l.LeftSentences)
	c.left(&l.LeftDisclosures)
	c.flag(&l.Standing)
}

func (c *coder) documentAnswer(d *concordat.DocumentAnswer) {
	c.bytes(d.Handle[:])
	c.num(&d.Library, 2, maxLibraries)
	c.num(&d.Matches, 4, math.MaxInt32)
	c.displayText(&d.Title, maxTitle)
	c.displayText(&d.Author, maxTitle)
	c.displayText(&d.Contact, maxTitle)
	c.time(&d.Date)
	enum(c, &d.Outline, outlines)
}

func (c *coder) hit(h *concordat.Hit) {
	c.num(&h.Sentence, 2, concordat.MaxAsked-1)
	c.num(&h.Document, 4, math.MaxInt32)
	c.num(&h.Ordinal, 4, math.MaxInt32)
	c.closeness(&h.Closeness)
	c.num(&h.Documents, 4, math.MaxInt32)
}

// closeness codes a step. It converts version 1 distances in bits to steps.
func (c *coder) closeness(v *concordat.Closeness) {
	if c.version > 1 {
		n := int(*v)
		c.num(&n, 1, int(concordat.CloseSame))
		*v = concordat.Closeness(n)
		return
	}
	distance := 0
	c.num(&distance, 1, concordat.Bits)
	switch {
	case distance == 0:
		*v = concordat.CloseSame
	case distance <= nearBits:
		*v = concordat.CloseNear
	default:
		*v = concordat.CloseFar
	}
}

// nearBits is the maximum distance of a near match in version 1.
const nearBits = 20

func (c *coder) epochAnswer(t *EpochAnswer) {
	c.payload(1)
	c.epoch(&t.Epoch)
	name(c, &t.Scheme, 1)
	c.siteAnswer(&t.Answer)
}

// AppendAnswer appends the payload of t.
func AppendAnswer(b []byte, t *EpochAnswer) ([]byte, error) {
	return write(b, "tell", func(c *coder) { c.epochAnswer(t) })
}

// ParseAnswer parses a payload, including earlier versions, because reports keep answers as they were signed. Indexes of documents and
// libraries are within bounds; indexes of sentences are below MaxAsked.
func ParseAnswer(b []byte) (*EpochAnswer, error) {
	var t EpochAnswer
	if err := read(b, "tell", func(c *coder) { c.epochAnswer(&t) }); err != nil {
		return nil, err
	}
	return &t, nil
}
