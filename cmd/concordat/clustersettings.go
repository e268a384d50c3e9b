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
	"concordat/instance"
	"concordat/store"
	"concordat/web"
)

// saveSettings makes next the version after version.
func (a *app) saveSettings(ctx context.Context, s *zk.Session, version int64, next instance.CentralSettings) error {
	if err := next.Validate(); err != nil {
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
				c, now, err := instance.CurrentSettings(ctx, s)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(struct {
						Version int64 `json:"version"`
						instance.CentralSettings
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
				c, next, err := instance.CurrentSettings(ctx, s)
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
	c.Flags().StringSliceVar(&unset, "unset", nil, "keys, or libraries as library/NAME, to take out")
	c.Flags().StringToStringVar(&policies, "policy", nil, "LIBRARY=FILE: policy of a library as JSON; - is stdin")
	c.Flags().Int64Var(&version, "if-version", 0, "the version that has to be there")
	return c
}

// editSettings takes out what is named and puts in the policies of the files.
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
				old, err := instance.ParseCentral(all[i].Config)
				if err != nil {
					return err
				}
				return a.saveSettings(ctx, s, now.Version, old)
			})
		},
	}
}
