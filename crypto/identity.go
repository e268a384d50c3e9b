package crypto

import (
	"crypto/ed25519"
	"crypto/hpke"
	"fmt"
	"io"
	"slices"
	"time"
)

// Identity is a site with its private keys. It is immutable and safe for concurrent use; methods such as Ready, Rotate, Expire and
// MakeCard return a new one, which the caller stores in the keystore.
type Identity struct {
	rootPublic  ed25519.PublicKey
	root        []byte // seed; nil if kept elsewhere
	serial      uint64 // serial of the latest card
	secret      [32]byte
	issued      [3]uint32    // last epochs of signing, sealing and TLS keys, so that none is used twice
	signing     []signingKey // ascending by epoch, as are the next two
	sealing     []sealingKey
	tls         []tlsKey
	federations []Federation
}

const (
	ofSigning = iota
	ofSealing
	ofTLS
)

type term struct {
	epoch    uint32
	from, to time.Time
}

func (k term) covers(now time.Time) bool { return !now.Before(k.from) && now.Before(k.to) }

// near is like covers, for a time measured by another clock.
func (k term) near(now time.Time) bool {
	return !now.Before(k.from.Add(-Skew)) && now.Before(k.to.Add(Skew))
}

type signingKey struct {
	term
	public ed25519.PublicKey
	seed   []byte // nil once destroyed; the card keeps the public key to verify old statements
}

type sealingKey struct {
	term
	seed []byte
	key  hpke.PrivateKey
}

type tlsKey struct {
	term
	seed []byte
	cert []byte // DER
}

// KeepSigning is how long a signing key's public half remains on the card after its end, so that the newest card can verify old
// statements.
const KeepSigning = 10 * 365 * 24 * time.Hour

