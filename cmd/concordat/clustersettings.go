package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/store"
	"concordat/web"
)

// centralSettings is the document of zk.Settings: what holds on all nodes of a site.
type centralSettings struct {
	Format int `json:"format"`
	// Keys are keys of the configuration with their values, written as in the environment.
	Keys map[string]string `json:"keys"`
	// Libraries are the policies of libraries.
	Libraries map[concordat.LibraryID]store.Policy `json:"libraries"`
}

const centralFormat = 1

// ownKeys belong to each node, or to the cluster as a whole, and have no place among the settings.
var ownKeys = []string{"site.id", "scheme", "store.url", "store.password_file", "serve.listen", "serve.metrics", "federation.listen", "report.certificate", "report.key"}

// parseCentral reads the document. Version 0 is empty.
func parseCentral(c coord.Config) (centralSettings, error) {
	s := centralSettings{Format: centralFormat, Keys: map[string]string{}, Libraries: map[concordat.LibraryID]store.Policy{}}
	if c.Version == 0 || len(c.Data) == 0 {
		return s, nil
	}
	dec := json.NewDecoder(bytes.NewReader(c.Data))
	dec.DisallowUnknownFields() // this program would drop them at the next change
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("settings of the cluster, version %d: %w: %w", c.Version, concordat.ErrCorrupt, err)
	}
	if s.Format != centralFormat {
		return s, fmt.Errorf("settings of the cluster have format %d, this program knows %d: %w", s.Format, centralFormat, concordat.ErrInvalid)
	}
	return s, s.validate()
}

// validate returns all that is wrong with the settings.
func (s centralSettings) validate() error {
	var all []error
	known := map[string]bool{}
	for _, k := range config.Keys() {
		known[k.Name] = true
	}
	for _, k := range slices.Sorted(maps.Keys(s.Keys)) {
		switch {
		case !known[k]:
			all = append(all, fmt.Errorf("%s: no such key", k))
		case slices.Contains(ownKeys, k) || strings.HasPrefix(k, "cluster."):
			all = append(all, fmt.Errorf("%s: each node has its own", k))
		}
	}
	if _, err := config.Load("", s.lookup(nil)); err != nil {
		all = append(all, err)
	}
	for _, l := range slices.Sorted(maps.Keys(s.Libraries)) {
		if err := s.Libraries[l].Validate(); err != nil {
			all = append(all, fmt.Errorf("library %s: %w", l, err))
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("settings: %w: %w", concordat.ErrInvalid, errors.Join(all...))
	}
	return nil
}

// lookup returns an environment for config.Load: the node's own, and below it the settings. So they
// stand over a node's file, and a variable of the node over them.
func (s centralSettings) lookup(own config.Lookup) config.Lookup {
	values := map[string]string{}
	for _, k := range config.Keys() {
		if v, ok := s.Keys[k.Name]; ok {
			values[k.Env()] = v
		}
	}
	return func(name string) (string, bool) {
		if own != nil {
			if v, ok := own(name); ok {
				return v, true
			}
		}
		v, ok := values[name]
		return v, ok
	}
}

// currentSettings returns the settings as they are.
func currentSettings(ctx context.Context, s *zk.Session) (coord.Config, centralSettings, error) {
	select {
	case c := <-s.Settings():
		parsed, err := parseCentral(c)
		return c, parsed, err
	case <-ctx.Done():
		return coord.Config{}, centralSettings{}, fmt.Errorf("ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
}

// saveSettings makes next the version after version.
func (a *app) saveSettings(ctx context.Context, s *zk.Session, version int64, next centralSettings) error {
	if err := next.validate(); err != nil {
		return cli.Usage(err)
	}
	b, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	now, err := s.SetSettings(ctx, version, append(b, '\n'))
	switch {
	case errors.Is(err, coord.ErrUnknown):
		return fmt.Errorf("%w: see concordat cluster zookeeper history whether version %d is there", err, version+1)
	case err != nil:
		return err
	}
	if a.JSON {
		return a.Line(map[string]int64{"version": now})
	}
	a.Say("settings have version %d", now)
	return nil
}

func (a *app) clusterSettingsCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "Show the settings that hold on all nodes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, now, err := currentSettings(ctx, s)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(struct {
						Version int64 `json:"version"`
						centralSettings
					}{c.Version, now})
				}
				a.Say("version %d", c.Version)
				for _, k := range slices.Sorted(maps.Keys(now.Keys)) {
					a.Say("%s = %s", k, now.Keys[k])
				}
				for _, l := range slices.Sorted(maps.Keys(now.Libraries)) {
					b, err := json.Marshal(now.Libraries[l])
					if err != nil {
						return err
					}
					a.Say("library %s: %s", l, b)
				}
				return nil
			})
		},
	}
}

