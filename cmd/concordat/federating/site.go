package federating

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
)

func SiteCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "site", Short: "Manage the site's keys and its card", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key := &cobra.Command{Use: "key", Short: "Create, show and change the site's keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	key.AddCommand(a.keyInit(), a.keyShow(), a.keyRotate(), a.keyExportRoot())
	c.AddCommand(key, a.cardCommand())
	return c
}

// rootSeed returns the root key from an exported file, or nil if the keystore has it.
func (a *commands) rootSeed(id *crypto.Identity, path string) ([]byte, error) {
	if path == "" {
		if !id.HasRoot() {
			return nil, cli.Usagef("the root key is not in the keystore; give its file with --root")
		}
		return nil, nil
	}
	return a.exportedRoot(path)
}

// exportedRoot returns the root key from an exported file.
func (a *commands) exportedRoot(path string) ([]byte, error) {
	b, err := keyfile.Bytes(path)
	if err != nil {
		return nil, err
	}
	var s crypto.Secret
	switch file := os.Getenv("CONCORDAT_ROOT_PASSPHRASE_FILE"); {
	case !crypto.NeedsPassphrase(b):
		return nil, cli.Usagef("%s is not an exported root key", path)
	case file != "":
		s, err = instance.PassphraseFrom(file)
	default:
		s, err = a.AskPassphrase("passphrase for the root key: ")
	}
	if err != nil {
		return nil, err
	}
	return crypto.UnlockRoot(b, s)
}

// showCard prints a validated card.
func (a *commands) showCard(c *crypto.Card) error {
	if a.JSON {
		return a.Line(map[string]any{"site": c.Site, "name": c.Name, "urls": c.URLs, "contact": c.Contact, "serial": c.Serial,
			"not_before": c.NotBefore, "not_after": c.NotAfter, "sha256": fmt.Sprintf("%x", c.Digest()), "modes": modeNames(c.Modes)})
	}
	a.Say("site     %s", c.Site)
	a.Say("name     %s", c.Name)
	for _, u := range c.URLs {
		a.Say("address  %s", u)
	}
	if c.Contact != "" {
		a.Say("contact  %s", c.Contact)
	}
	a.Say("card     %d, in force from %s to %s", c.Serial, c.NotBefore.Local().Format(time.DateTime), c.NotAfter.Local().Format(time.DateTime))
	return nil
}

func modeNames(m crypto.Modes) []string {
	names := []string{}
	if m&crypto.ModeSealed != 0 {
		names = append(names, "sealed")
	}
	if m&crypto.ModeBlind != 0 {
		names = append(names, "blind")
	}
	return names
}