// New creates the identity of a new site, with keys in force from now.
func New(now time.Time, random io.Reader) (*Identity, error) {
	seed, err := draw(random, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	secret, err := draw(random, 32)
	if err != nil {
		return nil, err
	}
	id := &Identity{root: seed, rootPublic: public(seed)}
	copy(id.secret[:], secret)
	return id.Ready(now, now, random)
}

// Resume creates working keys for a site that has its exported root key but lost its keystore. last is its newest card, or nil if that is
// lost too. Key numbers continue from there, and the public halves of signing keys remain, so that earlier signatures can still be
// verified. The secrets of federations and of the site are lost, so the site must rejoin its federations, and partners will see its
// documents under new pseudonyms. It fails with ErrFormat if the card belongs to another site. Call MakeCard next.
func Resume(root []byte, last *Card, now time.Time, random io.Reader) (*Identity, error) {
	if len(root) != ed25519.SeedSize {
		return nil, fmt.Errorf("root key: %w: invalid size: %d bytes", ErrFormat, len(root))
	}
	secret, err := draw(random, 32)
	if err != nil {
		return nil, err
	}
	id := &Identity{root: slices.Clone(root), rootPublic: public(root), secret: [32]byte(secret)}
	if last != nil {
		if last.Site != id.Site() {
			return nil, fmt.Errorf("root key: %w: the key belongs to site %s, but the card belongs to site %s", ErrFormat, id.Site(),
				last.Site)
		}
		id.serial = last.Serial
		for _, k := range last.Signing {
			t := k.term()
			if t.to.After(now) {
				t.to = milli(now) // its private half is lost
			}
			if t.to.After(t.from) {
				id.signing = append(id.signing, signingKey{term: t, public: ed25519.PublicKey(k.Key)})
			}
			id.issued[ofSigning] = k.Epoch
		}
		for _, k := range last.Sealing {
			id.issued[ofSealing] = max(id.issued[ofSealing], k.Epoch)
		}
	}
	return id.Ready(now, now, random)
}

// Site returns the identity's name.
func (id *Identity) Site() SiteID { return siteOf(id.rootPublic) }

// HasRoot reports whether the identity has the root key, so that MakeCard does not need it as an argument.
func (id *Identity) HasRoot() bool { return id.root != nil }

// Root returns the seed of the root key, 32 bytes, or ErrNoKey. Anyone who has it can act as the site.
func (id *Identity) Root() ([]byte, error) {
	if id.root == nil {
		return nil, fmt.Errorf("root key: %w: the root key is not in the keystore", ErrNoKey)
	}
	return slices.Clone(id.root), nil
}

// WithRoot returns the identity with the root key of the seed, which must be this site's.
func (id *Identity) WithRoot(seed []byte) (*Identity, error) {
	if len(seed) != ed25519.SeedSize || !public(seed).Equal(id.rootPublic) {
		return nil, fmt.Errorf("root key: %w: the key belongs to a different site", ErrFormat)
	}
	c := id.clone()
	c.root = slices.Clone(seed)
	return c, nil
}

// WithoutRoot returns the identity without the root key. Keep the root key elsewhere, because without it, no card can be made, and the
// site loses its identity when its last card expires.
func (id *Identity) WithoutRoot() *Identity {
	c := id.clone()
	c.root = nil
	return c
}

func (id *Identity) clone() *Identity {
	c := *id
	c.signing, c.sealing, c.tls = slices.Clone(id.signing), slices.Clone(id.sealing), slices.Clone(id.tls)
	c.federations = slices.Clone(id.federations)
	return &c
}

// Ready returns the identity with keys for every moment from now to until, creating any that are missing. Each new key begins one overlap
// before the previous one ends.
func (id *Identity) Ready(now, until time.Time, random io.Reader) (*Identity, error) {
	return id.ready(now, until, until, random)
}

// ready is like Ready, with a separate end for sealing keys.
func (id *Identity) ready(now, until, sealed time.Time, random io.Reader) (*Identity, error) {
	c := id.clone()
	for {
		t, need := next(&c.issued[ofSigning], lastTerm(c.signing), now, until, SigningLife, SigningOverlap)
		if !need {
			break
		}
		seed, err := draw(random, ed25519.SeedSize)
		if err != nil {
			return nil, err
		}
		c.signing = append(c.signing, signingKey{term: t, public: public(seed), seed: seed})
	}
	for {
		t, need := next(&c.issued[ofSealing], lastTerm(c.sealing), now, sealed, SealingLife, SealingOverlap)
		if !need {
			break
		}
		k, err := newSealingKey(t, random)
		if err != nil {
			return nil, err
		}
		c.sealing = append(c.sealing, k)
	}
	for {
		t, need := next(&c.issued[ofTLS], lastTerm(c.tls), now, until, TLSLife, TLSOverlap)
		if !need {
			break
		}
		k, err := newTLSKey(t, c.Site(), random)
		if err != nil {
			return nil, err
		}
		c.tls = append(c.tls, k)
	}
	return c, nil
}

type termed interface{ at() term }

func (k term) at() term { return k }

// lastTerm returns the term of the last key, or the zero term if keys is empty.
func lastTerm[K termed](keys []K) term {
	if len(keys) == 0 {
		return term{}
	}
	return keys[len(keys)-1].at()
}

// next returns the term of the key after last, and whether it is needed to cover [now, until].
func next(issued *uint32, last term, now, until time.Time, life, overlap time.Duration) (term, bool) {
	now, until = milli(now), milli(until)
	if last.epoch != 0 && last.to.Add(-overlap).After(until) {
		return term{}, false
	}
	from := now
	if last.epoch != 0 && last.to.Add(-overlap).After(now) {
		from = last.to.Add(-overlap)
	}
	*issued++
	return term{epoch: *issued, from: from, to: from.Add(life)}, true
}

// maxRotating is the maximum number of unexpired signing keys, and of TLS keys, at which a rotation is allowed, because the card has room
// for maxKeys of each, and must list current and future ones.
const maxRotating = maxKeys - 8

// Rotate returns the identity with new signing and TLS keys that take over after Notice; the old ones end an overlap later. Sealing keys
// change automatically every week. The new keys take effect only once a card lists them, so call MakeCard next. It fails with ErrFormat
// if, because of recent rotations, a card has no room for all unexpired keys.
func (id *Identity) Rotate(now time.Time, random io.Reader) (*Identity, error) {
	c := id.clone()
	start := milli(now).Add(Notice)
	if n := max(lasting(c.signing, now), lasting(c.tls, now)); n > maxRotating {
		return nil, fmt.Errorf("rotate: %w: %d keys have not expired yet, so the card has no room for new keys; old keys expire %d "+
			"days after they are replaced", ErrFormat, n, SigningOverlap/(24*time.Hour))
	}
	c.signing = curtail(c.signing, start, SigningOverlap, func(k *signingKey, to time.Time) { k.to = to })
	c.tls = curtail(c.tls, start, TLSOverlap, func(k *tlsKey, to time.Time) { k.to = to })
	return c.Ready(start, start, random)
}

// lasting returns the number of keys that have not ended.
func lasting[K termed](keys []K, now time.Time) int {
	n := 0
	for _, k := range keys {
		if k.at().to.After(now) {
			n++
		}
	}
	return n
}

// curtail drops the keys that begin at start or later and ends the last remaining one an overlap after start, so that the next key begins
// at start.
func curtail[K termed](keys []K, start time.Time, overlap time.Duration, end func(*K, time.Time)) []K {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k K) bool { return !k.at().from.Before(start) })
	if n := len(keys); n > 0 && keys[n-1].at().to.After(start.Add(overlap)) {
		end(&keys[n-1], start.Add(overlap))
	}
	return keys
}

