package main

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/site/batch"
	"concordat/store"
)

// batchLineage selects the pairs that do not count.
func (a *app) batchLineage(with withBatch) *cobra.Command {
	rules := batch.DefaultLineage()
	c := &cobra.Command{Use: "lineage ID", Short: "Set which pairs of a batch are shown without counting", Args: cobra.ExactArgs(1),
		Long: `Lineage sets which pairs of a batch do not count; flags that you leave out keep their value.
The documents' reports change accordingly. Changes are recorded and can be undone.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd, args[0], func(ctx context.Context, o *instance.Instance, b store.Batch) error {
				if err := batch.SetLineage(ctx, o.Site, o.Store, b.ID, actor, rules, o.Config.Report.Rules); err != nil {
					return err
				}
				return a.showBatch(ctx, o, b.ID)
			})
		}}
	c.Flags().BoolVar(&rules.Author, "author", rules.Author, "ignore pairs with a declared author in common")
	c.Flags().BoolVar(&rules.Group, "group", rules.Group, "ignore pairs from the same declared group")
	c.Flags().BoolVar(&rules.Draft, "draft", rules.Draft, "ignore a draft and its later version")
	c.Flags().BoolVar(&rules.Metadata, "metadata", rules.Metadata, "also take authors from the files' metadata")
	return c
}
