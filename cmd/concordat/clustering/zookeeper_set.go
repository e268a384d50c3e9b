package clustering

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/store"
)

func (a *commands) clusterSetCommand(z *zookeeperFlags) *cobra.Command {
	var unset []string
	var policies map[string]string
	var version int64
	c := &cobra.Command{
		Use: "set [KEY=VALUE...]", Short: "Change settings on all nodes",
		Long: `Set changes configuration keys (doc/config.md) on all nodes. They override each node's file,
and a node's environment overrides them. Running nodes apply them; set names the keys that need a restart. All
changes in one call are made together as a new version, or not at all. With --if-version, they are made only if
the settings still have that version.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(unset)+len(policies) == 0 {
				return cli.Usagef("nothing to set; see %s --help", cmd.CommandPath())
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, next, err := instance.CurrentSettings(ctx, s)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("if-version") && c.Version != version {
					return fmt.Errorf("the settings are at version %d, not %d: %w", c.Version, version, concordat.ErrChanged)
				}
				for _, arg := range args {
					k, v, ok := strings.Cut(arg, "=")
					if !ok {
						return cli.Usagef("%q is not of the form KEY=VALUE", arg)
					}
					next.Keys[k] = v
				}
				if err := editSettings(&next, unset, policies, cmd.InOrStdin()); err != nil {
					return err
				}
				if err := a.saveSettings(ctx, s, c.Version, next); err != nil {
					return err
				}
				for _, k := range slices.Concat(args, unset) {
					k, _, _ = strings.Cut(k, "=")
					if i := slices.IndexFunc(config.Keys(), func(known config.Key) bool { return known.Name == k }); i >= 0 && !config.Keys()[i].Live {
						a.Say("%s takes effect at the next start of each node", k)
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringSliceVar(&unset, "unset", nil, "keys, or libraries as library/NAME, to remove")
	c.Flags().StringToStringVar(&policies, "policy", nil, "LIBRARY=FILE: read the policy of the library from a JSON file (- for standard input)")
	c.Flags().Int64Var(&version, "if-version", 0, "make the changes only if the settings have this version")
	return c
}

// editSettings removes the given keys and adds the policies from the files.
func editSettings(s *instance.CentralSettings, unset []string, policies map[string]string, stdin io.Reader) error {
	for _, k := range unset {
		if l, ok := strings.CutPrefix(k, "library/"); ok {
			delete(s.Libraries, concordat.LibraryID(l))
		} else {
			delete(s.Keys, k)
		}
	}
	for l, file := range policies {
		in := stdin
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return cli.Usage(err)
			}
			defer f.Close()
			in = f
		}
		dec := json.NewDecoder(io.LimitReader(in, coord.MaxConfig))
		dec.DisallowUnknownFields()
		var p store.Policy
		if err := dec.Decode(&p); err != nil {
			return cli.Usagef("policy of library %s: %w", l, err)
		}
		s.Libraries[concordat.LibraryID(l)] = p
	}
	return nil
}
