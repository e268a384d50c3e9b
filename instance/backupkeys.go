package instance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"concordat"
	"concordat/crypto"
	"concordat/instance/backup"
	"concordat/store"
)

// BackupStageName is the folder in a site for the state while it is encrypted into a backup.
const BackupStageName = ".backing-up"

// These sources supply the secret that opens an encrypted backup if no flag does.
const (
	BackupIdentityVariable   = "CONCORDAT_BACKUP_IDENTITY_FILE"   // identities as written by age-keygen
	BackupPassphraseVariable = "CONCORDAT_BACKUP_PASSPHRASE_FILE" // one line
)

// ErrNoBackupKey means that neither recipients nor a passphrase are configured.
var ErrNoBackupKey = errors.New("a backup that contains the site's keys must be encrypted: set a recipient with --recipient or " +
	"backup.recipients in the configuration, or choose a passphrase with --passphrase or --passphrase-file; use --plain to skip encryption")

// backupEncryption is the setting for the encryption of backups.
const backupEncryption = "backup encryption"

// backupKeys is the value of that setting.
type backupKeys struct {
	Names     []byte `json:"names"`               // key for the names of originals
	Recipient string `json:"recipient,omitempty"` // recipient of the identity
	Identity  []byte `json:"identity,omitempty"`  // encrypted with a passphrase
}

// BackupEncryption returns the encryption for a backup, for the given recipients, if any, otherwise with the given passphrase, or by
// default with the previous one. replaced reports whether the given passphrase replaces an earlier one. Without any of these, it fails
// with ErrNoBackupKey.
func BackupEncryption(ctx context.Context, db *store.DB, to []string, passphrase *crypto.Secret) (e backup.Encrypt, replaced bool,
	err error) {
	keys, err := readBackupKeys(ctx, db)
	if err != nil {
		return e, false, err
	}
	save := false
	if len(keys.Names) != len(e.Names) {
		keys.Names, save = make([]byte, len(e.Names)), true
		if _, err := rand.Read(keys.Names); err != nil {
			return e, false, err
		}
	}
	switch {
	case len(to) > 0:
		e.Recipients, err = crypto.ParseRecipients(to)
	case passphrase != nil:
		had := len(keys.Identity) > 0
		var made bool
		made, err = keys.take(*passphrase)
		save, replaced = save || made, made && had
		fallthrough
	case keys.Recipient != "":
		if err == nil {
			e.Recipients, err = crypto.ParseRecipients([]string{keys.Recipient})
		}
		e.Identity = keys.Identity
	default:
		err = Usage(ErrNoBackupKey)
	}
	if err != nil {
		return e, false, err
	}
	e.Names = [32]byte(keys.Names)
	if !save {
		return e, replaced, nil
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return e, false, err
	}
	return e, replaced, db.SetSetting(ctx, backupEncryption, string(text))
}

// take creates a new identity unless the passphrase opens the existing one.
func (k *backupKeys) take(s crypto.Secret) (made bool, err error) {
	if len(k.Identity) > 0 {
		_, err := crypto.ParseIdentities(k.Identity, func() (crypto.Secret, error) { return s, nil })
		if !errors.Is(err, crypto.ErrPassphrase) {
			return false, err
		}
	}
	r, locked, err := crypto.NewLockedIdentity(s)
	if err != nil {
		return false, err
	}
	k.Recipient, k.Identity = r.Names()[0], locked
	return true, nil
}

func readBackupKeys(ctx context.Context, db *store.DB) (k backupKeys, err error) {
	text, err := db.Setting(ctx, backupEncryption)
	if errors.Is(err, concordat.ErrNotFound) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &k)
	}
	if err != nil {
		return k, fmt.Errorf("setting %s: %w", backupEncryption, err)
	}
	return k, nil
}

// BackupIdentities returns the identities that open the backup. They come from the file named by the argument or the environment, or else
// from the backup itself, after ask returns its passphrase. found is false if both sources are missing.
func BackupIdentities(b *backup.Backup, file string, ask func() (crypto.Secret, error)) (o crypto.Opener, found bool, err error) {
	if file == "" {
		file = os.Getenv(BackupIdentityVariable)
	}
	if file != "" {
		text, err := readSmall(file, maxIdentities)
		if err != nil {
			return o, false, err
		}
		if o, err = crypto.ParseIdentities(text, ask); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
		return o, true, err
	}
	locked, err := b.LockedIdentity()
	if errors.Is(err, backup.ErrLocked) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	o, err = crypto.ParseIdentities(locked, ask)
	return o, true, err
}

// maxIdentities is the maximum size of an identity file in bytes.
const maxIdentities = 64 << 10
