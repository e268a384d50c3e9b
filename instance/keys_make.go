package instance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/store"
)

// These are the store's settings about keys.
const (
	keysMadeSetting   = "keys made"         // the site has made keys before
	rootAskedSetting  = "root key asked"    // an administrator postponed the export of the root key
	RootExportSetting = "root key exported" // when the root key was exported
)

// CardFields returns the fields of a first card, with the site's name and no address.
func (ks *Keys) CardFields() crypto.CardFields {
	return crypto.CardFields{Name: ks.cardName(), Modes: crypto.ModeSealed}
}

// cardName returns the site's title, shortened to fit on a card, or its identifier if it has no title.
func (ks *Keys) cardName() string {
	return cmp.Or(crypto.CardName(ks.live.Now().Site.Title), string(ks.live.Now().Site.ID))
}

// ErrRootAway means that a new card needs the root key, which is stored elsewhere.
var ErrRootAway = errors.New("the root key is kept elsewhere")

// NameCard makes a new card if the current one lacks the site's title, which is the name that partners see. If unnamed is set, it keeps a
// card with a chosen name, and replaces only a card with the site's identifier, made when the site had no title. It does nothing for a
// site without keys, card or title, and fails with ErrRootAway if it cannot make a card.
func (ks *Keys) NameCard(ctx context.Context, unnamed bool, by ...string) (made bool, err error) {
	id, err := SigningIdentity(ks.dir, nil)
	if err != nil || id == nil || ks.live.Now().Site.Title == "" {
		return false, err
	}
	card, err := OwnCard(ctx, ks.db, id)
	if err != nil || card == nil || card.Name == ks.cardName() || unnamed && card.Name != string(ks.live.Now().Site.ID) {
		return false, err
	}
	if !id.HasRoot() {
		return false, ErrRootAway
	}
	k, _, err := ks.Open()
	if err != nil {
		return false, err
	}
	fields := card.CardFields
	fields.Name = ks.cardName()
	_, _, err = MakeCard(ctx, ks.db, k, fields, nil, time.Now(), by...)
	return err == nil, err
}

// Ensure makes keys and a card without an address for a site that has never had keys, so that all its documents are signed, starting
// with the first report. made reports whether it did. It does nothing for a site that had keys before, or that has partners who know it
// by its keys; those keys must be restored from a backup. It also does nothing for a site with several machines, since every machine
// needs the keystore's key.
func (ks *Keys) Ensure(ctx context.Context) (made bool, err error) {
	if _, err := os.Lstat(filepath.Join(ks.dir, KeystoreName)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if ks.live.Now().Clustered() {
		return false, nil
	}
	if _, err := ks.db.Setting(ctx, keysMadeSetting); !errors.Is(err, concordat.ErrNotFound) {
		return false, err
	}
	if ps, err := ks.db.Partners.Partners(ctx); err != nil || len(ps) > 0 {
		return false, err
	}
	secret, err := MakeKeyFile(cmp.Or(os.Getenv(KeyFileVariable), filepath.Join(ks.dir, KeyFileName)))
	if err != nil {
		return false, err
	}
	_, err = ks.Make(ctx, secret)
	return true, err
}

// Make makes keys for a site without any, and a card without an address. secret opens the keystore.
func (ks *Keys) Make(ctx context.Context, secret crypto.Secret) (*crypto.Identity, error) {
	now := time.Now()
	id, err := crypto.New(now, rand.Reader)
	if err != nil {
		return nil, err
	}
	k := &Keystore{Path: filepath.Join(ks.dir, KeystoreName), Secret: secret, Shared: ks.Shared()}
	if err := keyfile.Create(k.Path, id, secret); err != nil {
		return nil, err
	}
	if err := ks.Sync(ctx); err != nil {
		return nil, err
	}
	if err := Audit(ctx, ks.db, "keys made", map[string]any{"site": id.Site()}); err != nil {
		return nil, err
	}
	if err := ks.db.SetSetting(ctx, keysMadeSetting, id.Site().String()); err != nil {
		return nil, err
	}
	id, card, err := MakeCard(ctx, ks.db, k, ks.CardFields(), nil, now)
	if err != nil {
		return nil, err
	}
	return id, Audit(ctx, ks.db, "card made", map[string]any{"card": card.Serial, "ends": card.NotAfter})
}

// Resume restores a site whose keystore is lost or cannot be opened. It uses the exported root key to make working keys, and a card
// that announces them to partners. secret opens the keystore, which contains the root key if keep is set. Resume renames an existing
// keystore and returns its new name. It fails if the keystore can be opened or if the root key belongs to another site.
func (ks *Keys) Resume(ctx context.Context, root []byte, secret crypto.Secret, keep bool) (id *crypto.Identity, aside string,
	err error) {
	path := filepath.Join(ks.dir, KeystoreName)
	held, err := keyfile.Bytes(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	if held != nil {
		if _, _, err := ks.Open(); err == nil {
			return nil, "", Usagef("the site already has keys in %s", path)
		}
	}
	now := time.Now()
	if id, err = crypto.Resume(root, nil, now, rand.Reader); err != nil {
		return nil, "", err
	}
	if was, err := ks.db.Setting(ctx, keysMadeSetting); err == nil && was != id.Site().String() {
		return nil, "", Usagef("the root key belongs to site %s, but this site is %s", id.Site(), was)
	} else if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return nil, "", err
	}
	fields := ks.CardFields()
	card, err := OwnCard(ctx, ks.db, id)
	if err != nil {
		return nil, "", err
	}
	if card != nil {
		fields = card.CardFields
		if id, err = crypto.Resume(root, card, now, rand.Reader); err != nil {
			return nil, "", err
		}
	}
	if !keep {
		id = id.WithoutRoot()
	}
	if held != nil {
		aside = path + ".aside-" + now.UTC().Format("20060102T150405Z")
		if err := os.Rename(path, aside); err != nil {
			return nil, "", err
		}
	}
	if err := keyfile.Create(path, id, secret); err != nil {
		return nil, aside, err
	}
	k := &Keystore{Path: path, Secret: secret, Shared: ks.Shared()}
	if err := k.share(ctx); err != nil {
		return nil, aside, err
	}
	if err := Audit(ctx, ks.db, "keys made again", map[string]any{"site": id.Site()}); err != nil {
		return nil, aside, err
	}
	if err := ks.db.SetSetting(ctx, keysMadeSetting, id.Site().String()); err != nil {
		return nil, aside, err
	}
	id, _, err = MakeCard(ctx, ks.db, k, fields, root, now, Administrator)
	return id, aside, err
}

// Relock changes the secret that opens the keystore: the key in keyFile or, if keyFile is empty, a passphrase. It removes the key file in
// the folder unless that is keyFile. The site must not be running, since the serving process could no longer open the keystore.
func (ks *Keys) Relock(ctx context.Context, secret crypto.Secret, keyFile string) (*crypto.Identity, error) {
	if _, down := Serving(ctx, ks.dir); down == nil {
		return nil, Usagef("the server is running: stop concordat serve before changing the key of the keystore")
	}
	k, _, err := ks.Open()
	if err != nil {
		return nil, err
	}
	k.opens = &secret
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { c := *id; return &c, nil })
	if err != nil {
		return nil, err
	}
	if old := filepath.Join(ks.dir, KeyFileName); keyFile == "" || absolute(keyFile) != absolute(old) {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return id, Audit(ctx, ks.db, "keystore locked anew", map[string]any{"passphrase": keyFile == ""})
}

func absolute(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		return p
	}
	return path
}

