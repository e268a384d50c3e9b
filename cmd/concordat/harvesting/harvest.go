// Package harvesting implements the commands that harvest repositories and folders. Start from Command.
package harvesting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/harvest"
	"concordat/instance"
	"concordat/store"
	"concordat/view"
)

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }

// Command returns "concordat harvest".
func Command(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "harvest", Short: "Keep libraries filled from repositories and folders", Args: cobra.NoArgs,
		Long: `A source is a repository that speaks OAI-PMH or ResourceSync, or a folder. concordat serve
reads each source on its schedule: new and changed documents are added to the library, with authors, dates,
licences and links; texts under embargo wait until it ends; documents that the source withdraws leave the
library. For details, see doc/harvest.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.add(), a.list(), a.run(), a.records(), a.remove())
	return c
}

func (a *commands) add() *cobra.Command {
	var spec harvest.Spec
	var library string
	c := &cobra.Command{Use: "add URL --library L", Short: "Add a source", Args: cobra.ExactArgs(1),
		Long: `Add registers a source; concordat serve starts reading it immediately. URL is the address of a repository or of its
OAI-PMH interface, of a ResourceSync description or list, or of a folder, such as file:///srv/theses.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if library == "" {
				return cli.Usagef("--library is required: name the library to fill")
			}
			spec.URL, spec.Library = args[0], concordat.LibraryID(library)
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if _, err := instance.Library(cmd.Context(), o.Store, library); err != nil {
					return err
				}
				h, err := harvest.NewSource(spec, daemon.HarvestFetch(o), true, time.Now())
				if err != nil {
					return cli.Usage(err)
				}
				err = o.Store.Atomic(cmd.Context(), func(tx *store.DB) error {
					if err := tx.Harvest.AddSource(cmd.Context(), h); err != nil {
						return err
					}
					return tx.Audit.Note(cmd.Context(), cli.Operator(), "harvest_added", map[string]any{"source": h.ID, "url": h.URL,
						"library": h.Library})
				})
				if errors.Is(err, concordat.ErrExists) {
					return cli.Usagef("source %s already exists; choose a different name with --name", h.ID)
				}
				if err != nil {
					return err
				}
				return a.show(cmd.Context(), o, h.ID)
			})
		}}
	f := c.Flags()
	f.StringVarP(&library, "library", "l", "", "library to fill")
	f.StringVar(&spec.ID, "name", "", "name of the source (default: taken from the address)")
	f.StringVar(&spec.Kind, "kind", "", "kind of source: oai or resourcesync (default: detected from the address)")
	f.StringVar(&spec.Set, "set", "", "set of records to read (default: all records)")
	f.StringVar(&spec.Format, "format", "", "metadata format, such as oai_dc (default: the format with the most information about texts)")
	f.DurationVar(&spec.Every, "every", 24*time.Hour, "time between runs (0: run only on request)")
	f.StringVar(&spec.Withdrawn, "withdrawn", store.HarvestDelete, "what to do with documents that the source withdraws: delete or keep")
	return c
}

func (a *commands) list() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List sources and their progress", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				all, err := o.Store.Harvest.Sources(cmd.Context())
				for _, h := range all {
					if err == nil {
						err = a.show(cmd.Context(), o, h.ID)
					}
				}
				return err
			})
		}}
}

