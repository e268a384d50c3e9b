package federation

import (
	"crypto/rand"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// answered is a request's payload and the payload that answers it.
type answered struct{ request, reply []byte }

// content returns the content of a reply to the asker, including the signed answer. The signature of a refusal covers the request's
// envelope, since the payload can be unknown; a is then ignored.
func (s *Server) content(t crypto.MessageType, asker crypto.SiteID, envelope [32]byte, a answered,
	refusal *concordat.Refusal) ([]byte, error) {
	var signed crypto.Answer
	if refusal != nil {
		var err error
		if a.reply, err = wire.AppendRefusal(nil, refusal); err != nil {
			return nil, err
		}
		signed = crypto.Answer{Kind: kindError, Request: envelope}
	} else {
		signed = answerTo(t, a.request)
	}
	id, card := s.roster.Self()
	signed.Asker, signed.Payload, signed.At = asker, a.reply, s.o.Now().UTC().Truncate(time.Millisecond)
	epoch, signature, err := id.SignAnswer(&signed)
	if err != nil {
		return nil, err
	}
	reply := wire.Reply{Card: card.Serial, Head: s.o.Journal.Head(), At: signed.At, KeyEpoch: epoch, Payload: a.reply}
	copy(reply.Signature[:], signature)
	return wire.AppendReply(nil, &reply)
}

// answerTo returns an Answer with the data about its request: kind, digest, job and commitment. The last two are zero if the request
// lacks them or is malformed.
func answerTo(t crypto.MessageType, request []byte) crypto.Answer {
	a := crypto.Answer{Kind: kinds[t], Request: crypto.DigestOf(request)}
	switch t {
	case crypto.TypeQuery:
		if x, err := wire.ParseAsk(request); err == nil {
			a.Job, a.Commitment = x.Job, x.Commitment
		}
	case crypto.TypeOutline:
		if x, err := wire.ParseOutlineAsk(request); err == nil {
			a.Job = x.Job
		}
	case crypto.TypeEdges:
		if x, err := wire.ParseEdgesAsk(request); err == nil {
			a.Job = x.Job
		}
	case crypto.TypeReveal:
		if x, err := wire.ParseRevealAsk(request); err == nil {
			a.Job = x.Job
		}
	case crypto.TypeLeads:
		if x, err := wire.ParseLeadAsk(request); err == nil {
			a.Job, a.Commitment = x.Job, x.Commitment
		}
	}
	return a
}

// seal returns the envelope that answers an opened request.
func (s *Server) seal(o *crypto.Opened, a answered, refusal *concordat.Refusal) ([]byte, error) {
	content, err := s.content(o.Type, o.From, o.Digest, a, refusal)
	if err == nil && len(content) > crypto.MaxPayload {
		s.o.Log.Error("the answer is too long", "bytes", len(content))
		refusal = &concordat.Refusal{Reason: concordat.ReasonFault, Words: "the answer is too long for one message; request less at a time"}
		content, err = s.content(o.Type, o.From, o.Digest, a, refusal)
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

// refuse answers a message that was verified but not opened, and so does not run this time.
func (s *Server) refuse(v *crypto.Verified, m Member, refusal *concordat.Refusal) ([]byte, error) {
	reply, err := s.refusal(v, m, refusal)
	if err == nil {
		s.journal(v, m, Exchange{At: s.o.Now(), Refused: refusal.Reason})
	}
	return reply, err
}

// refusal is like refuse, but leaves no audit entry.
func (s *Server) refusal(v *crypto.Verified, m Member, refusal *concordat.Refusal) ([]byte, error) {
	content, err := s.content(v.Type, v.From, v.Digest, answered{}, refusal)
	if err != nil {
		return nil, err
	}
	id, _ := s.roster.Self()
	return id.SealRefusal(v, m.Card, content, s.o.Now(), rand.Reader)
}

func (s *Server) journal(v *crypto.Verified, m Member, x Exchange) {
	x.Partner, x.Kind, x.Request = concordat.SiteID(m.Site.String()), kinds[v.Type], v.Digest
	s.o.Journal.Exchanged(x)
}
