package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
)

// askPassphrase reads a passphrase from the terminal.
func (a *app) askPassphrase(prompt string) (crypto.Secret, error) {
	f, ok := a.Stdin.(*os.File)
	if !ok || !isTerminal(a.Stdin) {
		return crypto.Secret{}, cli.Usagef("the keystore needs a passphrase: no terminal to ask on, and %s is not set", instance.PassphraseVariable)
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
		return instance.PassphraseFrom(path)
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

// openKeys opens the keystore of the folder; see OpenKeystore.
func (a *app) openKeys(dir string) (*instance.Keystore, *crypto.Identity, error) {
	return instance.OpenKeystore(dir, a.askPassphrase)
}
