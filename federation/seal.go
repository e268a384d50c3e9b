package federation

import (
	"crypto/rand"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// answered is the payload of a request and the payload that answers it.
type answered struct{ request, reply []byte }

// content returns the content of a reply with its statement. A refusal is a statement about the request's
// envelope, since the payload may not be known; a is then not looked at.
func (s *Server) content(t crypto.MessageType, envelope [32]byte, a answered, refusal *concordat.Refusal) ([]byte, error) {
	kind, request := kinds[t], crypto.DigestOf(a.request)
	if refusal != nil {
		var err error
		if a.reply, err = wire.AppendRefusal(nil, refusal); err != nil {
			return nil, err
		}
		kind, request = kindError, envelope
	}
	id, card := s.roster.Self()
	at := s.o.Now().UTC().Truncate(time.Millisecond)
	epoch, signature, err := id.SignStatement(kind, at, request, a.reply)
	if err != nil {
		return nil, err
	}
	reply := wire.Reply{Card: card.Serial, Head: s.o.Journal.Head(), At: at, KeyEpoch: epoch, Payload: a.reply}
	copy(reply.Signature[:], signature)
	return wire.AppendReply(nil, &reply)
}

// seal returns the envelope that answers an opened request.
func (s *Server) seal(o *crypto.Opened, a answered, refusal *concordat.Refusal) ([]byte, error) {
	content, err := s.content(o.Type, o.Digest, a, refusal)
	if err == nil && len(content) > crypto.MaxPayload {
		s.o.Log.Error("answer is too long", "bytes", len(content))
		refusal = &concordat.Refusal{Reason: concordat.ReasonFault, Words: "the answer is too long for one message: ask less at once"}
		content, err = s.content(o.Type, o.Digest, a, refusal)
	}
	if err != nil {
		return nil, err
	}
	t := replyType(o.Type)
	if refusal != nil {
		t = crypto.TypeError
	}
	id, _ := s.roster.Self()
	return id.SealReply(o, t, content, s.o.Now(), rand.Reader)
}

// refuse answers a message that was verified and not opened. It did not run, now.
func (s *Server) refuse(v *crypto.Verified, m Member, refusal *concordat.Refusal) ([]byte, error) {
	content, err := s.content(v.Type, v.Digest, answered{}, refusal)
	if err != nil {
		return nil, err
	}
	s.journal(v, m, Exchange{At: s.o.Now(), Refused: refusal.Reason})
	id, _ := s.roster.Self()
	return id.SealRefusal(v, m.Card, content, s.o.Now(), rand.Reader)
}

func (s *Server) journal(v *crypto.Verified, m Member, x Exchange) {
	x.Partner, x.Kind, x.Request = concordat.SiteID(m.Site.String()), kinds[v.Type], v.Digest
	s.o.Journal.Exchanged(x)
}
