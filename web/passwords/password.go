package passwords

import (
	"cmp"
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

// Lengths of the inputs and outputs of argon2id, in bytes (RFC 9106, section 4).
const (
	argonSalt = 16
	argonKey  = 32
)

// Cost is the memory and time that argon2id uses for one password. The zero value means the default cost of a site: the second
// recommended option of RFC 9106, section 4.
type Cost struct {
	Memory  uint32 // in KiB; the default is 64 MiB
	Passes  uint32 // passes over the memory; the default is 3
	Threads uint8  // the default is 4
}

// ofSite fills in a site's defaults.
func (c Cost) ofSite() Cost {
	return Cost{cmp.Or(c.Memory, 64<<10), cmp.Or(c.Passes, 3), cmp.Or(c.Threads, argonThreads)}
}

// argonThreads is the number of processors used for one password.
const argonThreads = 4

// Bounds on the memory used for passwords and on how long a password waits. Each password takes 64 MiB for about a tenth of a second.
// Since each uses argonThreads processors, hashing two at a time on that many processors slows both down and makes the next password wait
// longer.
const (
	maxHashing = 2
	maxWaiting = 32
)

// hashingAtOnce returns how many passwords are hashed at a time on the given number of processors.
func hashingAtOnce(processors int) int { return min(max(processors/argonThreads, 1), maxHashing) }

// Hasher hashes passwords, a few at a time. It is safe for concurrent use.
type Hasher struct {
	line   limit.Line
	cost   Cost
	nobody func() string
}

// NewHasher returns a hasher with this cost per password.
func NewHasher(c Cost) *Hasher {
	h := &Hasher{line: limit.Line{Running: hashingAtOnce(runtime.GOMAXPROCS(0)), Waiting: maxWaiting}, cost: c.ofSite()}
	h.nobody = sync.OnceValue(func() string { return h.cost.hash(rand.Text()) })
	return h
}

// Nobody returns a hash that matches no password. Passwords for unknown names are compared with it and therefore take as long as any
// other.
func (h *Hasher) Nobody() string { return h.nobody() }

// Hash returns the password in PHC form, for example $argon2id$v=19$m=65536,t=3,p=4$SALT$KEY. It waits its turn, and fails if too many
// passwords are waiting.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if err := h.line.Enter(ctx, 0); err != nil { // the visitor has already presented a link or the former password
		return "", err
	}
	defer h.line.Leave()
	return h.cost.hash(password), nil
}

func (c Cost) hash(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Threads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.Memory, c.Passes, c.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

// Verify reports whether hash, in PHC form, is a hash of the password. It waits its turn, which depends on rank, and fails if too many
// passwords are ahead.
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
			return false, fmt.Errorf("stored password: %w: invalid salt or key", concordat.ErrCorrupt)
		}
	}
	if key == nil {
		return false, fmt.Errorf("stored password: %w: missing key", concordat.ErrCorrupt)
	}
	if err := h.line.Enter(ctx, rank); err != nil {
		return false, err
	}
	defer h.line.Leave()
	got := argon2.IDKey([]byte(password), salt, t, m, p, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1, nil
}

// Waiters returns the number of callers waiting for a password to be hashed.
func (h *Hasher) Waiters() int { return h.line.Waiters() }
