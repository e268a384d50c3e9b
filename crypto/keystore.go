package crypto

import (
	"bytes"
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// Secret is a secret that opens a keystore.
type Secret struct {
	kind byte
	key  []byte
}

const (
	kindPassphrase = 1
	kindKey        = 2
)

// Passphrase is a secret that a person remembers.
func Passphrase(p []byte) Secret { return Secret{kind: kindPassphrase, key: p} }

// RawKey is a secret of 32 random bytes, for example one that the system's credential store provides to a service.
func RawKey(k [32]byte) Secret { return Secret{kind: kindKey, key: k[:]} }

// Costs of Argon2id for new keystores, and limits for reading.
const (
	argonMemory = 64 << 10 // KiB
	argonPasses = 3
	argonLanes  = 1

	maxArgonMemory = 1 << 20 // KiB
	maxArgonPasses = 16
)

const (
	keystoreMagic  = "CCDK"
	keystoreHeader = 4 + 1 + 1 + 1 + 32 + 16 + 4 + 4 + 1 + chacha20poly1305.NonceSizeX
	// MaxKeystore is the maximum size of a keystore, in bytes.
	MaxKeystore = 1 << 20
)

// These are the kinds of keystore content.
const (
	holdsIdentity = 1
	holdsRoot     = 2
)

// Lock returns an encrypted keystore that contains the identity. It reads the bytes back and fails with ErrFormat unless they contain
// this identity, so that no unreadable keystore is written.
func (id *Identity) Lock(s Secret, random io.Reader) ([]byte, error) {
	plain := id.plain()
	held, err := parseIdentity(plain)
	if err != nil {
		return nil, fmt.Errorf("%w: the new keystore cannot be read back", err)
	}
	if !bytes.Equal(held.plain(), plain) {
		return nil, fmt.Errorf("keystore: %w: the keys read back differ from those written", ErrFormat)
	}
	return lock(holdsIdentity, id.Site(), plain, s, random)
}

// LockRoot returns a keystore that contains only the root key, for storage elsewhere.
func (id *Identity) LockRoot(s Secret, random io.Reader) ([]byte, error) {
	root, err := id.Root()
	if err != nil {
		return nil, err
	}
	return lock(holdsRoot, id.Site(), root, s, random)
}

func lock(what byte, site SiteID, plain []byte, s Secret, random io.Reader) ([]byte, error) {
	fresh, err := draw(random, 16+chacha20poly1305.NonceSizeX)
	if err != nil {
		return nil, err
	}
	b := append([]byte(keystoreMagic), 1, what, s.kind)
	b = append(append(b, site[:]...), fresh[:16]...)
	memory, passes, lanes := uint32(0), uint32(0), byte(0)
	if s.kind == kindPassphrase {
		memory, passes, lanes = argonMemory, argonPasses, argonLanes
	}
	b = binary.BigEndian.AppendUint32(b, memory)
	b = append(binary.BigEndian.AppendUint32(b, passes), lanes)
	b = append(b, fresh[16:]...)
	a, err := chacha20poly1305.NewX(s.wrapping(fresh[:16], memory, passes, lanes))
	if err != nil {
		return nil, err
	}
	nonce, associated := fresh[16:], append([]byte(labelKeystore), b...)
	b = a.Seal(b, nonce, plain, associated)
	if len(b) > MaxKeystore {
		return nil, fmt.Errorf("keystore: %w: %d bytes, but at most %d are allowed", ErrFormat, len(b), MaxKeystore)
	}
	if held, err := a.Open(nil, nonce, b[keystoreHeader:], associated); err != nil || !bytes.Equal(held, plain) {
		return nil, fmt.Errorf("keystore: %w: encrypted content cannot be decrypted", ErrFormat)
	}
	return b, nil
}

// wrapping returns the encryption key, derived from a passphrase by Argon2id (RFC 9106) or from a raw key by
// HKDF.
func (s Secret) wrapping(salt []byte, memory, passes uint32, lanes byte) []byte {
	if s.kind == kindPassphrase {
		return argon2.IDKey(s.key, salt, passes, memory, lanes, chacha20poly1305.KeySize)
	}
	return expand([32]byte(s.key), string(salt), labelKeystore)
}

// unlock returns a keystore's kind, site and content.
func unlock(b []byte, want byte, s Secret) (SiteID, []byte, error) {
	if len(b) > MaxKeystore || len(b) < keystoreHeader+chacha20poly1305.Overhead {
		return SiteID{}, nil, fmt.Errorf("keystore: %w: invalid size: %d bytes", ErrFormat, len(b))
	}
	d := &decoder{b: b[:keystoreHeader]}
	magic, version, what, kind := string(d.take(4)), d.u8(), d.u8(), d.u8()
	site, salt := SiteID(d.array32()), d.take(16)
	memory, passes, lanes := d.u32(), d.u32(), d.u8()
	nonce := d.take(chacha20poly1305.NonceSizeX)
	switch {
	case magic != keystoreMagic || version != 1:
		return site, nil, fmt.Errorf("keystore: %w: not a keystore of version 1", ErrFormat)
	case what != want:
		return site, nil, fmt.Errorf("keystore: %w: contains %s, want %s", ErrFormat, holds(what), holds(want))
	case kind != s.kind:
		return site, nil, fmt.Errorf("keystore: %w: the keystore must be opened with a %s", ErrPassphrase,
			map[byte]string{kindPassphrase: "passphrase", kindKey: "key file"}[kind])
	case kind == kindPassphrase && (memory < 8 || memory > maxArgonMemory || passes < 1 || passes > maxArgonPasses || lanes != argonLanes):
		return site, nil, fmt.Errorf("keystore: %w: the key derivation cost is out of range", ErrFormat)
	}
	a, err := chacha20poly1305.NewX(s.wrapping(salt, memory, passes, lanes))
	if err != nil {
		return site, nil, err
	}
	plain, err := a.Open(nil, nonce, b[keystoreHeader:], append([]byte(labelKeystore), b[:keystoreHeader]...))
	if err != nil {
		return site, nil, fmt.Errorf("keystore of %s: %w", site.Short(), ErrPassphrase)
	}
	return site, plain, nil
}

func holds(what byte) string {
	switch what {
	case holdsIdentity:
		return "an identity"
	case holdsRoot:
		return "a root key"
	}
	return "something else"
}

// NeedsPassphrase reports whether the keystore, according to its header, opens with a passphrase.
func NeedsPassphrase(keystore []byte) bool { return len(keystore) > 6 && keystore[6] == kindPassphrase }

// Unlock opens a keystore. It fails with ErrPassphrase or ErrFormat.
func Unlock(b []byte, s Secret) (*Identity, error) {
	site, plain, err := unlock(b, holdsIdentity, s)
	if err != nil {
		return nil, err
	}
	id, err := parseIdentity(plain)
	if err != nil {
		return nil, err
	}
	if id.Site() != site {
		return nil, fmt.Errorf("keystore: %w: the keys belong to a different site", ErrFormat)
	}
	return id, nil
}

// UnlockRoot opens a keystore made by LockRoot and returns the seed of the root key.
func UnlockRoot(b []byte, s Secret) ([]byte, error) {
	_, plain, err := unlock(b, holdsRoot, s)
	if err == nil && len(plain) != ed25519.SeedSize {
		err = fmt.Errorf("keystore: %w", ErrFormat)
	}
	return plain, err
}

// plain returns the unencrypted content of the keystore.
func (id *Identity) plain() []byte {
	b := append([]byte{1}, id.rootPublic...)
	b = appendSeed(b, id.root)
	b = binary.BigEndian.AppendUint64(b, id.serial)
	b = append(b, id.secret[:]...)
	for _, n := range id.issued {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(id.signing)))
	for _, k := range id.signing {
		b = appendSeed(append(k.append(b), k.public...), k.seed)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(id.sealing)))
	for _, k := range id.sealing {
		b = append(k.append(b), k.seed...)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(id.tls)))
	for _, k := range id.tls {
		b = append(k.append(b), k.seed...)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(k.cert))), k.cert...)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(id.federations)))
	for _, f := range id.federations {
		b = f.append(b)
	}
	return b
}

