package crypto

import (
	"crypto/ed25519"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"
)

// MessageType is the type of an envelope's message. Package federation defines the payloads.
type MessageType uint8

// These are the message types.
const (
	TypeQuery          MessageType = 1
	TypeReply          MessageType = 2
	TypeError          MessageType = 3
	TypeCatalogue      MessageType = 4
	TypeBlindEvaluate  MessageType = 5
	TypeBlindEvaluated MessageType = 6
	TypeReveal         MessageType = 7
	TypeEvidence       MessageType = 8
	TypeCard           MessageType = 9
	TypeAuditHead      MessageType = 10
	TypeOutline        MessageType = 11
	TypeEdges          MessageType = 12
	TypeShip           MessageType = 13
	TypeNotice         MessageType = 14
	TypeFederation     MessageType = 15 // see FederationGrant
	TypeLeads          MessageType = 16
)

// MessageID is a random number that identifies one of its sender's messages.
type MessageID [16]byte

// Header is the unencrypted part of an envelope.
type Header struct {
	Suite        Suite
	Type         MessageType
	From, To     SiteID
	SealingEpoch uint32 // epoch of the recipient's sealing key; 0 means the request's one-time key
	SigningEpoch uint32
	ID           MessageID
	Issued       time.Time
	TTL          time.Duration
	ReplyTo      [32]byte // SHA-256 of the request's envelope; zeros in requests
}

// These are the sizes in envelopes.
const (
	MaxEnvelope   = 4 << 20
	headerSize    = 140
	sealSeedSize  = 32
	sealKeySize   = 1216 // X-Wing public key
	sealEncSize   = 1120 // X-Wing encapsulated key
	tagSize       = 16
	envelopeLeast = headerSize + 2 + sealEncSize + 4 + padLeast + tagSize + ed25519.SignatureSize
	envelopeMagic = "CCD1"
)

// MaxPayload is the maximum payload of a message: the largest padded size that fits into an envelope, minus the request's own fields.
const MaxPayload = (MaxEnvelope-8192)/padStep*padStep - 4 - 2 - sealKeySize

// These algorithms form the only suite of version 1.
var (
	kem  = hpke.MLKEM768X25519()
	kdf  = hpke.HKDFSHA256()
	aead = hpke.ChaCha20Poly1305()
)

// encrypt is single-message HPKE in base mode (RFC 9180, section 6.1).
func encrypt(to hpke.PublicKey, info, associated, plain []byte) (enc, ct []byte, err error) {
	enc, s, err := hpke.NewSender(to, kdf, aead, info)
	if err != nil {
		return nil, nil, err
	}
	ct, err = s.Seal(associated, plain)
	return enc, ct, err
}

