package crypto

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hpke"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Suite identifies the algorithms of an envelope.
type Suite uint8

// SuiteXWing is HPKE (X-Wing 0x647a, HKDF-SHA256, ChaCha20-Poly1305) with Ed25519. Reserved: 2 for
// MLKEM1024-P384 with AES-256-GCM, 3 for hybrid signatures.
const SuiteXWing Suite = 1

// Modes is a bit set of the modes in which a site answers.
type Modes uint8

// These are the modes.
const (
	ModeSealed Modes = 1 << iota
	ModeBlind
)

// Limits of a card.
const (
	MaxCard  = 64 << 10
	maxURLs  = 8
	maxKeys  = 48
	maxSuite = 8
)

// maxCardName is the maximum length of the name on a card, in bytes.
const maxCardName = 200

// CardName removes unprintable characters from a name and shortens it, between characters, to the length that a card allows.
func CardName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !printable(string(r)) {
			return -1
		}
		return r
	}, name)
	for len(name) > maxCardName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return strings.TrimSpace(name)
}

// CardFields are the fields with which a site describes itself on its card, without the keys.
type CardFields struct {
	Name    string   `json:"name"` // 1 to 200 bytes of printable UTF-8
	URLs    []string `json:"urls"` // at most 8 https addresses of at most 1,024 bytes; with none, no partner can reach the site
	Contact string   `json:"contact"`
	Modes   Modes    `json:"modes"`
}

// Card is a site's signed card, which describes the site to its partners. ParseCard checks its signature with the root key in it, so the
// card comes from Site; Valid checks whether it is in force. A card never changes.
type Card struct {
	CardFields
	Site      SiteID
	Root      ed25519.PublicKey
	Serial    uint64
	NotBefore time.Time
	NotAfter  time.Time
	Signing   []PublicKey
	Sealing   []PublicKey
	TLS       []Pin
	Proven    bool // the TLS keys signed the root key and the serial, which proves that the site has them
	Suites    []Suite
	raw       []byte
}

// PublicKey is a working key on a card.
type PublicKey struct {
	Epoch    uint32
	Suite    Suite // for sealing keys
	Key      []byte
	From, To time.Time
	sealing  hpke.PublicKey
}

func (k PublicKey) term() term { return term{k.Epoch, k.From, k.To} }

const (
	cardMagic = "CCDC"
	// A version 1 card lists the pins of TLS keys without proof. Earlier versions of the program issue such cards.
	oldCard     = 1
	cardVersion = 2
)

// MakeCard returns a new card, in force from now for CardLife, and the identity with the card's serial and with signing and TLS keys for
// that period. Store both, the identity first. root is the seed of the root key, or nil if the identity has it. MakeCard creates sealing
// keys for SealingAhead, since a new card is made every week; if root is supplied by hand each time, it creates them for all of CardLife.
// This limits how far ahead a thief of the keystore can read. If there are more signing keys than fit, the card lists the newest.
//
// The serial is the time in milliseconds or, if that is not larger, one more than the last serial, so cards of a site restored from an
// old backup still follow its earlier cards.
func (id *Identity) MakeCard(f CardFields, root []byte, now time.Time, random io.Reader) (*Identity, *Card, error) {
	if err := f.validate(); err != nil {
		return nil, nil, err
	}
	end := milli(now).Add(CardLife)
	sealed := milli(now).Add(SealingAhead)
	if id.root == nil {
		sealed = end
	}
	if root != nil {
		if _, err := id.WithRoot(root); err != nil {
			return nil, nil, err
		}
	} else if root = id.root; root == nil {
		return nil, nil, fmt.Errorf("card: %w: the root key is not in the keystore", ErrNoKey)
	}
	c, _ := id.Expire(now)
	c, err := c.ready(now, end, sealed, random)
	if err != nil {
		return nil, nil, err
	}
	c.serial = max(c.serial+1, uint64(max(now.UnixMilli(), 0)))
	b := c.appendCard(nil, f, now, end)
	sum := sha256.Sum256(b)
	b = append(b, ed25519.Sign(ed25519.NewKeyFromSeed(root), append([]byte(labelCard), sum[:]...))...)
	card, err := ParseCard(b)
	if err != nil {
		return nil, nil, fmt.Errorf("card: %w", err)
	}
	return c, card, nil
}

