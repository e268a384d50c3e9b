package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/store"
)

// Names within the folder of a site.
const (
	keystoreName = "keystore"
	keyFileName  = "keystore.key"
)

// Where the secret of the keystore comes from, first found first: the file that these variables name,
// the service manager's credential, the key file in the folder, and for a passphrase the terminal.
const (
	keyFileVariable    = "CONCORDAT_KEY_FILE"        // 32 bytes
	passphraseVariable = "CONCORDAT_PASSPHRASE_FILE" // one line
	credentialName     = "concordat.key"             // in $CREDENTIALS_DIRECTORY
)

// errNoIdentity: the site has no keystore.
var errNoIdentity = errors.New("this site has no keys; make them with concordat site key init")

// keys is the keystore of a site: the file, and what opens it.
type keys struct {
	path   string
	secret crypto.Secret
	// shared, if not nil, has the keystore of all nodes of the site; the file is this node's copy of it.
	shared *store.DB
}

// openKeys finds the keystore of the folder and its secret, and opens it. It fails with errNoIdentity
// where there is none.
func (a *app) openKeys(dir string) (*keys, *crypto.Identity, error) {
	k := &keys{path: filepath.Join(dir, keystoreName)}
	b, err := keyfile.Bytes(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, cli.Usage(errNoIdentity)
	}
	if err != nil {
		return nil, nil, err
	}
	if k.secret, err = a.findSecret(dir, crypto.NeedsPassphrase(b)); err != nil {
		return nil, nil, err
	}
	id, err := crypto.Unlock(b, k.secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.path, err)
	}
	return k, id, nil
}

// update changes the identity in the keystore; see keyfile.Update. Where nodes share it change may be called
// several times, each time with what another node has made meanwhile.
func (k *keys) update(ctx context.Context, change func(*crypto.Identity) (*crypto.Identity, error)) (*crypto.Identity, error) {
	if k.shared != nil {
		return k.updateShared(ctx, change)
	}
	return keyfile.Update(k.path, k.secret, change)
}

// findSecret returns what opens the keystore of the folder.
func (a *app) findSecret(dir string, passphrase bool) (crypto.Secret, error) {
	if passphrase {
		if path := os.Getenv(passphraseVariable); path != "" {
			return passphraseFrom(path)
		}
		return a.askPassphrase("passphrase of the keystore: ")
	}
	var paths []string
	if path := os.Getenv(keyFileVariable); path != "" {
		paths = append(paths, path)
	} else {
		if d := os.Getenv("CREDENTIALS_DIRECTORY"); d != "" {
			paths = append(paths, filepath.Join(d, credentialName))
		}
		paths = append(paths, filepath.Join(dir, keyFileName))
	}
	for _, path := range paths {
		s, err := rawKeyFrom(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return crypto.Secret{}, cli.Usagef("no key for the keystore: %s is not there; name it with %s", strings.Join(paths, " or "), keyFileVariable)
}

func passphraseFrom(path string) (crypto.Secret, error) {
	b, err := readSmall(path)
	if err != nil {
		return crypto.Secret{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return crypto.Secret{}, cli.Usagef("%s holds no passphrase in its first line", path)
	}
	return crypto.Passphrase([]byte(line)), nil
}

func rawKeyFrom(path string) (crypto.Secret, error) {
	b, err := readSmall(path)
	if err != nil {
		return crypto.Secret{}, err
	}
	if len(b) != 32 {
		return crypto.Secret{}, cli.Usagef("key file %s has %d bytes, not 32", path, len(b))
	}
	return crypto.RawKey([32]byte(b)), nil
}

// readSmall reads a secret's file, which nobody else may read.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return nil, cli.Usagef("%s can be read by others: mode %04o, not 0600", path, info.Mode().Perm())
	}
	if info.Size() > 4096 {
		return nil, cli.Usagef("%s has %d bytes: no secret of ours", path, info.Size())
	}
	return os.ReadFile(path)
}

// askPassphrase reads a passphrase from the terminal.
func (a *app) askPassphrase(prompt string) (crypto.Secret, error) {
	f, ok := a.Stdin.(*os.File)
	if !ok || !isTerminal(a.Stdin) {
		return crypto.Secret{}, cli.Usagef("the keystore needs a passphrase: no terminal to ask on, and %s is not set", passphraseVariable)
	}
	fmt.Fprint(a.Stderr, prompt)
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.Stderr)
	if err != nil {
		return crypto.Secret{}, err
	}
	if len(b) == 0 {
		return crypto.Secret{}, cli.Usagef("the passphrase is empty")
	}
	return crypto.Passphrase(b), nil
}

// isTerminal reports whether a person can be asked on r.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newPassphrase asks twice, or reads the file that is named.
func (a *app) newPassphrase(path string) (crypto.Secret, error) {
	if path != "" {
		return passphraseFrom(path)
	}
	one, err := a.askPassphrase("new passphrase: ")
	if err != nil {
		return one, err
	}
	two, err := a.askPassphrase("again: ")
	if err == nil && !one.Equal(two) {
		err = cli.Usagef("the passphrases differ")
	}
	return one, err
}

// ownCard returns the newest card of the site, or nil where none was made.
func ownCard(ctx context.Context, db *store.DB, id *crypto.Identity) (*crypto.Card, error) {
	cards, err := db.Cards(ctx, concordat.SiteID(id.Site().String()))
	if err != nil || len(cards) == 0 {
		return nil, err
	}
	return crypto.ParseCard(cards[0].Card)
}

// makeCard makes a new card with the fields, keeps the keys it announces, and then the card. root is nil
// where the keystore has the root key.
func makeCard(ctx context.Context, db *store.DB, k *keys, f crypto.CardFields, root []byte, now time.Time) (*crypto.Identity, *crypto.Card, error) {
	var card *crypto.Card
	id, err := k.update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		next, c, err := id.MakeCard(f, root, now, rand.Reader)
		card = c
		return next, err
	})
	if err != nil {
		return nil, nil, err
	}
	return id, card, db.PutCard(ctx, concordat.SiteID(card.Site.String()), card.Serial, card.Bytes())
}

// cardAge is how old a card may be before a site that has its root key makes a new one: partners that see
// it every day then always know keys for weeks to come.
const cardAge = 7 * 24 * time.Hour

// refreshCard makes a new card where the root key is here and the card is a week old, and destroys
// private keys whose time is over. It returns the identity and card that are now in force; changed tells
// whether either is another one.
func refreshCard(ctx context.Context, db *store.DB, k *keys, id *crypto.Identity, card *crypto.Card, now time.Time) (*crypto.Identity, *crypto.Card, bool, error) {
	if id.HasRoot() && card != nil && now.After(card.NotBefore.Add(cardAge)) {
		next, c, err := makeCard(ctx, db, k, card.CardFields, nil, now)
		if err != nil {
			return id, card, false, err
		}
		return next, c, true, nil
	}
	if _, changed := id.Expire(now); !changed {
		return id, card, false, nil
	}
	next, err := k.update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
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
