package main

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/site/batch"
	"concordat/store"
)

// batchLineage sets which pairs do not count.
func (a *app) batchLineage(with withBatch) *cobra.Command {
	rules := batch.DefaultLineage()
	c := &cobra.Command{Use: "lineage ID", Short: "Set which pairs of a batch are shown and do not count", Args: cobra.ExactArgs(1),
		Long: `Lineage sets the rules by which pairs of a batch do not count; a flag that is left out is as shown. The reports
of the documents concerned follow, what was set is on record, and setting it back undoes it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				if err := batch.SetLineage(ctx, o.Site, o.Store, b.ID, actor, rules, o.Config.Report.Rules); err != nil {
					return err
				}
				return a.showBatch(ctx, o, b.ID)
			})
		}}
	c.Flags().BoolVar(&rules.Author, "author", rules.Author, "pairs of one declared author")
	c.Flags().BoolVar(&rules.Group, "group", rules.Group, "pairs of one declared group")
	c.Flags().BoolVar(&rules.Draft, "draft", rules.Draft, "a draft and its later version")
	c.Flags().BoolVar(&rules.Metadata, "metadata", rules.Metadata, "the files' own metadata say who the author is, too")
	return c
}
