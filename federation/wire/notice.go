package wire

import (
	"math"

	"concordat"
)

var noticeKinds = []string{concordat.NoticeAlert, concordat.NoticeWithdrawn, concordat.NoticeDisclosure}

func (c *coder) notice(n *concordat.Notice) {
	c.head()
	enum(c, &n.Kind, noticeKinds)
	c.bytes(n.Job[:])
	name(c, &n.Library, 0)
	c.num(&n.Asked, 4, concordat.MostAsked)
	alert := n.Kind == concordat.NoticeAlert
	if !c.reading && alert != (n.Tell != nil) {
		c.fail("a tell goes with an alert and with nothing else")
	}
	var t concordat.Tell
	if n.Tell != nil {
		t = *n.Tell
	}
	c.tell(&t)
	if !alert && (t.Libraries != nil || t.Documents != nil) {
		c.fail("a notice of %s tells of libraries", n.Kind)
	}
	if c.reading && alert {
		n.Tell = &t
	}
	c.prose(&n.Words, maxWords)
	c.time(&n.At)
}

// AppendNotice appends the payload of n.
func AppendNotice(b []byte, n *concordat.Notice) ([]byte, error) {
	return write(b, "notice", func(c *coder) { v := *n; c.notice(&v) })
}

// ParseNotice reads a payload.
func ParseNotice(b []byte) (*concordat.Notice, error) {
	var n concordat.Notice
	if err := read(b, "notice", func(c *coder) { c.notice(&n) }); err != nil {
		return nil, err
	}
	return &n, nil
}

// AppendReceived appends the payload that acknowledges a notice.
func AppendReceived(b []byte) ([]byte, error) {
	return write(b, "received", func(c *coder) { c.constant(Version, "payload version") })
}

// ParseReceived reads a payload.
func ParseReceived(b []byte) error {
	return read(b, "received", func(c *coder) { c.constant(Version, "payload version") })
}

// AppendRefusal appends the payload of an error; r has a reason.
func AppendRefusal(b []byte, r *concordat.Refusal) ([]byte, error) {
	return write(b, "error", func(c *coder) { c.errorReply(&r) })
}

// ParseRefusal reads a payload.
func ParseRefusal(b []byte) (*concordat.Refusal, error) {
	var r *concordat.Refusal
	if err := read(b, "error", func(c *coder) { c.errorReply(&r) }); err != nil {
		return nil, err
	}
	return r, nil
}

func (c *coder) errorReply(r **concordat.Refusal) {
	c.constant(Version, "payload version")
	c.refusal(r)
	if *r == nil {
		c.fail("an error without a reason")
	}
}

// SecretAsk asks for the key secrets of a federation.
type SecretAsk struct{ Federation concordat.FederationID }

// Secret is one epoch's secret of a federation.
type Secret struct {
	Epoch  concordat.Epoch
	Secret [32]byte
}

func (c *coder) secretAsk(a *SecretAsk) {
	c.head()
	name(c, &a.Federation, 1)
}

// AppendSecretAsk appends the payload of a.
func AppendSecretAsk(b []byte, a *SecretAsk) ([]byte, error) {
	return write(b, "secret ask", func(c *coder) { v := *a; c.secretAsk(&v) })
}

// ParseSecretAsk reads a payload.
func ParseSecretAsk(b []byte) (*SecretAsk, error) {
	var a SecretAsk
	if err := read(b, "secret ask", func(c *coder) { c.secretAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) secrets(s *[]Secret) {
	c.constant(Version, "payload version")
	list(c, s, 1, 0, math.MaxUint8, 38, func(s *Secret) {
		c.epoch(&s.Epoch)
		c.bytes(s.Secret[:])
	})
}

// AppendSecrets appends the payload of s.
func AppendSecrets(b []byte, s []Secret) ([]byte, error) {
	return write(b, "secret", func(c *coder) { c.secrets(&s) })
}

// ParseSecrets reads a payload.
func ParseSecrets(b []byte) ([]Secret, error) {
	var s []Secret
	if err := read(b, "secret", func(c *coder) { c.secrets(&s) }); err != nil {
		return nil, err
	}
	return s, nil
}
