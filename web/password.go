package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"sync"

	"golang.org/x/crypto/argon2"

	"concordat"
)

// Parameters of argon2id, the second recommended choice of RFC 9106, section 4.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
	argonSalt    = 16
	argonKey     = 32
)

// hashing bounds the memory that passwords take: each holds 64 MiB while it is tried.
var hashing = make(chan struct{}, 2)

// hashPassword returns the password in PHC form, such as $argon2id$v=19$m=65536,t=3,p=4$SALT$KEY.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	key, err := derive(ctx, password, salt, argonTime, argonMemory, argonThreads, argonKey)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

func derive(ctx context.Context, password string, salt []byte, t, m uint32, p uint8, n uint32) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), salt, t, m, p, n), nil
}

// verifyPassword reports whether hash, in PHC form, is that of the password.
func verifyPassword(ctx context.Context, hash, password string) (bool, error) {
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
	got, err := derive(ctx, password, salt, t, m, p, uint32(len(key)))
	return err == nil && subtle.ConstantTimeCompare(got, key) == 1, err
}

// nobody is a hash that no password has: what a name that does not exist is compared with.
var nobody = sync.OnceValue(func() string {
	hash, err := hashPassword(context.Background(), rand.Text())
	if err != nil {
		panic(err) // the background never ends
	}
	return hash
})
