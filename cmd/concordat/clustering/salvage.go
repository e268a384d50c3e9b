package clustering

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterSalvage() *cobra.Command {
	var dry, remove bool
	var export string
	c := &cobra.Command{Use: "salvage", Short: "Restore documents from copies that were put aside on this machine", Args: cobra.NoArgs,
		Long: `A copy of a shard that is damaged, or that holds records its master lacks, is not thrown away: its folder stays
next to the new one, as NN.aside-1. Salvage compares such copies with the catalogue. A document that the
catalogue lists with the same text and that the index lacks is added again. Documents that the catalogue does
not list were deleted or never acknowledged, and are left out.

With --export, salvage first writes every document of the copies to a file, one JSON object per line; combined
with --dry-run, it does nothing else. With --remove it deletes the copies at the end. Run salvage on each machine
that concordat cluster status names.`,
		Example: "  concordat cluster salvage --dry-run\n  concordat cluster salvage --dry-run --export all.jsonl\n  concordat cluster salvage --remove",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.Dir()
			if err != nil {
				return err
			}
			c, err := instance.ReadConfig(dir)
			if err != nil {
				return err
			}
			if c.Cluster.Coordinator == "" {
				return cli.Usagef("the site runs on one machine, where no copies are put aside")
			}
			if export != "" {
				if err := a.exportAsides(cmd, dir, export); err != nil {
					return err
				}
			}
			var out instance.Salvaged
			err = instance.CallServing(cmd.Context(), dir, fmt.Sprintf("/salvage?dry=%t&remove=%t", dry, remove), nil, &out)
			if errors.Is(err, concordat.ErrUnavailable) {
				return cli.Usagef("concordat serve must be running on this machine: %w", err)
			}
			if err != nil {
				return err
			}
			if a.JSON {
				return a.Line(out)
			}
			for _, s := range out.Asides {
				a.Say("shard %s, put aside on %s: %s (%s)", s.Shard, s.Time.Format("2006-01-02 15:04"), s.Reason, s.Folder)
			}
			if len(out.Asides) == 0 {
				a.Say("no copy was put aside on this machine")
				return nil
			}
			verb := "restored"
			if dry {
				verb = "would be restored"
			}
			a.Say("%d documents %s; %d are already in the index, %d have been replaced since, %d are not in the catalogue", out.Taken, verb, out.Present,
				out.Replaced, out.Unlisted)
			if len(out.Some) > 0 {
				a.Say("these documents include %s", strings.Join(out.Some, ", "))
			}
			if out.Removed {
				a.Say("deleted the copies that were put aside")
			}
			return nil
		}}
	c.Flags().BoolVar(&dry, "dry-run", false, "only count the documents that would be added")
	c.Flags().BoolVar(&remove, "remove", false, "delete the copies that were put aside once everything has been added")
	c.Flags().StringVar(&export, "export", "", "write every document of the copies to `FILE`, which must not exist, before adding any")
	return c
}

// exportedDocument is a line of the exported file.
type exportedDocument struct {
	Shard  concordat.ShardID `json:"shard"`
	Folder string            `json:"folder"`
	*concordat.Document
}

func (a *commands) exportAsides(cmd *cobra.Command, dir, file string) (err error) {
	c, err := instance.ReadConfig(dir)
	if err != nil {
		return err
	}
	asides, err := instance.AsidesOf(dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Usage(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, n := json.NewEncoder(f), 0
	for _, s := range asides {
		if err := s.Documents(cmd.Context(), c.Site.ID, func(d *concordat.Document) error {
			n++
			return out.Encode(exportedDocument{s.Shard, s.Folder, d})
		}); err != nil {
			return fmt.Errorf("%s: %w", s.Folder, err)
		}
	}
	a.Say("wrote %d documents from %d copies to %s", n, len(asides), file)
	return nil
}

// asideOf returns a sentence that names this machine and the shards whose copies were set aside.
func asideOf(s cluster.NodeState) string {
	var shards []string
	for _, a := range s.Asides {
		shards = append(shards, string(a.Shard))
	}
	return fmt.Sprintf("node %s has put aside copies of shards %s; run concordat cluster salvage on that node", s.Node, strings.Join(shards, ", "))
}