func (id *Identity) appendCard(b []byte, f CardFields, now, end time.Time) []byte {
	b = append(b, cardMagic...)
	b = append(b, cardVersion)
	b = append(b, id.rootPublic...)
	b = binary.BigEndian.AppendUint64(b, id.serial)
	b = appendTime(appendTime(b, now), end)
	b = append(append(b, byte(len(f.Name))), f.Name...)
	b = append(b, byte(len(f.URLs)))
	for _, u := range f.URLs {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(u))), u...)
	}
	signing := id.signing[max(len(id.signing)-maxKeys, 0):]
	b = append(b, byte(len(signing)))
	for _, k := range signing {
		b = binary.BigEndian.AppendUint32(b, k.epoch)
		b = append(b, k.public...)
		b = appendTime(appendTime(b, k.from), k.to)
	}
	b = append(b, byte(len(id.sealing)))
	for _, k := range id.sealing {
		pk := k.key.PublicKey().Bytes()
		b = append(binary.BigEndian.AppendUint32(b, k.epoch), byte(SuiteXWing))
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(pk))), pk...)
		b = appendTime(appendTime(b, k.from), k.to)
	}
	b = append(b, byte(len(id.tls)))
	for _, k := range id.tls {
		key := ed25519.NewKeyFromSeed(k.seed)
		b = append(b, key.Public().(ed25519.PublicKey)...)
		b = append(b, ed25519.Sign(key, possession(id.rootPublic, id.serial))...)
	}
	b = append(b, byte(f.Modes), 1, byte(SuiteXWing))
	return append(binary.BigEndian.AppendUint16(b, uint16(len(f.Contact))), f.Contact...)
}

// possession returns the bytes that a TLS key signs to prove that the card's site has it.
func possession(root ed25519.PublicKey, serial uint64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(labelPossession), root...), serial)
}

// validate returns all faults of f at once.
func (f CardFields) validate() error {
	var errs []error
	if f.Name == "" || len(f.Name) > maxCardName || !printable(f.Name) {
		errs = append(errs, fmt.Errorf("card: name %q: %w: must be 1 to %d bytes of printable text", f.Name, ErrFormat, maxCardName))
	}
	if len(f.Contact) > 1024 || !printable(f.Contact) {
		errs = append(errs, fmt.Errorf("card: contact: %w: must be printable text of at most 1024 bytes", ErrFormat))
	}
	if len(f.URLs) > maxURLs {
		errs = append(errs, fmt.Errorf("card: %w: %d addresses, but at most %d are allowed", ErrFormat, len(f.URLs), maxURLs))
	}
	for _, u := range f.URLs {
		errs = append(errs, checkURL(u))
	}
	if f.Modes == 0 || f.Modes&^(ModeSealed|ModeBlind) != 0 {
		errs = append(errs, fmt.Errorf("card: invalid modes %d: %w", f.Modes, ErrFormat))
	}
	return errors.Join(errs...)
}

// checkURL accepts only plain https addresses without a user, a query, or anything that a client could take for another scheme.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || len(s) > 1024 || !printable(s) || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return fmt.Errorf("address %q: %w: want https://HOST[:PORT][/PATH]", s, ErrFormat)
	}
	return nil
}

