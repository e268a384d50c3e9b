package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/instance"
)

func (a *app) serveCommand() *cobra.Command {
	var listen, title string
	var noCreate bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the site until interrupted; the first time, create it",
		Long: `Where the folder of --data is empty or absent, serve first creates a site in it, as init does, with an
empty library, and prints a link that makes the first administrator. The site is an ordinary one: all
other commands, those of federations and clusters too, take it from there.

Serve shows the pages of the site and does the checks that are handed in there. It holds the index of the site open and answers on its listeners until it is interrupted; calls in
progress are finished first. Meanwhile the other commands work as ever: they reach the index through
the serving process. Only a reindex to another scheme needs the site for itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !noCreate {
				if err := a.createToServe(cmd.Context(), title); err != nil {
					return err
				}
			}
			return a.With(cmd.Context(), instance.Serve, func(o *instance.Instance) error {
				if o.Remote != nil {
					return fmt.Errorf("site %s: %w: it is served already", o.Dir, concordat.ErrLocked)
				}
				if listen != "" {
					o.Config.Serve.Listen = listen
					o.Flags = map[string]string{"serve.listen": "--listen"}
				}
				return a.serve(cmd.Context(), o)
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address of the pages (default: configuration)")
	c.Flags().StringVar(&title, "title", "", "name for people of a site that is created")
	c.Flags().BoolVar(&a.Supervised, "supervised", false,
		"a service manager starts the process again whenever it ends; known under systemd and in containers")
	c.Flags().BoolVar(&noCreate, "no-create", false, "fail where there is no site, instead of creating one")
	return c
}

// serve serves until ctx ends.
func (a *app) serve(ctx context.Context, o *instance.Instance) error {
	err := daemon.Run(ctx, o, daemon.Options{Log: a.Stderr, Sign: a.Signatures(), Tell: a.Warn,
		Started: func(st instance.Status, first string) (err error) {
			if a.JSON {
				err = a.Line(st)
			} else {
				a.Say("serving site %s at http://%s/", st.Site, st.Listen)
			}
			if first != "" { // a secret: it goes to the terminal and not to the log
				fmt.Fprintf(a.Stderr, "make the first administrator, within a day, at http://%s%s\n", st.Listen, first)
			}
			return err
		}})
	if errors.Is(err, instance.ErrRestart) {
		return &cli.Exit{Code: cli.Restart, Err: err}
	}
	return err
}
