package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/profile"
)

func (a *app) initCommand() *cobra.Command {
	var id, title, scheme, database string
	var public bool
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a site in an empty or absent folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if a.Data != "" && a.Data != args[0] {
					return cli.Usagef("init %s and --data %s name different folders", args[0], a.Data)
				}
				a.Data = args[0]
			}
			return a.initSite(cmd.Context(), id, title, scheme, database, public)
		},
	}
	c.Flags().StringVar(&id, "site", "", "identity of the site (default: random)")
	c.Flags().StringVar(&title, "title", "", "display name of the site")
	c.Flags().StringVar(&database, "store", "",
		"keep the store in a PostgreSQL database, such as postgres://concordat@db.example.edu/concordat (default: a file in the folder)")
	c.Flags().BoolVar(&public, "public", false, "compute fingerprints without a site key, so that other implementations can compare them")
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme: "+strings.Join(profile.Names(), ", "))
	return c
}

// siteName is the syntax of a site's identity in the configuration.
var siteName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func (a *app) initSite(ctx context.Context, id, title, scheme, database string, public bool) error {
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if id == "" {
		id = instance.RandomSite()
	}
	if !siteName.MatchString(id) {
		return cli.Usagef("--site %q: must be at most 63 lower-case letters, digits and . _ -, beginning with a letter or digit", id)
	}
	entries, err := os.ReadDir(dir)
	absent := errors.Is(err, os.ErrNotExist)
	if err != nil && !absent {
		return err
	}
	if len(entries) > 0 {
		return cli.Usagef("%s is not empty: a site must be created in an empty folder", dir)
	}
	p, err := instance.Create(ctx, dir, id, title, scheme, database, public)
	if _, made := os.Stat(filepath.Join(dir, instance.StoreName)); err != nil && errors.Is(made, os.ErrNotExist) {
		for _, name := range []string{instance.ConfigName, instance.IndexKeyName} { // the folder was empty before
			_ = os.Remove(filepath.Join(dir, name))
		}
		if absent {
			_ = os.Remove(dir)
		}
	}
	if err != nil {
		return err
	}
	if err := a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error { _, err := o.Keys.Ensure(ctx); return err }); err != nil {
		return fmt.Errorf("cannot create keys for site %s: %w", id, err)
	}
	if a.JSON {
		return a.Line(map[string]any{"site": id, "dir": dir, "scheme": p.Scheme()})
	}
	a.Say("created site %s in %s", id, dir)
	a.Say("reports are signed with the site's keys; keep a copy of the root key elsewhere with concordat site key export-root FILE --keep")
	return nil
}
