package federation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// Epochs knows the epochs of the federations to which the site belongs. Its methods are safe for concurrent use.
type Epochs interface {
	// Scheme returns the scheme of the epoch's fingerprints, or false if the site does not currently serve it.
	Scheme(e concordat.Epoch) (concordat.Scheme, bool)
	// Grant returns the bytes of the crypto.FederationGrant for a member of a federation led by the site, or a *concordat.Refusal.
	Grant(ctx context.Context, to concordat.SiteID, f concordat.FederationID) ([]byte, error)
}

// answers converts payloads of requests to payloads of replies.
type answers struct {
	answerer concordat.Answerer
	epochs   Epochs
	order    [32]byte
	card     func() []byte    // the site's own card, signed
	head     func() wire.Head // head of the site's audit log
	others   func(to concordat.SiteID) []*crypto.Head
}

// answer returns the payload that answers a request of type t. Every failure is a *concordat.Refusal that does not reveal its cause,
// which is the third result, for the log.
func (s *answers) answer(ctx context.Context, from concordat.SiteID, t crypto.MessageType,
	payload []byte) ([]byte, *concordat.Refusal, error) {
	body, err := s.dispatch(ctx, from, t, payload)
	if err == nil {
		return body, nil, nil
	}
	var refusal *concordat.Refusal
	if errors.As(err, &refusal) {
		return nil, refusal, nil
	}
	if errors.Is(err, wire.ErrFormat) {
		return nil, malformed(err), err
	}
	if errors.Is(err, concordat.ErrScheme) {
		return nil, &concordat.Refusal{Reason: concordat.ReasonScheme}, err
	}
	return nil, &concordat.Refusal{Reason: concordat.ReasonFault}, err
}

// malformed returns the refusal for an unreadable request.
func malformed(err error) *concordat.Refusal {
	if errors.Is(err, wire.ErrVersion) {
		return &concordat.Refusal{Reason: concordat.ReasonFault,
			Words: fmt.Sprintf("this site uses version %d of the protocol; both sites must run Concordat versions with the same protocol version", wire.Version)}
	}
	return &concordat.Refusal{Reason: concordat.ReasonFault, Words: "the request does not have the expected format"}
}

func (s *answers) dispatch(ctx context.Context, from concordat.SiteID, t crypto.MessageType, payload []byte) ([]byte, error) {
	switch t {
	case crypto.TypeQuery:
		return s.ask(ctx, from, payload)
	case crypto.TypeCatalogue:
		if err := wire.ParseCatalogueAsk(payload); err != nil {
			return nil, err
		}
		v, err := s.answerer.OpenTo(ctx, from)
		if err != nil {
			return nil, err
		}
		for _, h := range s.others(from) {
			v.Heads = append(v.Heads, h.Bytes())
		}
		return wire.AppendCatalogue(nil, v)
	case crypto.TypeOutline:
		return answerEpoch(ctx, s, from, payload, wire.ParseOutlineAsk, s.answerer.AnswerOutline, wire.AppendOutlines,
			func(a *concordat.OutlineAsk) concordat.Epoch { return a.Epoch })
	case crypto.TypeEdges:
		return answerEpoch(ctx, s, from, payload, wire.ParseEdgesAsk, s.answerer.AnswerEdges, wire.AppendEdges,
			func(a *concordat.EdgesAsk) concordat.Epoch { return a.Epoch })
	case crypto.TypeReveal:
		return answerEpoch(ctx, s, from, payload, wire.ParseRevealAsk, s.answerer.AnswerReveal, wire.AppendRevealed,
			func(a *concordat.RevealAsk) concordat.Epoch { return a.Epoch })
	case crypto.TypeLeads:
		return answerEpoch(ctx, s, from, payload, wire.ParseLeadAsk, s.answerer.AnswerLeads, wire.AppendLeadAnswer,
			func(a *concordat.LeadAsk) concordat.Epoch { return a.Epoch })
	case crypto.TypeShip:
		return answerEpoch(ctx, s, from, payload, wire.ParseShipAsk, s.answerer.AnswerShip, wire.AppendShipment,
			func(a *concordat.ShipAsk) concordat.Epoch { return a.Epoch })
	case crypto.TypeNotice:
		return s.notice(ctx, from, payload)
	case crypto.TypeFederation:
		a, err := wire.ParseGrantAsk(payload)
		if err != nil {
			return nil, err
		}
		grant, err := s.epochs.Grant(ctx, from, a.Federation)
		if err != nil {
			return nil, err
		}
		return wire.AppendGrant(nil, grant)
	case crypto.TypeCard:
		if err := wire.ParseCardAsk(payload); err != nil {
			return nil, err
		}
		return wire.AppendCard(nil, s.card())
	case crypto.TypeAuditHead:
		if err := wire.ParseHeadAsk(payload); err != nil {
			return nil, err
		}
		h := s.head()
		return wire.AppendHead(nil, &h)
	}
	return nil, fmt.Errorf("unexpected message type %d: %w", t, wire.ErrFormat)
}

