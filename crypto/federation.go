package crypto

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// These are the limits for a federation's epochs. NewEpoch and Join enforce all but EpochAge, which package partners enforces, because an
// administrator may agree to an earlier epoch.
const (
	// EpochOverlap is the maximum time for which two epochs of a federation are both served.
	EpochOverlap = 14 * 24 * time.Hour
	// EpochSpacing is the minimum time between the beginnings of two epochs.
	EpochSpacing = 24 * time.Hour
	// EpochAge is the age that an epoch must reach before the next one begins, unless an administrator of each site agrees otherwise,
	// because every epoch reveals another sketch of the same sentences.
	EpochAge = 30 * 24 * time.Hour
	// maxOpen is the maximum number of a federation's epochs served at once.
	maxOpen = 2
	// maxEpochs is the maximum number of a federation's epochs in a grant or a keystore.
	maxEpochs = 8
	// MaxMembers is the maximum number of members in a grant.
	MaxMembers = 1024
)

// ErrEpoch means that a federation's epoch is outside these limits. The error's text identifies the epoch, and the time from which it
// would be accepted.
var ErrEpoch = errors.New("epoch refused")

// Federation holds the secrets of a federation that the site belongs to.
type Federation struct {
	Name   string // 1 to 64 characters: a-z, 0-9 and hyphens
	Epochs []FederationEpoch
}

// FederationEpoch is one key period of a federation. All members share its secret, which protects fingerprints from outsiders, from
// thieves of backups and from matchers in the cloud, but not from members.
type FederationEpoch struct {
	Number uint32 // starts at 1
	From   time.Time
	To     time.Time // zero if no end is set
	secret [32]byte
}

func (f Federation) clone() Federation {
	f.Epochs = slices.Clone(f.Epochs)
	return f
}

// expire drops the secrets of epochs that have ended.
func (f Federation) expire(now time.Time) (Federation, bool) {
	c := f.clone()
	c.Epochs = slices.DeleteFunc(c.Epochs, func(e FederationEpoch) bool { return !e.To.IsZero() && now.After(e.To.Add(MaxTTL+Skew)) })
	return c, len(c.Epochs) != len(f.Epochs)
}

// Current returns the newest epoch that has begun.
func (f Federation) Current(now time.Time) (FederationEpoch, error) {
	var found *FederationEpoch
	for i := range f.Epochs {
		if e := &f.Epochs[i]; e.Serves(now) {
			found = e
		}
	}
	if found == nil {
		return FederationEpoch{}, fmt.Errorf("federation %s: %w", f.Name, ErrNoKey)
	}
	return *found, nil
}

// Epoch returns the epoch with the number if it is currently served, or ErrNoKey.
func (f Federation) Epoch(number uint32, now time.Time) (FederationEpoch, error) {
	for _, e := range f.Epochs {
		if e.Number == number && e.Serves(now) {
			return e, nil
		}
	}
	return FederationEpoch{}, fmt.Errorf("federation %s, epoch %d: %w", f.Name, number, ErrNoKey)
}

// Serves reports whether the site answers queries of the epoch at the given time.
func (e FederationEpoch) Serves(now time.Time) bool {
	return !now.Before(e.From) && (e.To.IsZero() || now.Before(e.To))
}

// FingerprintKey returns the key of the hash functions (profile.Options.Key) for a scheme, identified by its name with the public key.
// Each recipe has its own key.
func (e FederationEpoch) FingerprintKey(scheme string) []byte { return e.derive("fingerprint", scheme) }

// SketchKey returns the key for the word sketches and edge words (align.Text.Sketch and Order) that owner shows to asker. Every pair of
// sites has its own key, so sketches of different pairs cannot be compared directly; a member can still compute any of these keys from
// the epoch's secret.
func (e FederationEpoch) SketchKey(asker, owner SiteID) []byte {
	return e.derive("sketch", string(asker[:])+string(owner[:]))
}

// AuthorKey returns the key with which members compare authors' names.
func (e FederationEpoch) AuthorKey() []byte { return e.derive("author", "") }

