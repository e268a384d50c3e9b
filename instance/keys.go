package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/store"
)

// These are names within a site's folder.
const (
	KeystoreName = "keystore"
	KeyFileName  = "keystore.key"
)

// The secret of the keystore comes from the first of these sources: the file named by these variables, the service manager's credential,
// the key file in the folder, and, for a passphrase, the terminal.
const (
	KeyFileVariable    = "CONCORDAT_KEY_FILE"        // 32 bytes
	PassphraseVariable = "CONCORDAT_PASSPHRASE_FILE" // one line
	credentialName     = "concordat.key"             // in $CREDENTIALS_DIRECTORY
)

// ErrNoKeys means that the site has no keystore.
var ErrNoKeys = errors.New("this site has no keys; create them with concordat site key init")

// Keys are the site's own keys: the keystore in its folder, what opens it, and what the store records about both.
type Keys struct {
	dir    string
	ask    Ask // prompts for the keystore's passphrase; nil for no prompt
	db     *store.DB
	live   *LiveConfig
	copied atomic.Int64 // version of the shared keystore of which the folder has a copy; 0 if unknown
}

// Keystore is the keystore of a site: the file and the secret that opens it.
type Keystore struct {
	Path   string
	Secret crypto.Secret
	// Shared, unless nil, contains the keystore shared by all nodes of the site; the file is then this node's copy.
	Shared *store.DB
	opens  *crypto.Secret // secret after an Update; nil if it stays the same
}

// Open opens the site's keystore; see the function OpenKeystore.
func (ks *Keys) Open() (*Keystore, *crypto.Identity, error) {
	k, id, err := OpenKeystore(ks.dir, ks.ask)
	if err == nil {
		k.Shared = ks.Shared()
	}
	return k, id, err
}

// OpenKeystore finds the folder's keystore and its secret, and opens it. It fails with ErrNoKeys if there is none.
func OpenKeystore(dir string, ask Ask) (*Keystore, *crypto.Identity, error) {
	k := &Keystore{Path: filepath.Join(dir, KeystoreName)}
	b, err := keyfile.Bytes(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, Usage(ErrNoKeys)
	}
	if err != nil {
		return nil, nil, err
	}
	if k.Secret, err = findSecret(dir, ask, crypto.NeedsPassphrase(b)); err != nil {
		return nil, nil, err
	}
	id, err := crypto.Unlock(b, k.Secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.Path, err)
	}
	return k, id, nil
}

// Update changes the identity in the keystore; see keyfile.Update. If nodes share the keystore, it may call change several times, each
// time with the changes made by other nodes in the meantime.
func (k *Keystore) Update(ctx context.Context, change func(*crypto.Identity) (*crypto.Identity, error)) (*crypto.Identity, error) {
	if k.Shared != nil {
		return k.updateShared(ctx, change)
	}
	return keyfile.Update(k.Path, k.Secret, k.later(), change)
}

// later returns the secret that opens the keystore after an Update.
func (k *Keystore) later() crypto.Secret {
	if k.opens != nil {
		return *k.opens
	}
	return k.Secret
}

