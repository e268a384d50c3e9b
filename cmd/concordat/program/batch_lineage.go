package program

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