func (k term) append(b []byte) []byte {
	return appendTime(appendTime(binary.BigEndian.AppendUint32(b, k.epoch), k.from), k.to)
}

// appendSeed appends a flag for whether there is a seed, then the seed, if any.
func appendSeed(b, seed []byte) []byte {
	if seed == nil {
		return append(b, 0)
	}
	return append(append(b, 1), seed...)
}

func parseIdentity(b []byte) (*Identity, error) {
	d := &decoder{b: b}
	version := d.u8()
	if version != 1 {
		return nil, fmt.Errorf("keystore: %w: unsupported content version %d; want version 1", ErrFormat, version)
	}
	id := &Identity{rootPublic: ed25519.PublicKey(d.take(ed25519.PublicKeySize)), root: readSeed(d), serial: d.u64(), secret: d.array32()}
	for i := range id.issued {
		id.issued[i] = d.u32()
	}
	for n := d.u16(); n > 0 && !d.bad; n-- {
		k := signingKey{term: readTerm(d)}
		k.public, k.seed = ed25519.PublicKey(d.take(ed25519.PublicKeySize)), readSeed(d)
		id.signing = append(id.signing, k)
	}
	for n := d.u16(); n > 0 && !d.bad; n-- {
		t, seed := readTerm(d), d.take(sealSeedSize)
		if d.bad {
			break
		}
		k, err := sealingKeyOf(t, seed)
		if err != nil {
			return nil, err
		}
		id.sealing = append(id.sealing, k)
	}
	for n := d.u16(); n > 0 && !d.bad; n-- {
		k := tlsKey{term: readTerm(d), seed: d.take(ed25519.SeedSize)}
		k.cert = d.take(int(d.u16()))
		id.tls = append(id.tls, k)
	}
	for n := d.u16(); n > 0 && !d.bad; n-- {
		f := readFederation(d, math.MaxUint8)
		f.Epochs = newest(f.Epochs) // earlier versions of the program stored any number
		id.federations = append(id.federations, f)
	}
	return id, d.end("keystore")
}

func readSeed(d *decoder) []byte {
	switch d.u8() {
	case 0:
		return nil
	case 1:
		return d.take(ed25519.SeedSize)
	}
	d.bad = true
	return nil
}

func readTerm(d *decoder) term {
	return term{epoch: d.u32(), from: d.time(), to: d.time()}
}

// Equal reports whether two secrets are the same, in time that does not depend on where they differ.
func (s Secret) Equal(t Secret) bool {
	return s.kind == t.kind && subtle.ConstantTimeCompare(s.key, t.key) == 1
}
