package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/partners"
)

// Site combines a command's terminal with the folder of the site on which it works.
type Site struct {
	Terminal
	Data       string // from --data; if empty, the folder from the environment or the user's default
	Supervised bool   // for serve: a service manager restarts the process

	once    sync.Once // protects signers, which is created on first use
	signers *signing.Source
}

// Dir returns the folder of the site.
func (a *Site) Dir() (string, error) {
	switch {
	case a.Data != "":
		return filepath.Abs(a.Data)
	case os.Getenv("CONCORDAT_DATA") != "":
		return filepath.Abs(os.Getenv("CONCORDAT_DATA"))
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "concordat"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", Usagef("--data is not set, and the home folder cannot be found: %w", err)
	}
	return filepath.Join(home, ".local", "share", "concordat"), nil
}

// Open opens the site in --data, which init must have created.
func (a *Site) Open(ctx context.Context, w instance.Mode) (*instance.Instance, error) {
	dir, err := a.Dir()
	if err != nil {
		return nil, err
	}
	return instance.Open(ctx, dir, w, instance.Options{Ask: a.AskPassphrase, Supervised: a.Supervised})
}

// With opens the site, runs f, and closes it.
func (a *Site) With(ctx context.Context, w instance.Mode, f func(*instance.Instance) error) error {
	o, err := a.Open(ctx, w)
	if err != nil {
		return err
	}
	err = f(o)
	// Do this even after an interruption, because the command ends then too.
	if kept := instance.KeepAuditHead(context.WithoutCancel(ctx), o.Dir, o.Store); errors.Is(kept, concordat.ErrCorrupt) && err == nil {
		a.Warn("%v; see concordat audit verify", kept)
	}
	return errors.Join(err, o.Close())
}

// PartnerOptions returns the options for communicating with the site's partners.
func (a *Site) PartnerOptions(o *instance.Instance) partners.Options {
	log := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: max(o.Config.Log.Level, slog.LevelWarn)}))
	return partners.Options{Log: log, Tell: a.Warn}
}

// Partners opens the site's keystore and card to communicate with its partners.
func (a *Site) Partners(ctx context.Context, o *instance.Instance) (*partners.Client, error) {
	return partners.Open(ctx, o, a.PartnerOptions(o))
}

// Signatures returns the site's signer. It is safe for concurrent use.
func (a *Site) Signatures() *signing.Source {
	a.once.Do(func() {
		a.signers = signing.NewSource(func() (*crypto.Identity, error) {
			dir, err := a.Dir()
			if err != nil {
				return nil, err
			}
			return instance.SigningIdentity(dir, a.AskPassphrase)
		})
	})
	return a.signers
}

// AskPassphrase prompts for a passphrase on the terminal.
func (a *Site) AskPassphrase(prompt string) (crypto.Secret, error) {
	f, ok := a.Stdin.(*os.File)
	if !ok || !IsTerminal(a.Stdin) {
		return crypto.Secret{}, Usagef("the keystore needs a passphrase, but there is no terminal to ask for it and %s is not set", instance.PassphraseVariable)
	}
	fmt.Fprint(a.Stderr, prompt)
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.Stderr)
	if err != nil {
		return crypto.Secret{}, err
	}
	if len(b) == 0 {
		return crypto.Secret{}, Usagef("the passphrase is empty")
	}
	return crypto.Passphrase(b), nil
}

// IsTerminal reports whether r is a terminal, where the user can be prompted.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// NewPassphrase prompts twice, or reads the given file.
func (a *Site) NewPassphrase(path string) (crypto.Secret, error) {
	if path != "" {
		return instance.PassphraseFrom(path)
	}
	one, err := a.AskPassphrase("new passphrase: ")
	if err != nil {
		return one, err
	}
	two, err := a.AskPassphrase("again: ")
	if err == nil && !one.Equal(two) {
		err = Usagef("the passphrases do not match")
	}
	return one, err
}

// OpenKeys opens the folder's keystore; see OpenKeystore.
func (a *Site) OpenKeys(dir string) (*instance.Keystore, *crypto.Identity, error) {
	return instance.OpenKeystore(dir, a.AskPassphrase)
}
