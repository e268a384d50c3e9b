package federating

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
	"concordat/store"
)

func MirrorCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "mirror", Short: "Mirror the fingerprints of partners' libraries", Args: cobra.NoArgs,
		Long: `A mirror holds the fingerprints, titles and authors of a partner's library, if its owner allows this (library share
--ship). concordat check compares submissions with every complete mirror, without anything leaving the site.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var deadline time.Duration
	sync := &cobra.Command{
		Use: "sync SITE/LIBRARY", Short: "Fetch the changes to a partner's library since the last sync", Args: cobra.ExactArgs(1),
		Long: `Sync creates the mirror of a partner's library or updates it. After an interruption, repeat the
command to continue. If the owner has closed the library, its mirror is deleted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline <= 0 {
				return cli.Usagef("--deadline %v: want a positive duration", deadline)
			}
			return a.withMirrorName(cmd.Context(), args[0], func(o *instance.Instance, who, lib string) error {
				return a.syncMirror(cmd.Context(), o, who, concordat.LibraryID(lib), deadline)
			})
		},
	}
	sync.Flags().DurationVar(&deadline, "deadline", site.DefaultDeadline, "time limit for each shipment")
	c.AddCommand(sync,
		&cobra.Command{Use: "list", Short: "List mirrors, and show whether checks use them", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listMirrors(cmd.Context(), o) })
			}},
		&cobra.Command{Use: "drop SITE/LIBRARY", Short: "Delete the mirror of a partner's library", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withMirrorName(cmd.Context(), args[0], func(o *instance.Instance, who, lib string) error {
					return a.dropMirrors(cmd.Context(), o, who, concordat.LibraryID(lib))
				})
			}})
	return c
}

// withMirrorName opens the site and calls f with the two parts of SITE/LIBRARY.
func (a *commands) withMirrorName(ctx context.Context, text string, f func(o *instance.Instance, who, lib string) error) error {
	who, lib, ok := strings.Cut(text, "/")
	if !ok || who == "" || lib == "" {
		return cli.Usagef("%s: want SITE/LIBRARY", text)
	}
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error { return f(o, who, lib) })
}

// syncMirror runs mirror sync.
func (a *commands) syncMirror(ctx context.Context, o *instance.Instance, who string, lib concordat.LibraryID,
	deadline time.Duration) error {
	p, err := instance.Partner(ctx, o.Store, who)
	if err != nil {
		return err
	}
	if p.State != store.PartnerActive {
		return cli.Usagef("partner %s is %s", who, p.State)
	}
	c, err := a.Partners(ctx, o)
	if err != nil {
		return err
	}
	cl, err := c.Connect(p.Site, deadline)
	if err != nil {
		return err
	}
	defer cl.Close()
	f, e, ready, err := c.MirrorEpoch(ctx, cl, lib)
	if err != nil {
		return err
	}
	pr, err := c.Profiler(f, e)
	if err != nil {
		return err
	}
	m := site.MirroredLibrary{Site: p.Site, Library: lib, Epoch: concordat.Epoch{Federation: concordat.FederationID(f.Name),
		Number: e.Number}, Profiler: pr}
	ms, b := partners.NewMirrorStore(o, a.Warn), a.Progress(-1, "documents")
	done, known, err := ms.Fetch(ctx, cl, m, func(s ask.Synced) { b.Set(s.Documents) })
	b.Done()
	if err != nil {
		return err
	}
	if done.Withdrawn && !known {
		return fmt.Errorf("mirror of %s/%s: %w: the library is not shared with this site", who, lib, concordat.ErrRefused)
	}
	if !done.Withdrawn {
		err = ms.DropOlder(ctx, m)
	} else {
		err = ms.DropUnless(ctx, m.Site, m.Library, func(store.Mirror) bool { return false })
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": m.Site, "library": lib, "epoch": m.Epoch.String(), "documents": done.Documents,
			"removed": done.Removed, "withheld": done.Withheld,
			"sentences": done.Sentences, "complete": done.Complete, "withdrawn": done.Withdrawn, "ready": ready})
	}
	if done.Withdrawn {
		a.Say("%s/%s is no longer shared with this site, so its mirror was deleted", who, lib)
		return nil
	}
	a.Say("%s/%s, epoch %s: %s new or changed (%s), %d removed", who, lib, m.Epoch, report.Plural(done.Documents, "document", "documents"),
		report.Plural(done.Sentences, "sentence", "sentences"), done.Removed)
	if done.Withheld > 0 {
		a.Say("%s not shipped from the library because this site has word sets of the same texts; to cover the whole library, name the partner in a check",
			report.Plural(done.Withheld, "document is", "documents are"))
	}
	if ready < 1 {
		a.Say("so far, the partner has fingerprinted %s of the library; sync again later", report.English.Percent(ready))
	}
	return nil
}

// dropMirrors runs mirror drop.
func (a *commands) dropMirrors(ctx context.Context, o *instance.Instance, who string, lib concordat.LibraryID) error {
	partner := concordat.SiteID(who)
	if p, err := instance.Partner(ctx, o.Store, who); err == nil {
		partner = p.Site
	}
	n := 0
	if err := partners.NewMirrorStore(o, a.Warn).DropUnless(ctx, partner, lib, func(store.Mirror) bool { n++; return false }); err != nil {
		return err
	}
	if n == 0 {
		return cli.Usagef("no mirror of %s/%s; see concordat mirror list", who, lib)
	}
	if a.JSON {
		return a.Line(map[string]any{"site": partner, "library": lib, "dropped": n})
	}
	a.Say("the mirror of %s/%s is deleted", who, lib)
	return nil
}

// listMirrors runs mirror list.
func (a *commands) listMirrors(ctx context.Context, o *instance.Instance) error {
	all, err := o.Asks.Mirrors(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	c, err := a.Partners(ctx, o)
	if err != nil {
		return err
	}
	for _, x := range all {
		_, why, err := c.MirrorKey(x, time.Now())
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.Line(map[string]any{"site": x.Site, "library": x.Library, "epoch": x.Epoch.String(), "documents": x.Documents,
				"withheld": x.Withheld, "sentences": x.Sentences, "synced": x.Synced, "complete": x.Complete, "used": why == "", "why": why})
		} else {
			state := "used by checks"
			if x.Withheld > 0 {
				state += fmt.Sprintf(", without %s that the partner does not ship", report.Plural(x.Withheld, "document", "documents"))
			}
			if why != "" {
				state = "not used: " + why
			}
			a.Say("%s/%s  %s  %s, %s  %s  %s", x.Site, x.Library, x.Epoch, report.Plural(x.Documents, "document", "documents"),
				report.Plural(x.Sentences, "sentence", "sentences"), x.Synced.Local().Format(time.DateTime), state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
