package federating

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

func (a *commands) peerConfirm() *cobra.Command {
	var words string
	c := &cobra.Command{
		Use: "confirm SITE", Short: "Confirm that both sites show the same six words",
		Long: `Confirm shows six words. Call the other site's administrator at a number that you know from elsewhere, and ask
for the words on their screen. Confirm only if all six are the same. Without a terminal, give the words that
were read to you with --words.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.confirm(cmd.Context(), o, args[0], words, cmd.Flags().Changed("words"))
			})
		},
	}
	c.Flags().StringVar(&words, "words", "", "the six words read out by the other site")
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) confirm(ctx context.Context, o *instance.Instance, who, words string, given bool) error {
	p, err := o.Partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State != store.PartnerPending {
		return cli.Usagef("partner %s is %s, not pending", who, p.State)
	}
	if !given {
		if err := a.showPartner(ctx, o, p); err != nil {
			return err
		}
		if !cli.IsTerminal(a.Stdin) {
			return cli.Usagef("cannot ask for confirmation without a terminal; give the words read out by the other site with --words")
		}
		fmt.Fprint(a.Stderr, "do both sites show these six words? yes or no: ")
		line, err := bufio.NewReader(a.Stdin).ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) != "yes" {
			return &cli.Exit{Code: cli.Failed,
				Err: errors.New("not confirmed; if the words differ, revoke the site and tell the other administrator")}
		}
	} else if err := partners.SameWords(p, words); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	if err := partners.Confirm(ctx, o, p, instance.Administrator); err != nil {
		return err
	}
	if p, err = o.Store.Partners.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