// derive returns a key by HKDF with SHA-256 (RFC 5869), extracted under the label of federations and expanded with the purpose and the
// SHA-256 of object.
func (e FederationEpoch) derive(purpose, of string) []byte {
	sum := sha256.Sum256([]byte(of))
	return expand(e.secret, labelFederation, purpose+"\x00"+string(sum[:]))
}

func expand(secret [32]byte, salt, info string) []byte {
	b, err := hkdf.Key(sha256.New, secret[:], []byte(salt), info, 32)
	if err != nil {
		panic("crypto: HKDF of 32 bytes: " + err.Error()) // fails only for lengths out of range
	}
	return b
}

// HandleKey returns the key for the pseudonyms of this site's documents that the asker sees. It depends only on a secret of this site; a
// member, who has the federation's secret, could otherwise guess a document's identity and compute its pseudonym for another asker.
func (id *Identity) HandleKey(asker SiteID, federation string, epoch uint32) []byte {
	info := "handle\x00" + string(asker[:]) + string(binary.BigEndian.AppendUint32(nil, epoch)) + federation
	return expand(id.secret, labelSecret, info)
}

// LocalKey returns a key for a purpose within this site. The key remains the same as long as the site's secret does.
func (id *Identity) LocalKey(of string) [32]byte {
	return [32]byte(expand(id.secret, labelSecret, "local\x00"+of))
}

// Federations returns the federations whose secrets the identity contains.
func (id *Identity) Federations() []Federation {
	fs := make([]Federation, len(id.federations))
	for i, f := range id.federations {
		fs[i] = f.clone()
	}
	return fs
}

// Federation returns the federation with the name, or ErrNoKey.
func (id *Identity) Federation(name string) (Federation, error) {
	for _, f := range id.federations {
		if f.Name == name {
			return f.clone(), nil
		}
	}
	return Federation{}, fmt.Errorf("federation %q: %w", name, ErrNoKey)
}

// NewEpoch begins a federation's first or next epoch at the time from. The previous epoch is served for the duration overlap
// after from, at most EpochOverlap, and earlier epochs end at from, so at most two are served at once. A member that does not receive the
// new secret is excluded. It fails with ErrFormat, or with ErrEpoch if from is less than EpochSpacing after the last epoch began.
func (id *Identity) NewEpoch(name string, from time.Time, overlap time.Duration, random io.Reader) (*Identity, error) {
	return id.EpochAfter(0, name, from, overlap, random)
}

// EpochAfter is like NewEpoch, for a federation whose secrets may be lost; if the identity has none of them, the new epoch gets the
// number after last.
func (id *Identity) EpochAfter(last uint32, name string, from time.Time, overlap time.Duration, random io.Reader) (*Identity, error) {
	if !federationName(name) || overlap < 0 || overlap > EpochOverlap {
		return nil, fmt.Errorf("invalid federation name %q or overlap %v: %w", name, overlap, ErrFormat)
	}
	secret, err := draw(random, 32)
	if err != nil {
		return nil, err
	}
	f, err := id.Federation(name)
	if err != nil {
		f = Federation{Name: name}
	}
	e := FederationEpoch{Number: last + 1, From: milli(from), secret: [32]byte(secret)}
	if n := len(f.Epochs); n > 0 {
		e.Number = f.Epochs[n-1].Number + 1
		if err := spaced(f.Epochs[n-1], e); err != nil {
			return nil, fmt.Errorf("federation %s: %w", name, err)
		}
	}
	if e.Number == 0 {
		return nil, fmt.Errorf("federation %s: %w: no epoch numbers left", name, ErrEpoch)
	}
	f.close(e.From.Add(overlap))
	f.Epochs = append(f.Epochs, e)
	bound(f.Epochs, len(f.Epochs))
	f.Epochs = newest(f.Epochs)
	return id.with(f), nil
}

// bound ends each of the first n epochs when maxOpen later ones have begun.
func bound(es []FederationEpoch, n int) {
	for i := range min(n, len(es)-maxOpen) {
		Federation{Epochs: es[i : i+1]}.close(es[i+maxOpen].From)
	}
}