func (a *app) clusterSetCommand(z *zookeeperFlags) *cobra.Command {
	var unset []string
	var policies map[string]string
	var version int64
	c := &cobra.Command{
		Use: "set [KEY=VALUE...]", Short: "Change settings on all nodes",
		Long: `Set changes keys of the configuration (doc/config.md) on all nodes. They stand over the file of a
node, and a variable of a node's environment stands over them. Nodes take them while they run; for keys that need a
restart of each node it says so. All changes of one call are made together
or not at all, as a new version. With --if-version they are made only to that version.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(unset)+len(policies) == 0 {
				return cli.Usagef("nothing to set; see %s --help", cmd.CommandPath())
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, next, err := currentSettings(ctx, s)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("if-version") && c.Version != version {
					return fmt.Errorf("settings have version %d, not %d: %w", c.Version, version, concordat.ErrChanged)
				}
				for _, arg := range args {
					k, v, ok := strings.Cut(arg, "=")
					if !ok {
						return cli.Usagef("%q is not KEY=VALUE", arg)
					}
					next.Keys[k] = v
				}
				if err := next.edit(unset, policies, cmd.InOrStdin()); err != nil {
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
	c.Flags().StringSliceVar(&unset, "unset", nil, "keys, or libraries as library/NAME, to take out")
	c.Flags().StringToStringVar(&policies, "policy", nil, "LIBRARY=FILE: policy of a library as JSON; - is stdin")
	c.Flags().Int64Var(&version, "if-version", 0, "the version that has to be there")
	return c
}

// edit takes out what is named and puts in the policies of the files.
func (s *centralSettings) edit(unset []string, policies map[string]string, stdin io.Reader) error {
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

func (a *app) clusterHistoryCommand(z *zookeeperFlags) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "history", Short: "List the versions of the settings, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				all, err := s.History(ctx, zk.Settings, limit)
				if err != nil {
					return err
				}
				for _, p := range all {
					var doc json.RawMessage
					if json.Unmarshal(p.Data, &doc) != nil {
						doc, _ = json.Marshal(string(p.Data)) // of a program that wrote something else
					}
					if a.JSON {
						err = a.Line(struct {
							web.ClusterVersion
							Data json.RawMessage `json:"data"`
						}{web.ClusterVersion{Version: p.Version, Set: p.Set.UTC()}, doc})
					} else {
						var flat bytes.Buffer
						err = json.Compact(&flat, doc)
						a.Say("%d  %s  %s", p.Version, p.Set.Local().Format(time.DateTime), &flat)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "at most so many")
	return c
}

func (a *app) clusterRevertCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "revert VERSION", Short: "Make the settings what they were in an earlier version", Args: cobra.ExactArgs(1),
		Long: "Revert writes the settings of an earlier version as a new one; nothing is lost of what was between.",
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || version < 1 {
				return cli.Usagef("%q is no version", args[0])
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				var now coord.Config
				select {
				case now = <-s.Settings():
				case <-ctx.Done():
					return fmt.Errorf("ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
				}
				all, err := s.History(ctx, zk.Settings, 1000)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(all, func(p zk.Past) bool { return p.Version == version })
				if i < 0 {
					return fmt.Errorf("version %d of the settings: %w", version, concordat.ErrNotFound)
				}
				old, err := parseCentral(all[i].Config)
				if err != nil {
					return err
				}
				return a.saveSettings(ctx, s, now.Version, old)
			})
		},
	}
}