// decrypt is the inverse of encrypt. It returns ErrOpen for any failure.
func decrypt(key hpke.PrivateKey, enc, info, associated, ct []byte) ([]byte, error) {
	r, err := hpke.NewRecipient(enc, key, kdf, aead, info)
	if err != nil {
		return nil, ErrOpen
	}
	plain, err := r.Open(associated, ct)
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

func (h *Header) append(b []byte) []byte {
	b = append(b, envelopeMagic...)
	b = append(b, 1, byte(h.Suite), byte(h.Type), 0)
	b = append(append(b, h.From[:]...), h.To[:]...)
	b = binary.BigEndian.AppendUint32(b, h.SealingEpoch)
	b = binary.BigEndian.AppendUint32(b, h.SigningEpoch)
	b = append(b, h.ID[:]...)
	b = appendTime(b, h.Issued)
	b = binary.BigEndian.AppendUint32(b, uint32(h.TTL.Milliseconds()))
	return append(b, h.ReplyTo[:]...)
}

// ParseHeader reads an envelope's header without verifying it; the header determines whose card to look up. It fails with ErrEnvelope for
// anything but a version 1 envelope.
func ParseHeader(env []byte) (Header, error) {
	var h Header
	if len(env) < envelopeLeast || len(env) > MaxEnvelope {
		return h, fmt.Errorf("%w: invalid size: %d bytes", ErrEnvelope, len(env))
	}
	d := &decoder{b: env[:headerSize]}
	magic, version := string(d.take(4)), d.u8()
	h.Suite, h.Type = Suite(d.u8()), MessageType(d.u8())
	flags := d.u8()
	h.From, h.To = d.array32(), d.array32()
	h.SealingEpoch, h.SigningEpoch = d.u32(), d.u32()
	h.ID = d.array16()
	h.Issued = d.time()
	h.TTL = time.Duration(d.u32()) * time.Millisecond
	h.ReplyTo = d.array32()
	switch {
	case magic != envelopeMagic || version != 1:
		return Header{}, fmt.Errorf("%w: not an envelope of version 1", ErrEnvelope)
	case flags != 0 || d.end("header") != nil:
		return Header{}, fmt.Errorf("%w: invalid header", ErrEnvelope)
	}
	return h, nil
}

// seal makes an envelope with the header, encrypted to key. It sets the header's suite, sender and signing epoch.
func (id *Identity) seal(h Header, key hpke.PublicKey, plain []byte, now time.Time) ([]byte, error) {
	signer, err := id.signer(now)
	if err != nil {
		return nil, err
	}
	h.Suite, h.From, h.SigningEpoch, h.Issued = SuiteXWing, id.Site(), signer.epoch, now
	if h.TTL <= 0 || h.TTL > MaxTTL || h.TTL%time.Millisecond != 0 {
		return nil, fmt.Errorf("seal: invalid time to live %v: %w", h.TTL, ErrFormat)
	}
	b := h.append(make([]byte, 0, envelopeLeast-padLeast+len(plain)))
	enc, ct, err := encrypt(key, append([]byte(labelSeal), b...), b, plain)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(enc))), enc...)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(ct))), ct...)
	if len(b)+ed25519.SignatureSize > MaxEnvelope {
		return nil, fmt.Errorf("seal: %w: payload of %d bytes is too large", ErrFormat, len(plain))
	}
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(signer.seed), signed(b))...), nil
}

// signed returns the bytes that the signature covers, given an envelope without a signature.
func signed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append([]byte(labelSign), sum[:]...)
}

// Request is the content of a request before sealing.
type Request struct {
	Type    MessageType
	TTL     time.Duration // above 0, at most MaxTTL
	Payload []byte        // at most MaxPayload bytes
}

// SealRequest seals a request to the card's site and returns the envelope and a Pending, which opens the reply.
func (id *Identity) SealRequest(r Request, to *Card, now time.Time, random io.Reader) ([]byte, *Pending, error) {
	if err := to.Valid(now); err != nil {
		return nil, nil, err
	}
	key, err := to.sealTo(SuiteXWing, now)
	if err != nil {
		return nil, nil, err
	}
	fresh, err := draw(random, len(MessageID{})+sealSeedSize)
	if err != nil {
		return nil, nil, err
	}
	p := &Pending{To: to.Site, ID: MessageID(fresh[:16]), seed: fresh[16:], Until: milli(now.Add(r.TTL)).Add(MaxTTL + Skew)}
	one, err := kem.NewPrivateKey(p.seed)
	if err != nil {
		return nil, nil, fmt.Errorf("reply key: %w", err)
	}
	reply := one.PublicKey().Bytes()
	plain := pad(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply, r.Payload)
	h := Header{Type: r.Type, To: to.Site, SealingEpoch: key.Epoch, ID: p.ID, TTL: r.TTL}
	env, err := id.seal(h, key.sealing, plain, now)
	if err != nil {
		return nil, nil, err
	}
	p.Digest = sha256.Sum256(env)
	return env, p, nil
}

// Policy describes which messages a site accepts from a partner; nothing is negotiated on the wire.
type Policy struct {
	Suites []Suite       // empty means SuiteXWing
	Types  []MessageType // accepted request types; empty means none
}

func (p Policy) suite(s Suite) bool {
	if s != SuiteXWing { // the only suite in this version
		return false
	}
	return len(p.Suites) == 0 || slices.Contains(p.Suites, s)
}

// Verified is an unopened envelope whose sender and time are verified. The caller must check it against its replay cache before opening
// it.
type Verified struct {
	Header
	Digest [32]byte // SHA-256 of the envelope
	// Until is how long the cache must remember From, ID and Digest; after that, the envelope is refused because of its age.
	Until   time.Time
	id      *Identity
	env     []byte
	enc, ct []byte
}

