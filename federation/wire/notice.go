package wire

import (
	"concordat"
)

var noticeKinds = []string{concordat.NoticeAlert, concordat.NoticeWithdrawn, concordat.NoticeDisclosure, concordat.NoticeEnded,
	concordat.NoticeCase}

func (c *coder) notice(n *concordat.Notice) {
	c.head()
	enum(c, &n.Kind, noticeKinds)
	c.bytes(n.Job[:])
	name(c, &n.Library, 0)
	c.num(&n.Asked, 4, concordat.MaxAsked)
	alert := n.Kind == concordat.NoticeAlert
	if !c.reading && alert != (n.Answer != nil) {
		c.fail("an alert must contain an answer, and no other notice may")
	}
	var t concordat.SiteAnswer
	if n.Answer != nil {
		t = *n.Answer
	}
	c.siteAnswer(&t)
	if !alert && (t.Libraries != nil || t.Documents != nil) {
		c.fail("a notice of kind %s must not list libraries", n.Kind)
	}
	if c.reading && alert {
		n.Answer = &t
	}
	c.displayText(&n.Words, maxWords)
	c.time(&n.At)
	if !c.reading && (n.Kind == concordat.NoticeCase) != (n.Case != nil) {
		c.fail("a notice about a case must contain the sender's position, and no other notice may")
	}
	if n.Kind != concordat.NoticeCase || c.err != nil {
		return
	}
	if c.reading {
		n.Case = &concordat.CaseNote{}
	}
	c.caseNote(n.Case)
}

func (c *coder) caseNote(n *concordat.CaseNote) {
	c.bytes(n.ID[:])
	enum(c, &n.State, concordat.CaseStates())
	enum(c, &n.Decision, concordat.CaseDecisions())
	c.displayText(&n.Contact, concordat.MaxCaseContact)
	c.bytes(n.Receipt[:])
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

// AppendReceived appends a payload that acknowledges a notice.
func AppendReceived(b []byte) ([]byte, error) {
	return write(b, "received", func(c *coder) { c.payload(Version) })
}

// ParseReceived reads a payload.
func ParseReceived(b []byte) error {
	return read(b, "received", func(c *coder) { c.payload(Version) })
}

// AppendRefusal appends the payload for an error; r must have a reason.
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
	c.constant(frameVersion, "unexpected error version")
	c.refusal(r)
	if *r == nil {
		c.fail("error reply is missing its reason")
	}
}

// MaxGrant is the maximum size in bytes of a grant of package crypto.
const MaxGrant = 64 << 10

// GrantAsk requests the secrets of a federation's epochs from the site that leads it.
type GrantAsk struct{ Federation concordat.FederationID }

func (c *coder) grantAsk(a *GrantAsk) {
	c.head()
	name(c, &a.Federation, 1)
}

// AppendGrantAsk appends the payload of a.
func AppendGrantAsk(b []byte, a *GrantAsk) ([]byte, error) {
	return write(b, "grant ask", func(c *coder) { v := *a; c.grantAsk(&v) })
}

// ParseGrantAsk reads a payload.
func ParseGrantAsk(b []byte) (*GrantAsk, error) {
	var a GrantAsk
	if err := read(b, "grant ask", func(c *coder) { c.grantAsk(&a) }); err != nil {
		return nil, err
	}
	return &a, nil
}

func (c *coder) grant(p *[]byte) {
	c.payload(Version)
	c.blob(p, 4, MaxGrant)
}

// AppendGrant appends a payload that contains a grant.
func AppendGrant(b, grant []byte) ([]byte, error) {
	return write(b, "grant", func(c *coder) { c.grant(&grant) })
}

// ParseGrant reads a payload; it does not examine the grant.
func ParseGrant(b []byte) ([]byte, error) {
	var p []byte
	if err := read(b, "grant", func(c *coder) { c.grant(&p) }); err != nil {
		return nil, err
	}
	return p, nil
}