// answerEpoch handles one request about an epoch. It parses the request, checks the epoch, answers, and encodes the answer.
func answerEpoch[A, R any](ctx context.Context, s *answers, from concordat.SiteID, payload []byte, read func([]byte) (*A, error),
	answer func(context.Context, concordat.SiteID, *A) (*R, error), write func([]byte, *R) ([]byte, error),
	epoch func(*A) concordat.Epoch) ([]byte, error) {
	a, err := read(payload)
	if err != nil {
		return nil, err
	}
	if _, err := s.scheme(epoch(a)); err != nil {
		return nil, err
	}
	r, err := answer(ctx, from, a)
	if err != nil {
		return nil, err
	}
	return write(nil, r)
}

// scheme returns the scheme of the epoch, or a refusal.
func (s *answers) scheme(e concordat.Epoch) (concordat.Scheme, error) {
	scheme, ok := s.epochs.Scheme(e)
	if !ok {
		return "", &concordat.Refusal{Reason: concordat.ReasonEpoch, Words: "this site has no fingerprints for epoch " + e.String()}
	}
	return scheme, nil
}

func (s *answers) ask(ctx context.Context, from concordat.SiteID, payload []byte) ([]byte, error) {
	a, err := wire.ParseAsk(payload)
	if err != nil {
		return nil, err
	}
	scheme, err := s.scheme(a.Epoch)
	if err != nil {
		return nil, err
	}
	if scheme != a.Scheme {
		// An empty answer without an error would be taken for "nothing found".
		return nil, &concordat.Refusal{Reason: concordat.ReasonScheme, Words: "this site uses fingerprint scheme " + string(scheme)}
	}
	t, err := s.answerer.Answer(ctx, from, a)
	if err != nil {
		return nil, err
	}
	return appendFitting(&wire.EpochAnswer{Epoch: a.Epoch, Scheme: a.Scheme, Answer: *t})
}

// maxAnswer is the maximum payload, in bytes, that fits in one reply together with the transport's own data.
const maxAnswer = crypto.MaxPayload - 4096

// appendFitting returns the payload of t. If it is too long for one message, each sentence keeps its closest hits, and libraries whose
// sentences lost some are marked as capped. If even one hit per sentence is too much, it fails.
func appendFitting(t *wire.EpochAnswer) ([]byte, error) {
	b, err := wire.AppendAnswer(nil, t)
	most := 0
	for _, n := range hitsPerSentence(t.Answer.Hits) {
		most = max(most, n)
	}
	for limit := most / 2; err == nil && len(b) > maxAnswer && limit > 0; limit /= 2 {
		v := *t
		v.Answer = nearest(&t.Answer, limit)
		b, err = wire.AppendAnswer(nil, &v)
	}
	return b, err
}

func hitsPerSentence(hits []concordat.Hit) map[int]int {
	n := map[int]int{}
	for _, h := range hits {
		n[h.Sentence]++
	}
	return n
}

// nearest returns t with up to limit hits per sentence. The hits of a sentence are in order, closest first.
func nearest(t *concordat.SiteAnswer, limit int) concordat.SiteAnswer {
	v := *t
	v.Libraries, v.Hits = slices.Clone(t.Libraries), nil
	kept := map[int]int{}
	cut := map[int]bool{} // libraries
	for _, h := range t.Hits {
		if kept[h.Sentence]++; kept[h.Sentence] <= limit {
			v.Hits = append(v.Hits, h)
			continue
		}
		cut[t.Documents[h.Document].Library] = true
	}
	for library := range cut {
		v.Libraries[library].Capped = 1
	}
	return v
}

// notice restores in an alert's hits the numbers that the sentences had before they were shuffled. Hits of dummies have numbers of at
// least asked, the number of sentences; only the receiver can tell which they are.
func (s *answers) notice(ctx context.Context, from concordat.SiteID, payload []byte) ([]byte, error) {
	n, err := wire.ParseNotice(payload)
	if err != nil {
		return nil, err
	}
	if n.Answer != nil {
		order := wire.Order(orderKey(s.order, from, n.Job, n.Asked), n.Asked)
		if n.Asked == 0 {
			n.Answer.Hits = nil
		}
		if err := wire.Restore(n.Answer, order, len(order)); err != nil {
			return nil, err
		}
	}
	if err := s.answerer.Receive(ctx, from, n); err != nil {
		return nil, err
	}
	return wire.AppendReceived(nil)
}
