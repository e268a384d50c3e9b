package clustering

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"concordat/cluster/local"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterCoordinator() *cobra.Command {
	var listen, file string
	var timeout time.Duration
	c := &cobra.Command{Use: "coordinator", Short: "Run a coordinator, to try a cluster without ZooKeeper", Args: cobra.NoArgs,
		Long: `The coordinator keeps its state in one file. It has no replica and no authentication: use it
only to try a cluster on one machine. While it is down, the nodes answer queries but accept no documents.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return cli.Usagef("--timeout %v: want a positive duration", timeout)
			}
			hub, err := local.Open(file)
			if err != nil {
				return err
			}
			l, err := instance.Listen("coordinator", "--listen", listen)
			if err != nil {
				return err
			}
			s := local.NewServer(hub, timeout)
			a.Say("the coordinator is listening at http://%s", l.Addr())
			h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			stop := context.AfterFunc(ctx, func() { _ = h.Close() }) // interrupts waiting calls
			defer stop()
			ran := make(chan error, 1)
			go func() { ran <- s.Run(ctx) }()
			if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return <-ran
		}}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8430", "address")
	c.Flags().StringVar(&file, "file", "coordinator.json", "file in which the coordinator keeps its state")
	c.Flags().DurationVar(&timeout, "timeout", local.DefaultTimeout, "how long a node may be silent before it counts as gone")
	return c
}