// findSecret returns the secret that opens the keystore of the folder.
func findSecret(dir string, ask Ask, passphrase bool) (crypto.Secret, error) {
	if passphrase {
		if path := os.Getenv(PassphraseVariable); path != "" {
			return PassphraseFrom(path)
		}
		if ask == nil {
			return crypto.Secret{}, Usagef("cannot ask for the keystore passphrase: no terminal; set %s to a file that contains the passphrase", PassphraseVariable)
		}
		return ask("Keystore passphrase: ")
	}
	var paths []string
	if path := os.Getenv(KeyFileVariable); path != "" {
		paths = append(paths, path)
	} else {
		if d := os.Getenv("CREDENTIALS_DIRECTORY"); d != "" {
			paths = append(paths, filepath.Join(d, credentialName))
		}
		paths = append(paths, filepath.Join(dir, KeyFileName))
	}
	for _, path := range paths {
		s, err := RawKeyFrom(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return crypto.Secret{}, Usagef("no key file for the keystore: %s does not exist; set %s to the path of the key file", strings.Join(paths, " or "), KeyFileVariable)
}

// PassphraseFrom reads a passphrase from the first line of a file that only its owner may be able to read.
func PassphraseFrom(path string) (crypto.Secret, error) {
	b, err := readSmall(path, maxSecret)
	if err != nil {
		return crypto.Secret{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return crypto.Secret{}, Usagef("%s: the first line must contain the passphrase", path)
	}
	return crypto.Passphrase([]byte(line)), nil
}

// RawKeyFrom reads a key of 32 bytes from a file that only its owner may be able to read.
func RawKeyFrom(path string) (crypto.Secret, error) {
	b, err := readSmall(path, maxSecret)
	if err != nil {
		return crypto.Secret{}, err
	}
	if len(b) != 32 {
		return crypto.Secret{}, Usagef("key file %s has %d bytes, want 32", path, len(b))
	}
	return crypto.RawKey([32]byte(b)), nil
}

// maxSecret is the maximum size of a passphrase or key file, in bytes.
const maxSecret = 4096

// readSmall reads a small secret file that only its owner may be able to read.
func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return nil, Usagef("other users can read %s: mode is %04o, want 0600", path, info.Mode().Perm())
	}
	if info.Size() > most {
		return nil, Usagef("secret file %s is too large: %d bytes", path, info.Size())
	}
	return os.ReadFile(path)
}

// OwnCard returns the newest card of the site, or nil if it has none.
func OwnCard(ctx context.Context, db *store.DB, id *crypto.Identity) (*crypto.Card, error) {
	cards, err := db.Partners.Cards(ctx, concordat.SiteID(id.Site().String()))
	if err != nil || len(cards) == 0 {
		return nil, err
	}
	return crypto.ParseCard(cards[0].Card)
}

// MakeCard makes a new card with the fields, stores the keys that it announces and then the card, with an audit entry for each of the
// actors. root is nil if the keystore has the root key.
func MakeCard(ctx context.Context, db *store.DB, k *Keystore, f crypto.CardFields, root []byte,
	now time.Time, by ...string) (*crypto.Identity, *crypto.Card, error) {
	var card *crypto.Card
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		next, c, err := id.MakeCard(f, root, now, rand.Reader)
		card = c
		return next, err
	})
	if err != nil {
		return nil, nil, err
	}
	return id, card, db.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.PutCard(ctx, concordat.SiteID(card.Site.String()), card.Serial, card.Bytes()); err != nil {
			return err
		}
		for _, actor := range by {
			if err := tx.Audit.Note(ctx, actor, "card made", map[string]any{"card": card.Serial, "ends": card.NotAfter,
				"urls": card.URLs}); err != nil {
				return err
			}
		}
		return nil
	})
}

// CardAge is the age at which a site with its root key makes a new card, so that partners, which fetch it daily, always know the keys for
// the coming weeks.
const CardAge = 7 * 24 * time.Hour

// RefreshCard makes a new card if the keystore has the root key and the card is a week old, and destroys expired private keys. It returns
// the current identity and card; changed reports whether either is new.
func RefreshCard(ctx context.Context, db *store.DB, k *Keystore, id *crypto.Identity, card *crypto.Card,
	now time.Time) (*crypto.Identity, *crypto.Card, bool, error) {
	if id.HasRoot() && card != nil && now.After(card.NotBefore.Add(CardAge)) {
		next, c, err := MakeCard(ctx, db, k, card.CardFields, nil, now)
		if err != nil {
			return id, card, false, err
		}
		return next, c, true, nil
	}
	if _, changed := id.Expire(now); !changed {
		return id, card, false, nil
	}
	next, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		c, changed := id.Expire(now)
		if !changed {
			return id, nil
		}
		return c, nil
	})
	if err != nil {
		return id, card, false, err
	}
	return next, card, true, nil
}

// Ask prompts a person for the passphrase of a keystore.
type Ask func(prompt string) (crypto.Secret, error)

// PartnerName returns a site's identity in the form that the store and the rest of the program use.
func PartnerName(s crypto.SiteID) concordat.SiteID { return concordat.SiteID(s.String()) }

// SigningIdentity returns the identity that signs for the site in dir, or nil if it has no keys. A keystore protected by a passphrase
// signs only if the passphrase is in a file, because writing a report never prompts.
func SigningIdentity(dir string, ask Ask) (*crypto.Identity, error) {
	b, err := keyfile.Bytes(filepath.Join(dir, KeystoreName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && crypto.NeedsPassphrase(b) && os.Getenv(PassphraseVariable) == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, id, err := OpenKeystore(dir, ask)
	return id, err
}

// ErrNoCard means that the site has no card.
var ErrNoCard = errors.New("the site has no card")

// CardEndsError means that a card must be renewed soon.
type CardEndsError struct{ On string } // a day

func (e CardEndsError) Error() string { return "the site card expires on " + e.On }

// CardState returns when a card expires, or an error: the given error, ErrNoCard, the reason why the card is not in force, or a
// CardEndsError.
func CardState(card *crypto.Card, err error, now time.Time) (string, error) {
	switch {
	case err != nil:
		return "", err
	case card == nil:
		return "", ErrNoCard
	case card.Valid(now) != nil:
		return "", card.Valid(now)
	case card.NotAfter.Sub(now) < cardWarning:
		return "", CardEndsError{card.NotAfter.Local().Format(time.DateOnly)}
	}
	return card.NotAfter.Local().Format(time.DateOnly), nil
}

// cardWarning is how long before its expiry a card needs attention. If the keystore has the root key, the card is renewed long before
// that.
const cardWarning = 14 * 24 * time.Hour
