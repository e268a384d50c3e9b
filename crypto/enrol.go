package crypto

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Enrolment begins when A receives an invitation from B. A fetches B's card over TLS and checks it (CheckInviter), sends the bytes from
// Enrol, and checks B's receipt with Accepted. B reads the request with ReadEnrolment, looks up the token's hash, calls Check, records A
// as pending, and returns the bytes from Receipt. Then both sites show Words, which their administrators compare by telephone.

const (
	enrolMagic   = "CCDE"
	receiptMagic = "CCDF"
	enrolFixed   = 16 + 16 + 32 // token, nonce, proof
	// MaxEnrolment is the maximum size of an enrolment request, in bytes.
	MaxEnrolment = 4 + 1 + 1 + 4 + 2 + sealEncSize + 4 + enrolFixed + MaxCard + tagSize
	receiptSize  = 4 + 1 + 1 + 32 + 32 + 4 + 8 + ed25519.SignatureSize
)

// CheckInviter returns an error unless the card belongs to the inviting site and is in force, and the invitation has not
// expired.
func (i *Invitation) CheckInviter(c *Card, now time.Time) error {
	if c.Site != i.Site {
		return fmt.Errorf("%w: the card belongs to site %s, but the invitation comes from site %s", ErrInvitation, c.Site, i.Site)
	}
	if now.After(i.Expiry) {
		return fmt.Errorf("%w: the invitation expired at %s", ErrInvitation, i.Expiry.Format(time.RFC3339))
	}
	return c.Valid(now)
}

// Redemption is the invited site's record of its enrolment request.
type Redemption struct {
	Digest [32]byte // SHA-256 of the request
	Nonce  [16]byte // for Words
}

// Enrol creates the request that redeems the invitation at inviter's site. own is the asker's card. The request is sealed to the inviter,
// so that a proxy in between learns neither the token nor the card.
func (i *Invitation) Enrol(own, inviter *Card, now time.Time, random io.Reader) ([]byte, *Redemption, error) {
	if err := i.CheckInviter(inviter, now); err != nil {
		return nil, nil, err
	}
	key, err := inviter.sealTo(SuiteXWing, now)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := draw(random, 16)
	if err != nil {
		return nil, nil, err
	}
	r := &Redemption{Nonce: [16]byte(nonce)}
	proof := redeemProof(i.Token, r.Nonce, own, inviter)
	plain := slices.Concat(i.Token[:], nonce, proof[:], own.raw)
	b := append([]byte(enrolMagic), 1, byte(SuiteXWing))
	b = binary.BigEndian.AppendUint32(b, key.Epoch)
	enc, ct, err := encrypt(key.sealing, enrolInfo(inviter.Site, b), nil, plain)
	if err != nil {
		return nil, nil, fmt.Errorf("enrol: %w", err)
	}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(enc))), enc...)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(ct))), ct...)
	r.Digest = sha256.Sum256(b)
	return b, r, nil
}

func enrolInfo(inviter SiteID, head []byte) []byte {
	return slices.Concat([]byte(labelEnrol), inviter[:], head)
}

// redeemProof returns proof that the sender of card own has the token, bound to both cards.
func redeemProof(token, nonce [16]byte, own, inviter *Card) [32]byte {
	h := hmac.New(sha256.New, token[:])
	h.Write([]byte(labelRedeem))
	h.Write(nonce[:])
	a, b := own.Digest(), inviter.Digest()
	h.Write(a[:])
	h.Write(b[:])
	return [32]byte(h.Sum(nil))
}

// Enrolment is a partnership request as read by the inviting site.
type Enrolment struct {
	Card   *Card // the asker's card, signed by its root key
	Digest [32]byte
	Nonce  [16]byte
	token  [16]byte
	proof  [32]byte
}

// ReadEnrolment opens a request. It fails with ErrFormat, ErrOpen, ErrSignature or ErrCard; tell the sender only that the request failed.
// Then TokenHash identifies the invitation, and Check decides whether it can be redeemed.
func (id *Identity) ReadEnrolment(b []byte, now time.Time) (*Enrolment, error) {
	if len(b) > MaxEnrolment {
		return nil, fmt.Errorf("enrolment: %w: request is too large: %d bytes", ErrFormat, len(b))
	}
	d := &decoder{b: b}
	magic, version, suite, epoch := string(d.take(4)), d.u8(), Suite(d.u8()), d.u32()
	enc := d.take(int(d.u16()))
	ct := d.take(int(d.u32()))
	if magic != enrolMagic || version != 1 || suite != SuiteXWing || d.end("enrolment") != nil {
		return nil, fmt.Errorf("enrolment: %w", ErrFormat)
	}
	key, err := id.opener(epoch)
	if err != nil {
		return nil, err
	}
	plain, err := decrypt(key, enc, enrolInfo(id.Site(), b[:10]), nil, ct)
	if err != nil {
		return nil, err
	}
	p := &decoder{b: plain}
	e := &Enrolment{Digest: sha256.Sum256(b), token: p.array16(), Nonce: p.array16(), proof: p.array32()}
	if p.bad {
		return nil, fmt.Errorf("enrolment: %w", ErrFormat)
	}
	if e.Card, err = ParseCard(p.b); err != nil {
		return nil, fmt.Errorf("enrolment: %w", err)
	}
	if len(e.Card.URLs) == 0 {
		return nil, errAddress
	}
	return e, e.Card.Valid(now)
}

