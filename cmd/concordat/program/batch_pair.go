package program

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site/batch"
	"concordat/store"
)

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