// VerifyRequest checks everything but the encryption of an envelope, in this order: length and magic, recipient, sender, suite and type
// by the policy, layout, signature, time. It fails with ErrEnvelope up to the signature and with ErrStale after it. from must be the card
// of the partner that ParseHeader identifies, or nil if there is none; a card not in force counts as none.
//
// Afterwards, the caller looks up (From, ID) in its cache. If the Digest is equal, it sends the stored reply again and does nothing else;
// if the Digest differs, it refuses the envelope. Otherwise it calls Open, and adds the message to the cache only if that succeeds.
func (id *Identity) VerifyRequest(env []byte, from *Card, p Policy, now time.Time) (*Verified, error) {
	v, err := id.verify(env, from, p, now, func(h Header) bool { return slices.Contains(p.Types, h.Type) && h.ReplyTo == [32]byte{} })
	if err != nil {
		return nil, err
	}
	if err := v.timely(now); err != nil {
		return nil, err
	}
	return v, nil
}

func (id *Identity) verify(env []byte, from *Card, p Policy, now time.Time, allowed func(Header) bool) (*Verified, error) {
	h, err := ParseHeader(env)
	if err != nil {
		return nil, err
	}
	if h.To != id.Site() {
		return nil, fmt.Errorf("%w: the envelope is addressed to a different site", ErrEnvelope)
	}
	if from == nil || from.Site != h.From {
		return nil, fmt.Errorf("%w: unknown sender", ErrEnvelope)
	}
	if err := from.Valid(now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	if !p.suite(h.Suite) || !allowed(h) {
		return nil, fmt.Errorf("%w: unexpected suite %d or type %d", ErrEnvelope, h.Suite, h.Type)
	}
	v := &Verified{Header: h, id: id, env: env, Until: h.Issued.Add(h.TTL + Skew)}
	d := &decoder{b: env[headerSize : len(env)-ed25519.SignatureSize]}
	v.enc = d.take(int(d.u16()))
	v.ct = d.take(int(d.u32()))
	if d.end("envelope") != nil || len(v.enc) != sealEncSize {
		return nil, fmt.Errorf("%w: invalid layout", ErrEnvelope)
	}
	body, sig := env[:len(env)-ed25519.SignatureSize], env[len(env)-ed25519.SignatureSize:]
	// The key must have been in force at the time stated by the sender; below, that time is compared with our clock.
	key, ok := from.verifier(h.SigningEpoch, h.Issued)
	if !ok || !ed25519.Verify(key, signed(body), sig) {
		return nil, fmt.Errorf("%w: %w", ErrEnvelope, ErrSignature)
	}
	v.Digest = sha256.Sum256(env)
	return v, nil
}

func (v *Verified) timely(now time.Time) error {
	switch {
	case v.TTL <= 0 || v.TTL > MaxTTL:
		return fmt.Errorf("%w: invalid lifetime %v", ErrStale, v.TTL)
	case v.Issued.After(now.Add(Skew)):
		return fmt.Errorf("%w: the message was issued %v in the future", ErrStale, v.Issued.Sub(now).Round(time.Second))
	case now.After(v.Until):
		return fmt.Errorf("%w: the message was issued %v ago", ErrStale, now.Sub(v.Issued).Round(time.Second))
	}
	return nil
}

// open decrypts the message with the key.
func (v *Verified) open(key hpke.PrivateKey) ([]byte, error) {
	header := v.env[:headerSize]
	plain, err := decrypt(key, v.enc, append([]byte(labelSeal), header...), header, v.ct)
	if err != nil {
		return nil, err
	}
	b, err := unpad(plain)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOpen, err)
	}
	return b, nil
}

// Opened is a decrypted request.
type Opened struct {
	Header
	Digest   [32]byte
	Payload  []byte
	replyKey hpke.PublicKey
}

// Open decrypts the request. It fails with ErrOpen. In that case, do not remember the message; otherwise an honest sender's retry with
// the same bytes would be taken for a replay.
func (v *Verified) Open() (*Opened, error) {
	key, err := v.id.opener(v.SealingEpoch)
	if err != nil {
		return nil, err
	}
	plain, err := v.open(key)
	if err != nil {
		return nil, err
	}
	d := &decoder{b: plain}
	reply, err := kem.NewPublicKey(d.take(int(d.u16())))
	if err != nil || d.bad {
		return nil, fmt.Errorf("%w: invalid reply key: %w", ErrOpen, ErrFormat)
	}
	return &Opened{Header: v.Header, Digest: v.Digest, Payload: d.b, replyKey: reply}, nil
}
