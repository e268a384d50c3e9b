package clustering

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat/cluster"
	"concordat/instance"
)

// This file contains the commands for a node's membership, certificate and service manager.

// completeTime is the maximum time for which a shell waits for node names.
const completeTime = 3 * time.Second

// completeNodes completes node names, from argument number first onwards.
func (a *commands) completeNodes(first int) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		err := a.WithCluster(ctx, func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
			if len(args) < first {
				for _, id := range slices.Sorted(maps.Keys(w.Seen.Shards)) {
					names = append(names, string(id))
				}
				return nil
			}
			for _, id := range slices.Sorted(maps.Keys(l.Members)) {
				if !slices.Contains(args, string(id)) {
					names = append(names, string(id))
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
