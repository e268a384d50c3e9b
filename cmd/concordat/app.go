package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/partners"
)

// app is what all commands share.
type app struct {
	cli.Terminal
	data       string
	supervised bool // serve: a service manager starts the process again

	signers *signing.Source // of the site, made with the first use
}

// dir returns the folder of the site.
func (a *app) dir() (string, error) {
	switch {
	case a.data != "":
		return filepath.Abs(a.data)
	case os.Getenv("CONCORDAT_DATA") != "":
		return filepath.Abs(os.Getenv("CONCORDAT_DATA"))
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "concordat"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("no --data and no home folder: %w", err)
	}
	return filepath.Join(home, ".local", "share", "concordat"), nil
}

// open opens the site of --data, which init has made.
func (a *app) open(ctx context.Context, w instance.Mode) (*instance.Instance, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	return instance.Open(ctx, dir, w, instance.Options{Ask: a.askPassphrase, Supervised: a.supervised})
}

// with opens the site, runs f, and closes it.
func (a *app) with(ctx context.Context, w instance.Mode, f func(*instance.Instance) error) error {
	o, err := a.open(ctx, w)
	if err != nil {
		return err
	}
	return errors.Join(f(o), o.Close())
}

// Options say how commands speak with partners of the site.
func (a *app) partnerOptions(o *instance.Instance) partners.Options {
	log := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: max(o.Config.Log.Level, slog.LevelWarn)}))
	return partners.Options{Log: log, Tell: a.Warn}
}

// circle opens the keystore and the card of the site, and speaks with its partners.
func (a *app) circle(ctx context.Context, o *instance.Instance) (*partners.Client, error) {
	return partners.Open(ctx, o, a.partnerOptions(o))
}

// signatures returns what signs for the site of --data.
func (a *app) signatures() *signing.Source {
	if a.signers == nil {
		a.signers = signing.NewSource(func() (*crypto.Identity, error) {
			dir, err := a.dir()
			if err != nil {
				return nil, err
			}
			return instance.SigningIdentity(dir, a.askPassphrase)
		})
	}
	return a.signers
}