// MakeKeyFile returns the key in the file and creates the file if it is missing.
func MakeKeyFile(path string) (crypto.Secret, error) {
	s, err := RawKeyFrom(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	b := make([]byte, 32)
	rand.Read(b) // cannot fail
	if err := keyfile.Replace(path, b); err != nil {
		return crypto.Secret{}, err
	}
	return crypto.RawKey([32]byte(b)), nil
}

// KeysState describes the state of the site's keys for display.
type KeysState struct {
	Site     crypto.SiteID
	Made     bool      // keys exist and can be opened
	Root     bool      // the keystore contains the root key
	Exported time.Time // when the root key was exported; zero for never
	Asked    bool      // an administrator answered "not now"
	Card     *crypto.Card
}

// WantsExport reports whether to ask for the export of the root key.
func (k KeysState) WantsExport() bool { return k.Made && k.Root && k.Exported.IsZero() && !k.Asked }

// State returns the state of the site's keys. If the keystore needs a passphrase but cannot prompt for it, Made is false.
func (ks *Keys) State(ctx context.Context) (KeysState, error) {
	id, err := SigningIdentity(ks.dir, ks.ask)
	if err != nil || id == nil {
		return KeysState{}, err
	}
	out := KeysState{Site: id.Site(), Made: true, Root: id.HasRoot()}
	if out.Card, err = OwnCard(ctx, ks.db, id); err != nil {
		return out, err
	}
	at, err := ks.db.Setting(ctx, RootExportSetting)
	if err == nil {
		out.Exported, err = time.Parse(time.RFC3339, at)
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return out, fmt.Errorf("%s: %w", RootExportSetting, err)
	}
	_, err = ks.db.Setting(ctx, rootAskedSetting)
	out.Asked = err == nil
	if errors.Is(err, concordat.ErrNotFound) {
		err = nil
	}
	return out, err
}

// PutOffRoot records that the export of the root key was postponed, so that the question is not repeated. It adds the notes to the audit
// in the same transaction.
func (ks *Keys) PutOffRoot(ctx context.Context, notes ...store.AuditNote) error {
	return ks.set(ctx, rootAskedSetting, "not now", notes)
}

// set stores a setting and its audit entries in one transaction.
func (ks *Keys) set(ctx context.Context, name, value string, notes []store.AuditNote) error {
	return ks.db.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.SetSetting(ctx, name, value); err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// LockedRoot returns the site's root key encrypted with a passphrase, and records the export. The key stays in the keystore. It adds the
// notes to the audit in the same transaction.
func (ks *Keys) LockedRoot(ctx context.Context, passphrase crypto.Secret, notes ...store.AuditNote) ([]byte, error) {
	_, id, err := ks.Open()
	if err != nil {
		return nil, err
	}
	if !id.HasRoot() {
		return nil, Usagef("the root key is already kept elsewhere")
	}
	b, err := id.LockRoot(passphrase, rand.Reader)
	if err != nil {
		return nil, err
	}
	return b, ks.set(ctx, RootExportSetting, time.Now().UTC().Format(time.RFC3339), notes)
}

// Refresh renews the card of a site that has its root key and removes expired private keys. It does nothing if the site has no keys
// or if its keystore needs a passphrase and cannot prompt for it.
func (ks *Keys) Refresh(ctx context.Context) error {
	id, err := SigningIdentity(ks.dir, nil)
	if err != nil || id == nil {
		return err
	}
	k, id, err := ks.Open()
	if err != nil {
		return err
	}
	card, err := OwnCard(ctx, ks.db, id)
	if err != nil {
		return err
	}
	if card == nil && id.HasRoot() {
		_, _, err = MakeCard(ctx, ks.db, k, ks.CardFields(), nil, time.Now())
		return err
	}
	_, _, _, err = RefreshCard(ctx, ks.db, k, id, card, time.Now())
	return err
}
