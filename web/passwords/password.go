package passwords

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/crypto/argon2"

	"concordat"
	"concordat/web/limit"
)

// Parameters of argon2id, the second recommended choice of RFC 9106, section 4.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
	argonSalt    = 16
	argonKey     = 32
)

// Bounds of the memory that passwords take, and of how long one waits: each holds 64 MiB while it is tried, for about a tenth of
// a second. As each works on argonThreads processors, a second one at a time makes both slower if there are no more than
// that, so that the next one would wait longer.
const (
	maxHashing = 2
	maxWaiting = 32
)

// hashingAtOnce returns how many passwords are hashed at a time on so many processors.
func hashingAtOnce(processors int) int { return min(max(processors/argonThreads, 1), maxHashing) }

// Hasher hashes passwords, a few at a time. It is safe for concurrent use.
type Hasher struct{ line limit.Line }

// NewHasher returns a hasher.
func NewHasher() *Hasher {
	return &Hasher{limit.Line{Running: hashingAtOnce(runtime.GOMAXPROCS(0)), Waiting: maxWaiting}}
}

// Hash returns the password in PHC form, for example $argon2id$v=19$m=65536,t=3,p=4$SALT$KEY. It waits for its turn, and
// fails if too many do.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if err := h.line.Enter(ctx, 0); err != nil { // who chooses a password has shown a link or the former one
		return "", err
	}
	defer h.line.Leave()
	return hashOf(password), nil
}

func hashOf(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

// Verify reports whether hash, in PHC form, is a hash of the password. It waits for its turn by rank, and fails if
// too many are before it.
func (h *Hasher) Verify(ctx context.Context, rank int, hash, password string) (bool, error) {
	var version int
	var t, m uint32
	var p uint8
	var rest string
	if _, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &m, &t, &p, &rest); err != nil {
		return false, fmt.Errorf("stored password: %w: %v", concordat.ErrCorrupt, err)
	}
	if version != argon2.Version || m > 1<<20 || t > 100 || t == 0 || p == 0 {
		return false, fmt.Errorf("stored password: %w: parameters out of range", concordat.ErrCorrupt)
	}
	var salt, key []byte
	for i := range rest {
		if rest[i] != '$' {
			continue
		}
		var err, err2 error
		salt, err = base64.RawStdEncoding.DecodeString(rest[:i])
		key, err2 = base64.RawStdEncoding.DecodeString(rest[i+1:])
		if err != nil || err2 != nil || len(key) < 16 || len(key) > 1024 {
			return false, fmt.Errorf("stored password: %w: not base64", concordat.ErrCorrupt)
		}
	}
	if key == nil {
		return false, fmt.Errorf("stored password: %w: no key", concordat.ErrCorrupt)
	}
	if err := h.line.Enter(ctx, rank); err != nil {
		return false, err
	}
	defer h.line.Leave()
	got := argon2.IDKey([]byte(password), salt, t, m, p, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1, nil
}

// Nobody is a hash that no password has: what a name that does not exist is compared with.
var Nobody = sync.OnceValue(func() string { return hashOf(rand.Text()) })

// Waiters returns how many wait for a password to be tried.
func (h *Hasher) Waiters() int { return h.line.Waiters() }