func (a *commands) show(ctx context.Context, o *instance.Instance, id string) error {
	h, err := o.Store.Harvest.Source(ctx, id)
	if err != nil {
		return err
	}
	counts, err := o.Store.Harvest.CountRecords(ctx, id)
	if err != nil {
		return err
	}
	shown := view.OfHarvest(h, counts)
	if a.JSON {
		return a.Line(struct {
			Type string `json:"type"`
			view.Harvest
		}{"harvest", shown})
	}
	when := "on request"
	if h.Every > 0 {
		when = "every " + strings.TrimSuffix(strings.TrimSuffix(h.Every.String(), "0s"), "0m")
	}
	a.Say("%s: %s into %s, %s", h.ID, h.URL, h.Library, when)
	switch {
	case h.State.Phase != "" && h.State.Size > 0:
		a.Say("  %s since %s: %d of %d records listed", h.State.Phase, local(h.State.Started), h.State.Listed, h.State.Size)
	case h.State.Phase != "":
		a.Say("  %s since %s: %d records listed", h.State.Phase, local(h.State.Started), h.State.Listed)
	case !h.State.Ended.IsZero():
		a.Say("  last run ended %s", local(h.State.Ended))
	}
	var parts []string
	for _, s := range store.HarvestRecordStates {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) > 0 {
		a.Say("  records: %s", strings.Join(parts, ", "))
	}
	if shown.Cause != "" {
		a.Say("  %s", shown.Cause)
	}
	return nil
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

func (a *commands) run() *cobra.Command {
	var whole bool
	c := &cobra.Command{Use: "run NAME", Short: "Read a source now", Args: cobra.ExactArgs(1),
		Long: `Run reads a source now. If the server is running, the server does the reading. With --whole,
all records are listed again, and documents that the source no longer lists are removed, however many they are.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.runSource(cmd.Context(), o,
					args[0], whole)
			})
		}}
	c.Flags().BoolVar(&whole, "whole", false, "list all records again, and remove documents that the source no longer lists")
	return c
}

func (a *commands) runSource(ctx context.Context, o *instance.Instance, id string, whole bool) error {
	h, err := o.Store.Harvest.Source(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no source %s; see concordat harvest list", id)
	}
	if err != nil {
		return err
	}
	ask := h.State.Ask
	if whole {
		ask = harvest.AskWhole
	}
	next := h.Next
	if o.Remote != nil {
		next = time.Now()
	}
	err = o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Harvest.PlanSource(ctx, id, next, ask); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, cli.Operator(), "harvest_asked", map[string]any{"source": id, "whole": whole})
	})
	if err != nil {
		return err
	}
	if o.Remote != nil {
		a.Say("%s: the server is reading this source; to see the progress, run concordat harvest list", id)
		return nil
	}
	r := instance.NewReader(instance.Extraction(o.Config), 0)
	log := slog.New(slog.DiscardHandler)
	e := instance.Eraser(o, a.Signatures().Receipt, log)
	err = daemon.Harvester(o, r, e, log).Run(ctx, id)
	if _, resumed := e.Resume(context.WithoutCancel(ctx)); resumed != nil && err == nil {
		a.Warn("deleted, but some bytes are still on disk: %v", resumed)
	}
	err = errors.Join(err, r.Close())
	if errors.Is(err, store.ErrLease) {
		return fmt.Errorf("source %s is being read by another process: %w", id, err)
	}
	return errors.Join(err, a.show(ctx, o, id))
}

func (a *commands) records() *cobra.Command {
	var state string
	c := &cobra.Command{Use: "records NAME", Short: "List the records of a source, and explain why a text is missing", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && !slices.Contains(store.HarvestRecordStates, store.HarvestRecordState(state)) {
				return cli.Usagef("--state %s: want one of %v", state, store.HarvestRecordStates)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.listRecords(cmd.Context(), o, args[0], store.HarvestRecordState(state))
			})
		}}
	c.Flags().StringVar(&state, "state", "", "list only records in this state, such as failed or embargoed")
	return c
}

func (a *commands) listRecords(ctx context.Context, o *instance.Instance, id string, state store.HarvestRecordState) error {
	if _, err := o.Store.Harvest.Source(ctx, id); err != nil {
		return err
	}
	for after := ""; ; {
		rows, err := o.Store.Harvest.ListRecords(ctx, id, state, after, 500)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.ID
			if a.JSON {
				err = a.Line(struct {
					Type string `json:"type"`
					view.HarvestRecord
				}{"record", view.OfHarvestRecord(r)})
			} else {
				a.Say("%s\t%s\t%s\t%s", r.State, r.ID, r.Work.Title, r.Detail)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (a *commands) remove() *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Remove a source, but keep its documents in the library", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				err := o.Store.Atomic(cmd.Context(), func(tx *store.DB) error {
					if err := tx.Harvest.RemoveSource(cmd.Context(), args[0]); err != nil {
						return err
					}
					return tx.Audit.Note(cmd.Context(), cli.Operator(), "harvest_source_removed", map[string]any{"source": args[0]})
				})
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("no source %s; see concordat harvest list", args[0])
				}
				return err
			})
		}}
}