// ParseCard reads a card and checks its signatures. It fails with ErrFormat or ErrSignature. The card retains b, which must not change.
func ParseCard(b []byte) (*Card, error) {
	if len(b) > MaxCard || len(b) < ed25519.SignatureSize {
		return nil, fmt.Errorf("card: %w: invalid size: %d bytes", ErrFormat, len(b))
	}
	body, sig := b[:len(b)-ed25519.SignatureSize], b[len(b)-ed25519.SignatureSize:]
	d := &decoder{b: body}
	magic, version := string(d.take(4)), d.u8()
	if magic != cardMagic || version != oldCard && version != cardVersion {
		return nil, fmt.Errorf("card: %w: unsupported version %d; supported versions are %d and %d", ErrFormat, version, oldCard,
			cardVersion)
	}
	c := &Card{Proven: version == cardVersion, raw: b}
	proofs := c.read(d)
	if err := d.end("card"); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Site = siteOf(c.Root)
	sum := sha256.Sum256(body)
	if !ed25519.Verify(c.Root, append([]byte(labelCard), sum[:]...), sig) {
		return nil, fmt.Errorf("card: %w", ErrSignature)
	}
	for _, p := range proofs {
		if !ed25519.Verify(p.key, possession(c.Root, c.Serial), p.signature) {
			return nil, fmt.Errorf("card: TLS key: %w: no proof that the site holds the private key", ErrSignature)
		}
	}
	for i := range c.Sealing {
		k := &c.Sealing[i]
		if k.Suite != SuiteXWing {
			continue // a suite of a later version, which this version cannot use
		}
		var err error
		if k.sealing, err = kem.NewPublicKey(k.Key); err != nil {
			return nil, fmt.Errorf("card: sealing key %d: %w", k.Epoch, ErrFormat)
		}
	}
	return c, nil
}

// proof is the signature of a TLS key over its site and the card's serial.
type proof struct {
	key       ed25519.PublicKey
	signature []byte
}

// read reads the fields and returns the proofs of the TLS keys, not yet checked.
func (c *Card) read(d *decoder) (proofs []proof) {
	c.Root = ed25519.PublicKey(d.take(ed25519.PublicKeySize))
	c.Serial, c.NotBefore, c.NotAfter = d.u64(), d.time(), d.time()
	c.Name = d.text(int(d.u8()))
	for range d.count(maxURLs) {
		c.URLs = append(c.URLs, d.text(int(d.u16())))
	}
	for range d.count(maxKeys) {
		c.Signing = append(c.Signing, PublicKey{Epoch: d.u32(), Key: d.take(ed25519.PublicKeySize), From: d.time(), To: d.time()})
	}
	for range d.count(maxKeys) {
		k := PublicKey{Epoch: d.u32(), Suite: Suite(d.u8())}
		k.Key = d.take(int(d.u16()))
		k.From, k.To = d.time(), d.time()
		c.Sealing = append(c.Sealing, k)
	}
	for range d.count(maxKeys) {
		if !c.Proven {
			c.TLS = append(c.TLS, d.array32())
			continue
		}
		p := proof{d.take(ed25519.PublicKeySize), d.take(ed25519.SignatureSize)}
		if d.bad {
			break
		}
		c.TLS, proofs = append(c.TLS, tlsPin(p.key)), append(proofs, p)
	}
	c.Modes = Modes(d.u8())
	for range d.count(maxSuite) {
		c.Suites = append(c.Suites, Suite(d.u8()))
	}
	c.Contact = d.text(int(d.u16()))
	return proofs
}

// check refuses everything that MakeCard does not produce, except modes and suites of later versions.
func (c *Card) check() error {
	f := c.CardFields
	f.Modes = ModeSealed
	if err := f.validate(); err != nil {
		return err
	}
	if !c.NotAfter.After(c.NotBefore) || c.NotAfter.Sub(c.NotBefore) > CardLife {
		return fmt.Errorf("card: %w: validity period must be above zero and at most %v", ErrFormat, CardLife)
	}
	if len(c.Signing) == 0 || len(c.Sealing) == 0 || len(c.TLS) == 0 {
		return fmt.Errorf("card: %w: a key is missing", ErrFormat)
	}
	for _, ks := range [][]PublicKey{c.Signing, c.Sealing} {
		for i, k := range ks {
			if !k.To.After(k.From) || k.Epoch == 0 || i > 0 && k.Epoch <= ks[i-1].Epoch {
				return fmt.Errorf("card: %w: invalid number or validity period of key %d", ErrFormat, k.Epoch)
			}
		}
	}
	return nil
}