// Bounded returns the federation with at most two epochs served at once, since versions of the program without this rule could begin
// more.
func (f Federation) Bounded() Federation {
	c := f.clone()
	bound(c.Epochs, len(c.Epochs))
	return c
}

// spaced returns an ErrEpoch if next begins less than EpochSpacing after last.
func spaced(last, next FederationEpoch) error {
	if earliest := last.From.Add(EpochSpacing); next.From.Before(earliest) {
		return fmt.Errorf("%w: epoch %d began at %s; the next epoch must begin at least a day later, at %s", ErrEpoch, last.Number,
			last.From.Format(time.RFC3339), earliest.Format(time.RFC3339))
	}
	return nil
}

// newest returns the last maxEpochs of es.
func newest(es []FederationEpoch) []FederationEpoch { return es[max(len(es)-maxEpochs, 0):] }

// crowded returns an ErrEpoch if more than maxOpen of the epochs, which must be in ascending order, are served at once.
func crowded(es []FederationEpoch) error {
	for i, e := range es {
		open := 0
		for _, before := range es[:i+1] {
			if before.Serves(e.From) {
				open++
			}
		}
		if open > maxOpen {
			return fmt.Errorf("%w: %d epochs would be active when epoch %d begins, but at most %d are allowed", ErrEpoch, open, e.Number,
				maxOpen)
		}
	}
	return nil
}

// close ends all epochs at or before the given time.
func (f Federation) close(at time.Time) {
	for i := range f.Epochs {
		if e := &f.Epochs[i]; e.To.IsZero() || e.To.After(at) {
			e.To = at
		}
	}
}

func (id *Identity) with(f Federation) *Identity {
	c := id.clone()
	if i := slices.IndexFunc(c.federations, func(o Federation) bool { return o.Name == f.Name }); i >= 0 {
		c.federations[i] = f
	} else {
		c.federations = append(c.federations, f)
	}
	return c
}

// Leave returns the identity without the federation's secrets.
func (id *Identity) Leave(name string) *Identity {
	c := id.clone()
	c.federations = slices.DeleteFunc(c.federations, func(f Federation) bool { return f.Name == name })
	return c
}

