package backups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/backup"
)

// backupFlags contains the flags of backup.
type backupFlags struct {
	withoutKeys, passphrase, plain bool
	recipients                     []string
	passphraseFile                 string
}

// encryption returns the encryption of a backup, or nil if it is not encrypted.
func (a *commands) encryption(ctx context.Context, o *instance.Instance, f backupFlags) (*backup.Encrypt, error) {
	ways := 0
	for _, given := range []bool{f.plain, len(f.recipients) > 0, f.passphrase || f.passphraseFile != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return nil, cli.Usagef("--recipient, --passphrase and --plain cannot be combined")
	}
	if f.plain {
		return nil, nil
	}
	to := f.recipients
	var passphrase *crypto.Secret
	if f.passphrase || f.passphraseFile != "" {
		s, err := a.NewPassphrase(f.passphraseFile)
		if err != nil {
			return nil, err
		}
		passphrase = &s
	} else if len(to) == 0 {
		to = o.Config.Backup.Recipients
	}
	e, replaced, err := instance.BackupEncryption(ctx, o.Store, to, passphrase)
	if errors.Is(err, instance.ErrNoBackupKey) {
		if f.withoutKeys {
			return nil, nil
		}
		if !cli.IsTerminal(a.Stdin) {
			return nil, err
		}
		a.Say("choose a passphrase for this site's backups; without the passphrase, the backups cannot be opened")
		s, err := a.NewPassphrase("")
		if err != nil {
			return nil, err
		}
		e, replaced, err = instance.BackupEncryption(ctx, o.Store, nil, &s)
		if err != nil {
			return nil, err
		}
	} else if errors.Is(err, crypto.ErrFormat) {
		return nil, cli.Usage(err)
	} else if err != nil {
		return nil, err
	}
	if replaced {
		a.Warn("new backups use the new passphrase; earlier backups still need the old passphrase")
	}
	return &e, nil
}

// stage holds the site's state until it is encrypted. There is one per backup.
type stage struct {
	dir, state string
	lock       *os.File
}

// takeStage creates the stage in the site's folder after removing what is left of an earlier one.
func takeStage(site string) (*stage, error) {
	dir := filepath.Join(site, instance.BackupStageName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := instance.LockIndex(dir)
	if errors.Is(err, concordat.ErrLocked) {
		return nil, fmt.Errorf("another backup of the site is in progress: %w", concordat.ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	s := &stage{dir, filepath.Join(dir, "state"), lock}
	if err := os.RemoveAll(s.state); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *stage) release() error { return errors.Join(os.RemoveAll(s.dir), s.lock.Close()) }

// openFlags specifies how to open an encrypted backup.
type openFlags struct {
	identity, passphraseFile string
	passphrase               bool // prompt for it
}

func (f *openFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.identity, "identity", "",
		"file with the identity that opens the backup (default: the file named by $"+instance.BackupIdentityVariable+")")
	c.Flags().StringVar(&f.passphraseFile, "passphrase-file", "",
		"file whose first line is the passphrase of the backup (default: the file named by $"+instance.BackupPassphraseVariable+", or a prompt on the terminal)")
}

// given reports whether the flags name any means of opening a backup.
func (f openFlags) given() bool {
	return f.identity != "" || f.passphraseFile != "" || f.passphrase || os.Getenv(instance.BackupIdentityVariable) != "" ||
		os.Getenv(instance.BackupPassphraseVariable) != ""
}

// unlock opens an encrypted backup for reading.
func (a *commands) unlock(b *backup.Backup, f openFlags) error {
	if b.Unlocked() {
		return nil
	}
	ask := func() (crypto.Secret, error) {
		path := f.passphraseFile
		if path == "" && !f.passphrase {
			path = os.Getenv(instance.BackupPassphraseVariable)
		}
		if path != "" {
			return instance.PassphraseFrom(path)
		}
		if !cli.IsTerminal(a.Stdin) {
			return crypto.Secret{}, cli.Usagef("the backup needs a passphrase: use --passphrase-file or $%s to name a file that contains the passphrase",
				instance.BackupPassphraseVariable)
		}
		return a.AskPassphrase("backup passphrase: ")
	}
	opener, found, err := instance.BackupIdentities(b, f.identity, ask)
	if errors.Is(err, crypto.ErrPassphrase) {
		return errors.New("this passphrase does not open the backup")
	}
	if err != nil {
		return err
	}
	if !found {
		return cli.Usagef("the backup is encrypted: use --identity or $%s to name the identity file of one of its recipients",
			instance.BackupIdentityVariable)
	}
	if err = b.Unlock(opener); errors.Is(err, backup.ErrRecipient) {
		return fmt.Errorf("%w; to list the recipients, run concordat backup show", err)
	}
	return err
}

func (a *commands) verifyBackup(ctx context.Context, dir string, f openFlags) error {
	b, err := backup.Open(dir)
	if err != nil {
		return err
	}
	if f.given() {
		if err := a.unlock(b, f); err != nil {
			return err
		}
	}
	bar := a.Progress(b.Manifest.Bytes, "reading")
	faults, err := b.Verify(func(n int) error { bar.Add(n); return ctx.Err() })
	bar.Done()
	if err != nil {
		return err
	}
	for _, f := range faults {
		if a.JSON {
			err = errors.Join(err, a.Line(f))
		} else {
			a.Say("%s: %s", f.Path, f.Reason)
		}
	}
	if err != nil || len(faults) > 0 {
		return errors.Join(err, &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%d of %d files in the backup are damaged or missing",
			len(faults), b.Manifest.Files)})
	}
	if a.JSON {
		return a.Line(map[string]any{"verified": b.Manifest.Files, "bytes": b.Manifest.Bytes, "made": b.Manifest.Made,
			"opened": b.Unlocked()})
	}
	a.Say("all %d files in the backup made on %s are intact", b.Manifest.Files, b.Manifest.Made.Local().Format(time.DateTime))
	if !b.Unlocked() {
		a.Say("the encrypted files were not opened; to check their contents, use --identity or --passphrase-file")
	}
	return nil
}
