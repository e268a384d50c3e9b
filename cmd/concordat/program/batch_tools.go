package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/deleting"
	"concordat/instance"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
)

// actor is the name recorded for decisions made on the command line.
const actor = "command line"

// batchTools returns the subcommands of batch.
func (a *app) batchTools() []*cobra.Command {
	var limit int
	list := &cobra.Command{Use: "list", Short: "List batches, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listBatches(cmd.Context(), o, limit) })
		}}
	list.Flags().IntVar(&limit, "limit", 50, "maximum number of batches")
	withBatch := func(cmd *cobra.Command, id string, f func(context.Context, *instance.Instance, store.Batch) error) error {
		return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
			b, err := findBatch(cmd.Context(), o, id)
			if err != nil {
				return err
			}
			return f(cmd.Context(), o, b)
		})
	}
	show := &cobra.Command{Use: "show ID", Short: "Show the results of a batch so far", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBatch(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error { return a.showBatch(ctx, o, b.ID) })
		}}
	var out, language string
	export := &cobra.Command{Use: "export ID --out DIR", Short: "Write a batch's overview page, tables and reports to a folder",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return cli.Usagef("--out is missing: name a folder")
			}
			return withBatch(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				w := batchWriter{a: a, o: o, rules: o.Config.Report.Rules, dir: out}
				err := w.open(ctx, b.ID)
				if err != nil {
					return err
				}
				if w.language, err = instance.Language(o.Config, language); err != nil {
					return err
				}
				if err := w.write(ctx); err != nil {
					return err
				}
				return w.tell()
			})
		}}
	export.Flags().StringVarP(&out, "out", "o", "", "folder for the overview page, tables and reports")
	addLanguage(export.Flags(), &language)
	cancel := &cobra.Command{Use: "cancel ID", Short: "Cancel a batch and keep the results so far", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBatch(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				err := o.Store.Batches.FinishBatch(ctx, b.ID, concordat.TaskFailed, store.Cause{Detail: "cancelled on the command line"}, nil)
				if errors.Is(err, store.ErrLease) {
					return nil // it has finished
				}
				return err
			})
		}}
	remove := deleting.Deletion(&a.Site, "delete ID", "Delete a batch with its texts and reports, and issue a receipt",
		cobra.ExactArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (retain.Target, error) {
			b, err := findBatch(ctx, o, args[0])
			if err == nil && (b.State == concordat.TaskRunning || b.State == concordat.TaskQueued) {
				err = cli.Usagef("batch %s has not finished; run concordat batch cancel %s first", b.ID, b.ID)
			}
			return retain.Target{Batches: []string{args[0]}}, err
		})
	all := []*cobra.Command{show, export, cancel, remove, a.batchLineage(withBatch), a.batchPair(withBatch)}
	for _, c := range all {
		c.ValidArgsFunction = a.completeBatches
	}
	return append(all, list)
}

// findBatch returns the batch named by the user.
func findBatch(ctx context.Context, o *instance.Instance, id string) (store.Batch, error) {
	b, err := o.Store.Batches.Batch(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		err = cli.Usagef("batch %s not found; see concordat batch list", id)
	}
	return b, err
}

