package crypto

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// Files that leave the site's folder are encrypted in the format age-encryption.org/v1, which other programs also read. A file is
// encrypted to recipients, which are public, and opened with an identity, which is secret. Writing needs no secret, so a timer can make
// backups that its own machine cannot read.

// Recipients are the public keys to which files are encrypted. The zero value has no recipient and is refused. It is
// safe for concurrent use.
type Recipients struct {
	names []string // sorted, without duplicates
	keys  []age.Recipient
}

// MaxRecipients is the maximum number of recipients of a file.
const MaxRecipients = 16

// ParseRecipients reads recipients as age-keygen prints them: age1pq1... (hybrid, X-Wing), or age1... (X25519). It fails with ErrFormat
// for anything else, for an empty list, and for a mixture of both kinds, which would be no safer than the weaker kind.
func ParseRecipients(texts []string) (Recipients, error) {
	var r Recipients
	for _, text := range texts {
		text = strings.TrimSpace(text)
		key, err := parseRecipient(text)
		if err != nil {
			return Recipients{}, err
		}
		if slices.Contains(r.names, text) {
			continue
		}
		r.names, r.keys = append(r.names, text), append(r.keys, key)
	}
	if len(r.keys) == 0 || len(r.keys) > MaxRecipients {
		return Recipients{}, fmt.Errorf("%w: %d recipients, want 1 to %d", ErrFormat, len(r.keys), MaxRecipients)
	}
	slices.Sort(r.names)
	if _, err := age.Encrypt(io.Discard, r.keys...); err != nil {
		return Recipients{}, fmt.Errorf("%w: cannot mix recipients that begin with %s with other recipients", ErrFormat,
			hybridRecipient)
	}
	return r, nil
}

const (
	hybridRecipient = "age1pq1"
	classicalPrefix = "age1"
	ageHeader       = "age-encryption.org/"
)

func parseRecipient(text string) (key age.Recipient, err error) {
	switch {
	case strings.HasPrefix(text, hybridRecipient):
		key, err = age.ParseHybridRecipient(text)
	case strings.HasPrefix(text, classicalPrefix):
		key, err = age.ParseX25519Recipient(text)
	case strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-"):
		return nil, fmt.Errorf("%w: got a secret identity; use the matching recipient, which age-keygen prints as the public key",
			ErrFormat)
	default:
		return nil, fmt.Errorf("%w: recipient %.40q: a recipient must begin with %s", ErrFormat, text, classicalPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: recipient %.40q is incomplete or mistyped", ErrFormat, text)
	}
	return key, nil
}

// Names returns the recipients as text, sorted.
func (r Recipients) Names() []string { return slices.Clone(r.names) }

// Encrypt returns a writer that encrypts to w. The file is complete only if Close returns nil. The writer buffers 64 KiB.
func (r Recipients) Encrypt(w io.Writer) (io.WriteCloser, error) {
	if len(r.keys) == 0 {
		return nil, errors.New("no recipients to encrypt to")
	}
	return age.Encrypt(w, r.keys...)
}

// FileName returns the name for a file with this content encrypted to the recipients: 64 hexadecimal digits that depend only on key,
// content and recipients. Without the key, names cannot be matched to contents.
func (r Recipients) FileName(key [32]byte, content [32]byte) string {
	h := hmac.New(sha256.New, key[:])
	_, _ = io.WriteString(h, "concordat/file-name/1\x00") // writing to a hash cannot fail
	for _, name := range r.names {
		_, _ = io.WriteString(h, name+"\x00")
	}
	_, _ = h.Write(content[:])
	return hex.EncodeToString(h.Sum(nil))
}

// Opener opens files encrypted to any of its identities. The zero value opens none. It is safe for concurrent use.
type Opener struct{ identities []age.Identity }

// ErrNotRecipient means that the file is encrypted to other recipients.
var ErrNotRecipient = errors.New("the file is encrypted to different recipients")

// maxIdentities is the maximum size of an identity file, in bytes.
const maxIdentities = 1 << 20

// ParseIdentities reads an identity file with one identity per line, as written by age-keygen. The file may be encrypted with a
// passphrase, as by NewLockedIdentity or age -p; ParseIdentities then calls ask. It fails with ErrFormat or ErrPassphrase.
func ParseIdentities(b []byte, ask func() (Secret, error)) (Opener, error) {
	if len(b) > maxIdentities {
		return Opener{}, fmt.Errorf("identities: %w: file is larger than %d bytes", ErrFormat, maxIdentities)
	}
	if bytes.HasPrefix(b, []byte(ageHeader)) {
		s, err := ask()
		if err != nil {
			return Opener{}, err
		}
		if b, err = openWithPassphrase(b, s); err != nil {
			return Opener{}, err
		}
	}
	ids, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil {
		return Opener{}, fmt.Errorf("identities: %w: each line must begin with AGE-SECRET-KEY-", ErrFormat)
	}
	return Opener{ids}, nil
}

// Open returns the content of an encrypted file. The file is complete and unaltered only if reading ends with io.EOF; after any other
// error, discard what was read. It fails with ErrNotRecipient or ErrFormat.
func (o Opener) Open(r io.Reader) (io.Reader, error) {
	if len(o.identities) == 0 {
		return nil, ErrNotRecipient
	}
	content, err := age.Decrypt(r, o.identities...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, ErrNotRecipient
	case err != nil:
		return nil, fmt.Errorf("encrypted file: %w: %w", ErrFormat, err)
	}
	return content, nil
}

// Costs of scrypt: the age program's costs for new files (a second and 256 MiB), and the maximum for reading (1 GiB).
const (
	scryptLog    = 18
	maxScryptLog = 20
)

// NewLockedIdentity generates a hybrid identity. It returns the recipient, and a file that contains the identity, encrypted with the
// passphrase.
func NewLockedIdentity(s Secret) (Recipients, []byte, error) {
	if s.kind != kindPassphrase {
		return Recipients{}, nil, errors.New("the backup identity must be protected with a passphrase")
	}
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		return Recipients{}, nil, err
	}
	key, err := age.NewScryptRecipient(string(s.key))
	if err != nil {
		return Recipients{}, nil, err
	}
	key.SetWorkFactor(scryptLog)
	var file bytes.Buffer
	w, err := age.Encrypt(&file, key)
	if err != nil {
		return Recipients{}, nil, err
	}
	_, err = fmt.Fprintln(w, id)
	if err = errors.Join(err, w.Close()); err != nil {
		return Recipients{}, nil, err
	}
	r, err := ParseRecipients([]string{id.Recipient().String()})
	return r, file.Bytes(), err
}

// openWithPassphrase opens an identity file encrypted with a passphrase. It fails with ErrPassphrase if the passphrase is wrong, or with
// ErrFormat.
func openWithPassphrase(b []byte, s Secret) ([]byte, error) {
	if s.kind != kindPassphrase {
		return nil, ErrPassphrase
	}
	key, err := age.NewScryptIdentity(string(s.key))
	if err != nil {
		return nil, err
	}
	key.SetMaxWorkFactor(maxScryptLog)
	r, err := age.Decrypt(bytes.NewReader(b), key)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none) && slices.Contains(none.StanzaTypes, "scrypt"):
		return nil, ErrPassphrase
	case errors.As(err, &none):
		return nil, fmt.Errorf("identities: %w: the file is encrypted to a recipient instead of with a passphrase", ErrFormat)
	case err != nil:
		return nil, fmt.Errorf("identities: %w: %w", ErrFormat, err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("identities: %w: %w", ErrFormat, err)
	}
	return content, nil
}
