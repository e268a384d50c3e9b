package crypto

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// Resign puts id's name and signature on an envelope, as any member that has its bytes can.
func Resign(id *Identity, env []byte, now time.Time) []byte {
	k, err := id.signer(now)
	if err != nil {
		panic(err)
	}
	b := append([]byte(nil), env[:len(env)-ed25519.SignatureSize]...)
	site := id.Site()
	copy(b[8:], site[:])
	binary.BigEndian.PutUint32(b[76:], k.epoch)
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), signed(b))...)
}

// Plain returns the unencrypted contents of id's keystore.
func Plain(id *Identity) []byte { return id.plain() }

// EpochSecret returns an epoch's secret.
func EpochSecret(e FederationEpoch) [32]byte { return e.secret }

// Readdress replaces the recipient of an envelope with id.
func Readdress(id *Identity, env []byte) []byte {
	b := append([]byte(nil), env...)
	site := id.Site()
	copy(b[40:], site[:])
	return b
}

// Decrypt opens one HPKE message with the suite of envelopes; the key is serialised.
func Decrypt(key, enc, info, associated, ct []byte) ([]byte, error) {
	k, err := kem.NewPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return decrypt(k, enc, info, associated, ct)
}

// Encrypt is the inverse of Decrypt; it takes the public key.
func Encrypt(key, info, associated, plain []byte) (enc, ct []byte, err error) {
	k, err := kem.NewPublicKey(key)
	if err != nil {
		return nil, nil, err
	}
	return encrypt(k, info, associated, plain)
}

// SignCard adds seed's root key and signature to a card's body.
func SignCard(seed, body []byte) []byte {
	b := append([]byte(nil), body...)
	if len(b) >= 5+ed25519.PublicKeySize {
		copy(b[5:], public(seed))
	}
	sum := sha256.Sum256(b)
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(seed), append([]byte(labelCard), sum[:]...))...)
}

// ParsePlain parses the output of Plain.
func ParsePlain(b []byte) (*Identity, error) { return parseIdentity(b) }

// Pad and Unpad export the padding of messages.
var (
	Pad   = pad
	Unpad = unpad
)

// LockRootOf is like LockRoot for arbitrary bytes in place of a seed.
func LockRootOf(site SiteID, seed []byte, s Secret, random io.Reader) ([]byte, error) {
	return lock(holdsRoot, site, seed, s, random)
}

// SiteIDWithTail returns the identity as text, without hyphens, with the given bits after the 256th in its last character; its
// check characters are valid.
func SiteIDWithTail(s SiteID, bits byte) string {
	const letters, part = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", siteChars / siteParts
	plain := []byte(base32Site.EncodeToString(s[:]))
	plain[siteChars-1] = letters[strings.IndexByte(letters, plain[siteChars-1])|int(bits)]
	var b []byte
	for i := range siteParts {
		p := string(plain[i*part : (i+1)*part])
		b = append(append(b, p...), checkChar(p, i))
	}
	return string(b)
}

// Rereceipt changes byte i of a receipt and signs it again, as the inviting site could.
func Rereceipt(id *Identity, receipt []byte, i int, now time.Time) []byte {
	k, err := id.signer(now)
	if err != nil {
		panic(err)
	}
	b := append([]byte(nil), receipt[:len(receipt)-ed25519.SignatureSize]...)
	b[i] ^= 1
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), append([]byte(labelEnrolled), b...))...)
}

// LockPlain is like Lock for arbitrary bytes in place of a site's keys.
func LockPlain(site SiteID, plain []byte, s Secret, random io.Reader) ([]byte, error) {
	return lock(holdsIdentity, site, plain, s, random)
}

// LockOfSize is like Lock for the identity with as many federations as fit into a keystore of n bytes.
func LockOfSize(id *Identity, n int, s Secret, random io.Reader) ([]byte, error) {
	c := id.clone()
	left := n - keystoreHeader - chacha20poly1305.Overhead - len(c.plain())
	const fixed = 1 + 1 + 4 + 8 + 8 + 32 // bytes of a federation with one epoch, without its name
	for left > 0 {
		size := min(left, fixed+64)
		if rest := left - size; rest > 0 && rest <= fixed {
			size -= fixed
		}
		c.federations = append(c.federations, Federation{Name: strings.Repeat("f", size-fixed),
			Epochs: []FederationEpoch{{Number: 1, From: time.Unix(0, 0)}}})
		left -= size
	}
	return c.Lock(s, random)
}

// PlainOfEpochs returns the content of an earlier version's keystore whose first federation has n epochs.
func PlainOfEpochs(id *Identity, n int) []byte {
	c := id.clone()
	f := c.federations[0].clone()
	for i := len(f.Epochs); i < n; i++ {
		e := f.Epochs[i-1]
		e.Number, e.From = e.Number+1, e.From.Add(time.Millisecond)
		f.Epochs = append(f.Epochs, e)
	}
	c.federations[0] = f
	return c.plain()
}