// completeBatches completes the ID of a batch.
func (a *app) completeBatches(cmd *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
		bs, err := o.Store.Batches.Batches(cmd.Context(), nil, 0, 50)
		for _, b := range bs {
			out = append(out, b.ID+"\t"+b.Title)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

type withBatch func(cmd *cobra.Command, id string, f func(context.Context, *instance.Instance, store.Batch) error) error

func (a *app) listBatches(ctx context.Context, o *instance.Instance, limit int) error {
	bs, err := o.Store.Batches.Batches(ctx, nil, 0, limit)
	if err != nil {
		return err
	}
	for _, b := range bs {
		if a.JSON {
			err = a.Line(view.OfBatch(b))
		} else {
			a.Say("%s  %s  %-7s  %s %d/%d  %s %s", b.ID, b.Made.Local().Format(time.DateTime), b.State, b.Stage, b.Done, b.Total, b.Title, b.Cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showBatch(ctx context.Context, o *instance.Instance, id string) error {
	w := batchWriter{a: a, o: o, rules: o.Config.Report.Rules}
	if err := w.open(ctx, id); err != nil {
		return err
	}
	if a.JSON {
		return w.lines(a.Line)
	}
	s := w.summary()
	a.Say("batch %s, %s: %d documents, %d unreadable; threshold %.2f: %d pairs in %d clusters, %d more pairs do not count", s.ID, s.State,
		s.Documents, s.Unread, s.Threshold, s.Pairs, s.Clusters, s.Excused)
	w.tellLeftOut(s)
	for _, p := range w.v.PairLines() {
		why := ""
		if p.Reason != "" {
			why = "  does not count: " + p.Reason
		}
		a.Say("  %3.0f%%  %s – %s%s", 100*p.Share, p.A, p.B, why)
	}
	w.tellLeads()
	for _, m := range w.v.Members {
		var fresh []batch.FreshSource
		if err := json.Unmarshal(m.Fresh, &fresh); err != nil {
			return fmt.Errorf("cannot read the new sources of %s: %w: %v", m.Name, concordat.ErrCorrupt, err)
		}
		for _, f := range fresh {
			a.Say("  new since the last round: %s in %s/%s (%s)", m.Name, f.Library, f.Document, f.Title)
		}
	}
	return nil
}

// batchPair records a decision about one pair.
func (a *app) batchPair(with withBatch) *cobra.Command {
	var count, discount, byRules bool
	var why string
	c := &cobra.Command{Use: "pair ID DOCUMENT DOCUMENT", Short: "Decide whether a pair of a batch counts", Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			verdict := ""
			switch {
			case count && !discount && !byRules:
				verdict = store.VerdictCount
			case discount && !count && !byRules:
				verdict = store.VerdictDiscount
			case !byRules || count || discount:
				return cli.Usagef("specify exactly one of --count, --discount and --by-rules")
			}
			return with(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				numbers, err := pairNumbers(ctx, o, b.ID, args[1], args[2])
				if err != nil {
					return err
				}
				if err := batch.SetVerdict(ctx, o.Site, o.Store, b.ID, actor, numbers[0], numbers[1], verdict, why,
					o.Config.Report.Rules); err != nil {
					return err
				}
				return a.showBatch(ctx, o, b.ID)
			})
		}}
	c.Flags().BoolVar(&count, "count", false, "count the pair, regardless of the rules")
	c.Flags().BoolVar(&discount, "discount", false, "do not count the pair, regardless of the rules")
	c.Flags().BoolVar(&byRules, "by-rules", false, "let the rules decide whether the pair counts")
	c.Flags().StringVar(&why, "reason", "", "reason for the decision")
	return c
}

// pairNumbers returns the member numbers of a pair, in order of their names.
func pairNumbers(ctx context.Context, o *instance.Instance, id, a, b string) (out [2]int, err error) {
	members, err := o.Store.Batches.BatchMembers(ctx, id)
	if err != nil {
		return out, err
	}
	for i, name := range []string{min(a, b), max(a, b)} {
		found := false
		for _, m := range members {
			if m.Name == name {
				out[i], found = m.Number, true
			}
		}
		if !found {
			return out, cli.Usagef("document %s not found in batch %s", name, id)
		}
	}
	return out, nil
}

// batchLineage selects the pairs that do not count.
func (a *app) batchLineage(with withBatch) *cobra.Command {
	rules := batch.DefaultLineage()
	c := &cobra.Command{Use: "lineage ID", Short: "Choose which pairs of a batch are shown but not counted", Args: cobra.ExactArgs(1),
		Long: `Lineage sets which pairs of a batch do not count; flags that you omit take their default values.
The documents' reports change accordingly. Changes are recorded and can be undone.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				if err := batch.SetLineage(ctx, o.Site, o.Store, b.ID, actor, rules, o.Config.Report.Rules); err != nil {
					return err
				}
				return a.showBatch(ctx, o, b.ID)
			})
		}}
	c.Flags().BoolVar(&rules.Author, "author", rules.Author, "do not count pairs that share a declared author")
	c.Flags().BoolVar(&rules.Group, "group", rules.Group, "do not count pairs from the same declared group")
	c.Flags().BoolVar(&rules.Draft, "draft", rules.Draft, "do not count pairs of a draft and its later version")
	c.Flags().BoolVar(&rules.Metadata, "metadata", rules.Metadata, "also read authors from the files' metadata")
	return c
}

// wordingState describes whether wording shared by several documents counts.
func wordingState(l batch.WordingLine) string {
	switch {
	case l.Decide:
		return "to be decided"
	case l.Counted:
		return "counts"
	case l.Why != "":
		return "does not count: " + l.Why
	}
	return "does not count: " + string(l.Kind)
}

// pageNames is the maximum number of documents named in a row of wording on the page.
const pageNames = 12

// firstNames returns the names that a row shows; wording.csv lists all documents.
func firstNames(names []string) string {
	if n := len(names) - pageNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:pageNames], ", "), n)
	}
	return strings.Join(names, ", ")
}