func federationName(s string) bool {
	for _, r := range []byte(s) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// FederationGrant contains the keys that a federation's leading site sends, sealed, to each member in a message of type TypeFederation:
// the epochs with their secrets, and the list of members.
type FederationGrant struct {
	Federation Federation
	Leader     SiteID
	Members    []SiteID // including the leader and the receiver
}

const grantMagic = "CCDG"

// Bytes returns the payload of the grant. It contains the secrets, so seal it, and do not store it.
func (g *FederationGrant) Bytes() ([]byte, error) {
	f := g.Federation
	if !federationName(f.Name) || len(f.Epochs) == 0 || len(f.Epochs) > maxEpochs || len(g.Members) > MaxMembers {
		return nil, fmt.Errorf("federation %q: %w", f.Name, ErrFormat)
	}
	b := append([]byte(grantMagic), 1)
	b = f.append(b)
	b = append(b, g.Leader[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(g.Members)))
	for _, m := range g.Members {
		b = append(b, m[:]...)
	}
	return b, nil
}

func (f Federation) append(b []byte) []byte {
	b = append(append(b, byte(len(f.Name))), f.Name...)
	b = append(b, byte(len(f.Epochs)))
	for _, e := range f.Epochs {
		b = binary.BigEndian.AppendUint32(b, e.Number)
		b = appendTime(b, e.From)
		if e.To.IsZero() {
			b = binary.BigEndian.AppendUint64(b, 0)
		} else {
			b = appendTime(b, e.To)
		}
		b = append(b, e.secret[:]...)
	}
	return b
}

// readFederation reads the output of append, with at most most epochs.
func readFederation(d *decoder, most int) Federation {
	f := Federation{Name: string(d.take(int(d.u8())))}
	for range d.count(most) {
		e := FederationEpoch{Number: d.u32(), From: d.time(), To: d.time(), secret: d.array32()}
		if e.To.UnixMilli() == 0 {
			e.To = time.Time{}
		}
		n := len(f.Epochs)
		if e.Number == 0 || !e.To.IsZero() && !e.To.After(e.From) || n > 0 && e.Number <= f.Epochs[n-1].Number {
			d.bad = true
		}
		f.Epochs = append(f.Epochs, e)
	}
	if !federationName(f.Name) || len(f.Epochs) == 0 {
		d.bad = true
	}
	return f
}

// ParseFederationGrant is the inverse of Bytes.
func ParseFederationGrant(b []byte) (*FederationGrant, error) {
	d := &decoder{b: b}
	magic, version := string(d.take(4)), d.u8()
	g := &FederationGrant{Federation: readFederation(d, maxEpochs), Leader: d.array32()}
	for n := d.u16(); n > 0 && !d.bad; n-- {
		g.Members = append(g.Members, d.array32())
	}
	if magic != grantMagic || version != 1 || len(g.Members) > MaxMembers {
		d.bad = true
	}
	return g, d.end("federation grant")
}

// Early returns the first epoch of the grant that is not in f and begins less than EpochAge after the previous one. If f is empty, it
// returns the zero epoch, since a site joining a federation accepts the grant unchanged.
func (f Federation) Early(g *FederationGrant) (FederationEpoch, bool) {
	n := len(f.Epochs)
	if n == 0 {
		return FederationEpoch{}, false
	}
	last := f.Epochs[n-1]
	for _, e := range g.Federation.Epochs {
		if e.Number <= last.Number {
			continue
		}
		if e.From.Before(last.From.Add(EpochAge)) {
			return e, true
		}
		last = e
	}
	return FederationEpoch{}, false
}

// Join returns the identity with the grant's epochs. It fails with ErrFormat if the grant changes an epoch's secret or postpones an end.
// It fails with ErrEpoch if the grant has too many new epochs, new epochs that are too close together, or too many epochs served at once.
// It does not restore epochs before the newest one in the identity; epochs missing from the grant end when the second epoch after them
// begins.
func (id *Identity) Join(g *FederationGrant) (*Identity, error) {
	held, err := id.Federation(g.Federation.Name)
	if err != nil {
		held = Federation{Name: g.Federation.Name}
	}
	before := len(held.Epochs)
	for _, e := range g.Federation.Epochs {
		i := slices.IndexFunc(held.Epochs, func(h FederationEpoch) bool { return h.Number == e.Number })
		if i < 0 {
			n := len(held.Epochs)
			switch {
			case before > 0 && e.Number < held.Epochs[before-1].Number:
				continue
			case n == 0:
			case e.Number <= held.Epochs[n-1].Number:
				return nil, fmt.Errorf("federation %s: %w: epochs out of order: epoch %d follows epoch %d", held.Name, ErrFormat, e.Number,
					held.Epochs[n-1].Number)
			default:
				if err := spaced(held.Epochs[n-1], e); err != nil {
					return nil, fmt.Errorf("federation %s: %w", held.Name, err)
				}
			}
			held.Epochs = append(held.Epochs, e)
			continue
		}
		h := &held.Epochs[i]
		later := !h.To.IsZero() && (e.To.IsZero() || e.To.After(h.To))
		if h.secret != e.secret || !h.From.Equal(e.From) || later {
			return nil, fmt.Errorf("federation %s: %w: epoch %d differs from the epoch stored at this site", held.Name, ErrFormat, e.Number)
		}
		h.To = e.To
	}
	if len(held.Epochs) == before {
		return id.with(held), nil
	}
	bound(held.Epochs, slices.IndexFunc(held.Epochs, func(h FederationEpoch) bool { return h.Number >= g.Federation.Epochs[0].Number }))
	if err := crowded(held.Epochs); err != nil {
		return nil, fmt.Errorf("federation %s: %w", held.Name, err)
	}
	held.Epochs = newest(held.Epochs)
	return id.with(held), nil
}