// Bytes returns the card in its signed form. The caller must not modify it.
func (c *Card) Bytes() []byte { return c.raw }

// Digest returns SHA-256 of Bytes.
func (c *Card) Digest() [32]byte { return sha256.Sum256(c.raw) }

// Valid returns ErrCard if the card is not in force at the given time.
func (c *Card) Valid(now time.Time) error {
	if now.Before(c.NotBefore.Add(-Skew)) {
		return fmt.Errorf("%w: the card is not valid before %s", ErrCard, c.NotBefore.Format(time.RFC3339))
	}
	if now.After(c.NotAfter.Add(Skew)) {
		return fmt.Errorf("%w: the card expired at %s", ErrCard, c.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// Accept reads a card allegedly made by site and returns the card to keep: the new one, or held if they are equal. It fails with
// ErrFormat or ErrSignature, or with ErrCard if the card belongs to another site, lists no address, is not in force, or has a serial that
// does not follow held's. Such a serial is a rollback and worth an alarm. held may be nil.
func Accept(site SiteID, held *Card, b []byte, now time.Time) (*Card, error) {
	if held != nil && bytes.Equal(held.raw, b) {
		return held, held.Valid(now)
	}
	c, err := ParseCard(slices.Clone(b))
	if err != nil {
		return nil, err
	}
	if c.Site != site {
		return nil, fmt.Errorf("%w: the card belongs to site %s", ErrCard, c.Site)
	}
	if len(c.URLs) == 0 {
		return nil, errAddress
	}
	if held != nil && c.Serial <= held.Serial {
		return nil, fmt.Errorf("%w: the card has serial %d, which does not follow serial %d of the stored card", ErrCard, c.Serial,
			held.Serial)
	}
	if err := c.Valid(now); err != nil {
		return nil, err
	}
	return c, nil
}

// errAddress means that the card belongs to a site that only signs and has no partners.
var errAddress = fmt.Errorf("%w: the card lists no address", ErrCard)

// PinnedTLS reports whether the card lists the certificate key with this pin.
func (c *Card) PinnedTLS(p Pin) bool { return slices.Contains(c.TLS, p) }

// Shows reports whether the card's site made a certificate for a TLS key on the card. The certificate's serial number depends on the
// site, so a site that lists another site's key on its card is never taken for that site. Proof of possession of the key is separate, as
// in TLS.
func (c *Card) Shows(cert *x509.Certificate) bool {
	key, ok := cert.PublicKey.(ed25519.PublicKey)
	return ok && c.PinnedTLS(tlsPin(key)) && cert.SerialNumber.Cmp(serialOf(labelSite, c.Site, key)) == 0
}

// sealTo returns the newest sealing key of the suite in force.
func (c *Card) sealTo(s Suite, now time.Time) (*PublicKey, error) {
	for i := len(c.Sealing) - 1; i >= 0; i-- {
		if k := &c.Sealing[i]; k.Suite == s && k.term().covers(now) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("sealing key of %s: %w", c.Site.Short(), ErrNoKey)
}

// verifier returns the signing key of the epoch if it was in force at the given time, allowing for the difference between clocks.
func (c *Card) verifier(epoch uint32, at time.Time) (ed25519.PublicKey, bool) {
	for _, k := range c.Signing {
		if k.Epoch == epoch && k.term().near(at) {
			return ed25519.PublicKey(k.Key), true
		}
	}
	return nil, false
}