// Replace returns the identity with new working keys, in force from now, in place of all old ones, for a site whose keystore was exposed.
// Messages in transit are lost, and the card no longer verifies earlier statements. The root key remains; if it was exposed too, create a
// new site. The secrets of federations remain too, since all members share them. Until each federation's leader begins a new epoch,
// anyone who saw the keystore can test guesses against fingerprints.
func (id *Identity) Replace(now time.Time, random io.Reader) (*Identity, error) {
	secret, err := draw(random, 32)
	if err != nil {
		return nil, err
	}
	c := id.clone()
	copy(c.secret[:], secret)
	c.signing, c.sealing, c.tls = nil, nil, nil
	return c.Ready(now, now, random)
}

// Expire returns the identity without expired private keys. Signing and TLS keys expire at their end, sealing keys SealingGrace after it.
// changed reports whether any were removed; if so, write the keystore.
func (id *Identity) Expire(now time.Time) (c *Identity, changed bool) {
	c = id.clone()
	before := len(c.sealing) + len(c.tls) + len(c.signing)
	c.sealing = slices.DeleteFunc(c.sealing, func(k sealingKey) bool { return now.After(k.to.Add(SealingGrace)) })
	c.tls = slices.DeleteFunc(c.tls, func(k tlsKey) bool { return now.After(k.to.Add(Skew)) })
	c.signing = slices.DeleteFunc(c.signing, func(k signingKey) bool { return now.After(k.to.Add(KeepSigning)) })
	changed = before != len(c.sealing)+len(c.tls)+len(c.signing)
	for i := range c.signing {
		if k := &c.signing[i]; k.seed != nil && now.After(k.to.Add(Skew)) {
			k.seed, changed = nil, true
		}
	}
	for i := range c.federations {
		if fed, gone := c.federations[i].expire(now); gone {
			c.federations[i], changed = fed, true
		}
	}
	return c, changed
}

// KeyTerm describes a working key without the key itself.
type KeyTerm struct {
	Kind     string    `json:"kind"` // signing, sealing or tls
	Epoch    uint32    `json:"epoch"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Held     bool      `json:"held"`               // whether the private half is in the identity
	InForce  bool      `json:"in_force"`           // whether the key is in force now
	PinnedAs string    `json:"pinned_as,omitzero"` // hash of a TLS key, in hexadecimal
}

// Keys describes all working keys.
func (id *Identity) Keys(now time.Time) []KeyTerm {
	var ks []KeyTerm
	for _, k := range id.signing {
		ks = append(ks, KeyTerm{Kind: "signing", Epoch: k.epoch, From: k.from, To: k.to, Held: k.seed != nil, InForce: k.covers(now)})
	}
	for _, k := range id.sealing {
		ks = append(ks, KeyTerm{Kind: "sealing", Epoch: k.epoch, From: k.from, To: k.to, Held: true, InForce: k.covers(now)})
	}
	for _, k := range id.tls {
		p := tlsPin(public(k.seed))
		ks = append(ks, KeyTerm{Kind: "tls", Epoch: k.epoch, From: k.from, To: k.to, Held: true, InForce: k.covers(now),
			PinnedAs: fmt.Sprintf("%x", p)})
	}
	return ks
}

// signer returns the newest signing key in force.
func (id *Identity) signer(now time.Time) (*signingKey, error) {
	for i := len(id.signing) - 1; i >= 0; i-- {
		if k := &id.signing[i]; k.covers(now) && k.seed != nil {
			return k, nil
		}
	}
	return nil, fmt.Errorf("signing key: %w", ErrNoKey)
}

// opener returns the sealing key of the epoch, which is available until Expire removes it.
func (id *Identity) opener(epoch uint32) (hpke.PrivateKey, error) {
	for _, k := range id.sealing {
		if k.epoch == epoch {
			return k.key, nil
		}
	}
	return nil, fmt.Errorf("%w: this site has no sealing key %d", ErrOpen, epoch)
}

func newSealingKey(t term, random io.Reader) (sealingKey, error) {
	seed, err := draw(random, sealSeedSize)
	if err != nil {
		return sealingKey{}, err
	}
	return sealingKeyOf(t, seed)
}

func sealingKeyOf(t term, seed []byte) (sealingKey, error) {
	k, err := kem.NewPrivateKey(seed)
	if err != nil {
		return sealingKey{}, fmt.Errorf("sealing key %d: %w", t.epoch, err)
	}
	return sealingKey{term: t, seed: seed, key: k}, nil
}

func public(seed []byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
}

// draw returns n random bytes.
func draw(random io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("random source: %w", err)
	}
	return b, nil
}