// TokenHash identifies the invitation being redeemed.
func (e *Enrolment) TokenHash() [32]byte { return tokenHash(e.token) }

// Check fails with ErrInvitation if the invitation has expired, or if the request does not prove possession of the token for its own card
// and a card of the inviting site that the asker could have seen. The caller must ensure that the invitation is used only once.
func (e *Enrolment) Check(expiry, now time.Time, own ...*Card) error {
	if now.After(expiry) {
		return fmt.Errorf("%w: the invitation expired at %s", ErrInvitation, expiry.UTC().Format(time.RFC3339))
	}
	for _, c := range own {
		proof := redeemProof(e.token, e.Nonce, e.Card, c)
		if hmac.Equal(proof[:], e.proof[:]) {
			if c.Site == e.Card.Site {
				return fmt.Errorf("%w: the invitation was created by the same site", ErrInvitation)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: the proof does not match", ErrInvitation)
}

// Receipt returns the inviting site's signed answer, which says that it accepted the request with this digest and that the two
// administrators must confirm it.
func (id *Identity) Receipt(e *Enrolment, now time.Time) ([]byte, error) {
	k, err := id.signer(now)
	if err != nil {
		return nil, err
	}
	site := id.Site()
	b := append([]byte(receiptMagic), 1, 1) // version, and pending, the only status
	b = append(append(b, site[:]...), e.Digest[:]...)
	b = appendTime(binary.BigEndian.AppendUint32(b, k.epoch), now)
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), append([]byte(labelEnrolled), b...))...), nil
}

// Accepted returns an error unless inviter's site issued the receipt for the request.
func (r *Redemption) Accepted(receipt []byte, inviter *Card, now time.Time) error {
	if len(receipt) != receiptSize {
		return fmt.Errorf("receipt: %w: invalid size: %d bytes", ErrFormat, len(receipt))
	}
	body, sig := receipt[:receiptSize-ed25519.SignatureSize], receipt[receiptSize-ed25519.SignatureSize:]
	d := &decoder{b: body}
	magic, version, status := string(d.take(4)), d.u8(), d.u8()
	site, digest, epoch, at := SiteID(d.array32()), d.array32(), d.u32(), d.time()
	if magic != receiptMagic || version != 1 || status != 1 || d.end("receipt") != nil || site != inviter.Site || digest != r.Digest {
		return fmt.Errorf("receipt: %w: not a receipt for this request", ErrFormat)
	}
	key, ok := inviter.verifier(epoch, at)
	if !ok || !ed25519.Verify(key, append([]byte(labelEnrolled), body...), sig) {
		return fmt.Errorf("receipt: %w", ErrSignature)
	}
	if at.After(now.Add(MaxTTL+Skew)) || at.Before(now.Add(-MaxTTL-Skew)) {
		return fmt.Errorf("receipt: %w: issued at %s", ErrStale, at.Format(time.RFC3339))
	}
	return nil
}

//go:embed words.txt
var wordFile string

// WordList returns the 2,048 words in sorted order.
func WordList() []string { return strings.Fields(wordFile) }

// Words returns the six words of a pairing: the first 66 bits of SHA-256 over both sites, the invitation and the asker's nonce, eleven
// bits per word. The asker sends the nonce last, so a man in the middle must match 66 given bits and cannot search for a pair of messages
// that agree.
func Words(inviter, asker SiteID, invitation [32]byte, nonce [16]byte) [6]string {
	b := slices.Concat([]byte(labelWords), inviter[:], asker[:], invitation[:], nonce[:])
	sum := sha256.Sum256(b)
	n := new(big.Int).SetBytes(sum[:])
	list := WordList()
	var words [6]string
	for i := range words {
		w := new(big.Int).Rsh(n, uint(256-11*(i+1)))
		words[i] = list[new(big.Int).And(w, big.NewInt(2047)).Uint64()]
	}
	return words
}
