package wire

import (
	"fmt"
	"math"
	"time"
)

// Bounds of whole messages, before they are sealed.
const (
	leastFrame = 4 << 10
	stepAbove  = 1 << 20
	frameStep  = 256 << 10
	// MaxRequest and MaxReply are the most bytes of a framed message.
	MaxRequest = 4<<20 - 4<<10
	MaxReply   = 16 << 20
	// ReplyKeyBytes is the length of the public key that a reply is sealed to: ML-KEM-768 and X25519.
	ReplyKeyBytes = 1216
	// SignatureBytes is the length of a signature: Ed25519.
	SignatureBytes = 64
)

// FrameSize returns the length of a framed message of n bytes: the next of 4, 8, 16 KiB and so on, above
// 1 MiB the next multiple of 256 KiB.
func FrameSize(n int) int {
	size := leastFrame
	for size < n && size < stepAbove {
		size *= 2
	}
	if n > size {
		size = (n + frameStep - 1) / frameStep * frameStep
	}
	return size
}

// Head is the newest entry of a site's audit: partners keep it, so that a rewritten audit contradicts
// what they hold. Zero: the site told none.
type Head struct {
	Seq       uint64
	Hash      [32]byte
	At        time.Time
	Signature [SignatureBytes]byte // by the site's signing key
}

func (c *coder) auditHead(h *Head) {
	c.uint(&h.Seq, 8)
	c.bytes(h.Hash[:])
	c.time(&h.At)
	c.bytes(h.Signature[:])
}

// Request is the content of a sealed request.
type Request struct {
	ReplyKey [ReplyKeyBytes]byte // the reply is sealed to it; it serves once
	Card     uint64              // serial of the sender's card
	Known    uint64              // serial of the recipient's card as the sender holds it
	Head     Head                // of the sender's audit
	Payload  []byte
}

func (c *coder) request(r *Request) {
	c.constant(Version, "frame version")
	c.bytes(r.ReplyKey[:])
	c.uint(&r.Card, 8)
	c.uint(&r.Known, 8)
	c.auditHead(&r.Head)
	c.blob(&r.Payload, 4, math.MaxInt32)
	c.padding()
}

// Reply is the content of a sealed reply. At, KeyEpoch and Signature are those of the statement that the
// answering site makes of Payload; the kind is the message's type.
type Reply struct {
	Card      uint64 // serial of the sender's card
	Head      Head   // of the sender's audit
	At        time.Time
	KeyEpoch  uint32
	Signature [SignatureBytes]byte
	Payload   []byte
}

func (c *coder) reply(r *Reply) {
	c.constant(Version, "frame version")
	c.uint(&r.Card, 8)
	c.auditHead(&r.Head)
	c.time(&r.At)
	epoch := uint64(r.KeyEpoch)
	c.uint(&epoch, 4)
	r.KeyEpoch = uint32(epoch)
	c.bytes(r.Signature[:])
	c.blob(&r.Payload, 4, math.MaxInt32)
	c.padding()
}

// padding fills the message to its size with zero bytes.
func (c *coder) padding() {
	if !c.reading {
		if c.err == nil {
			c.b = append(c.b, make([]byte, FrameSize(len(c.b))-len(c.b))...)
		}
		return
	}
	if c.err == nil && FrameSize(c.whole-len(c.b)) != c.whole {
		c.fail("%d bytes of content in %d", c.whole-len(c.b), c.whole)
	}
	for _, x := range c.b {
		if x != 0 {
			c.fail("padding is not zero")
			return
		}
	}
	c.b = nil
}

// FrameRequest returns r padded. It fails with concordat.ErrInvalid above MaxRequest.
func FrameRequest(r *Request) ([]byte, error) {
	return frame("request", MaxRequest, func(c *coder) { c.request(r) })
}

// ParseRequest reads a framed request and refuses padding that is not the least.
func ParseRequest(b []byte) (*Request, error) {
	var r Request
	if err := unframe(b, "request", MaxRequest, func(c *coder) { c.request(&r) }); err != nil {
		return nil, err
	}
	return &r, nil
}

// FrameReply returns r padded. It fails with concordat.ErrInvalid above MaxReply.
func FrameReply(r *Reply) ([]byte, error) {
	return frame("reply", MaxReply, func(c *coder) { c.reply(r) })
}

// ParseReply reads a framed reply and refuses padding that is not the least.
func ParseReply(b []byte) (*Reply, error) {
	var r Reply
	if err := unframe(b, "reply", MaxReply, func(c *coder) { c.reply(&r) }); err != nil {
		return nil, err
	}
	return &r, nil
}

func frame(what string, most int, layout func(c *coder)) ([]byte, error) {
	return write(nil, what, func(c *coder) {
		layout(c)
		if len(c.b) > most {
			c.fail("%d bytes, at most %d", len(c.b), most)
		}
	})
}

func unframe(b []byte, what string, most int, layout func(c *coder)) error {
	if len(b) > most {
		return fmt.Errorf("%s of %d bytes, at most %d: %w", what, len(b), most, ErrFormat)
	}
	return read(b, what, layout)
}
