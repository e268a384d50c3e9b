package federating

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
	"concordat/view"
)

func PeerCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "peer", Short: "Invite, confirm, list and revoke partner sites", Args: cobra.NoArgs,
		Long: `A partner is another site that sends questions to this one and answers its questions. One administrator creates
an invitation (peer invite) and hands it over; the other administrator redeems it (peer redeem). Both then see the
same six words, read them to each other by telephone or in person, and confirm (peer confirm).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.peerInvite(), a.peerRedeem(), a.peerConfirm(), a.peerList(), a.peerShow(), a.peerName(), a.peerRevoke(), a.peerLibraries())
	return c
}

// shownPartner is a partner with its card and its permissions.
type shownPartner struct {
	view.Partner
	URLs           []string     `json:"urls"`
	Contact        string       `json:"contact"`
	Serial         uint64       `json:"serial"`
	NotAfter       time.Time    `json:"not_after"`
	Grants         []view.Grant `json:"grants"`
	Shares         []view.Share `json:"shares"`
	Heads          int          `json:"heads"`
	Contradictions int          `json:"contradictions"`
}

func (a *commands) showPartner(ctx context.Context, o *instance.Instance, p store.Partner) error {
	c, err := crypto.ParseCard(p.Card)
	if err != nil {
		return fmt.Errorf("parse the card of %s: %w", p.Site, err)
	}
	shares, err := o.Store.Answers.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	heads, kept, err := cli.KnownHeads(ctx, o.Store, p.Site)
	if err != nil {
		return err
	}
	forks := 0
	for _, w := range kept {
		if w.Fork {
			forks++
		}
	}
	if a.JSON {
		asked, err := o.Store.Asks.Exposures(ctx)
		if err != nil {
			return err
		}
		of := []view.Share{}
		for _, x := range shares {
			of = append(of, view.OfShare(x))
		}
		return a.Line(shownPartner{view.OfPartner(p, cmp.Or(c.Name, p.Name, string(p.Site)), asked[p.Site]), c.URLs, c.Contact, p.Serial,
			c.NotAfter, view.OfGrants(p.Grants), of, len(heads), forks})
	}
	a.Say("site     %s", p.Site)
	a.Say("name     %s", strings.TrimSpace(p.Name+"  "+c.Name))
	a.Say("state    %s", p.State)
	for _, u := range c.URLs {
		a.Say("address  %s", u)
	}
	if c.Contact != "" {
		a.Say("contact  %s", c.Contact)
	}
	a.Say("card     %d, in force until %s", p.Serial, c.NotAfter.Local().Format(time.DateTime))
	for _, x := range shares {
		a.Say("access   %s, up to level %s", x.Library, x.Rule.Level)
	}
	if len(heads) > 0 {
		a.Say("audit    %d signed heads kept, the last one for entry %d", len(heads), heads[len(heads)-1].Seq)
	}
	if forks > 0 {
		a.Say("WARNING  the partner's audit log was rewritten: %d heads contradict each other", forks)
	}
	if p.State == store.PartnerPending {
		for _, g := range p.Grants {
			a.Say("will get access to %s, up to level %s", g.Library, g.Rule.Level)
		}
		a.Say("")
		a.Say("    %s", p.Words)
		a.Say("")
		a.Say("compare these six words with the other administrator by telephone, then run")
		a.Say("concordat peer confirm %s", p.Site)
	}
	return nil
}

// withPartner calls f with a client of an active partner.
func (a *commands) withPartner(ctx context.Context, who string, timeout time.Duration, f func(*federation.Client) error) error {
	return a.WithKeys(ctx, func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
		p, err := instance.Partner(ctx, o.Store, who)
		if err != nil {
			return err
		}
		if p.State != store.PartnerActive {
			return cli.Usagef("partner %s is %s", who, p.State)
		}
		r, err := a.Roster(ctx, o, id)
		if err != nil {
			return err
		}
		site, err := crypto.ParseSiteID(string(p.Site))
		if err != nil {
			return err
		}
		c := federation.NewClient(site, r, id.LocalKey("order of sentences"),
			federation.ClientOptions{Timeout: timeout, Allow: o.Config.Federation.Allow, Journal: r})
		defer c.Close()
		return f(c)
	})
}

// completePartners completes the names and identities of partners.
func (a *commands) completePartners(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) == 0 {
		_ = a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { // after an error, there is nothing to complete
			ps, err := o.Store.Partners.Partners(cmd.Context())
			for _, p := range ps {
				out = append(out, string(p.Site))
				if p.Name != "" {
					out = append(out, p.Name)
				}
			}
			return err
		})
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *commands) peerRedeem() *cobra.Command {
	var as string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "redeem INVITATION", Aliases: []string{"accept"}, Short: "Redeem an invitation from another site; - reads it from standard input",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.Stdin, 8192))
				if err != nil {
					return err
				}
				text = string(b)
			}
			inv, err := partners.ParseInvitation(text)
			if err != nil {
				return err
			}
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				return a.redeem(cmd.Context(), o, id, inv, as, timeout)
			})
		},
	}
	c.Flags().StringVar(&as, "name", "", "name to use for the partner in later commands")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the other site")
	return c
}

func (a *commands) redeem(ctx context.Context, o *instance.Instance, id *crypto.Identity, inv *crypto.Invitation, as string,
	timeout time.Duration) error {
	r, err := a.Roster(ctx, o, id)
	if err != nil {
		return err
	}
	p, err := partners.Redeem(ctx, o, r, inv, as, timeout, instance.Administrator)
	if err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}

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
	p, err := instance.Partner(ctx, o.Store, who)
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

func (a *commands) peerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List partners and open invitations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listPartners(cmd.Context(), o) })
		},
	}
}

func (a *commands) listPartners(ctx context.Context, o *instance.Instance) error {
	ps, err := o.Store.Partners.Partners(ctx)
	if err != nil {
		return err
	}
	asked, err := o.Store.Asks.Exposures(ctx)
	if err != nil {
		return err
	}
	for _, p := range ps {
		c, err := crypto.ParseCard(p.Card)
		if err != nil {
			return fmt.Errorf("parse the card of %s: %w", p.Site, err)
		}
		if a.JSON {
			if err := a.Line(view.OfPartner(p, cmp.Or(c.Name, p.Name, string(p.Site)), asked[p.Site])); err != nil {
				return err
			}
			continue
		}
		a.Say("%-8s %-12s %s  %s", p.State, p.Name, p.Site, c.Name)
	}
	is, err := o.Store.Partners.Invitations(ctx)
	if err != nil {
		return err
	}
	for _, i := range is {
		if !i.Used.IsZero() || time.Now().After(i.Expires) {
			continue
		}
		if a.JSON {
			if err := a.Line(map[string]any{"state": "invited", "note": i.Note, "made": i.Made, "expires": i.Expires,
				"grants": view.OfGrants(i.Grants)}); err != nil {
				return err
			}
			continue
		}
		a.Say("invited  until %s  %s", i.Expires.Local().Format(time.DateTime), i.Note)
	}
	return nil
}

func (a *commands) peerShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show SITE", Short: "Show a partner's card, state and shared libraries", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := instance.Partner(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				return a.showPartner(cmd.Context(), o, p)
			})
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) peerLibraries() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "libraries SITE", Short: "Ask a partner which libraries it shares with this site", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPartner(cmd.Context(), args[0], timeout, func(c *federation.Client) error {
				cat, err := c.Catalogue(cmd.Context())
				if err != nil {
					return err
				}
				for _, l := range cat.Libraries {
					if a.JSON {
						err = a.Line(l)
					} else {
						a.Say("%-20s about %8d documents  shows %-9s %s", l.ID, l.Documents, l.Level, l.Title)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the partner")
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) peerName() *cobra.Command {
	c := &cobra.Command{
		Use: "name SITE NAME", Short: "Give a partner a name for use in commands; an empty name removes it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := instance.Partner(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				if _, err := crypto.ParseSiteID(args[1]); err == nil || strings.ContainsAny(args[1], "/ ") {
					return cli.Usagef("name %q must not be a site's identity, and must not contain / or a space", args[1])
				}
				if err := o.Store.Partners.NamePartner(cmd.Context(), p.Site, args[1]); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return cli.Usagef("another partner is already called %s", args[1])
					}
					return err
				}
				p.Name = args[1]
				return a.showPartner(cmd.Context(), o, p)
			})
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) peerRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke SITE", Aliases: []string{"remove"}, Short: "Refuse a partner from now on and stop sharing with it",
		Long: `Revoke takes effect with the next message. The revoked site keeps what it has been shown, and the secrets of the
federations that both sites belong to, so also remove it from those federations (concordat federation remove).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.revoke(cmd.Context(), o, args[0]) })
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) revoke(ctx context.Context, o *instance.Instance, who string) error {
	p, err := instance.Partner(ctx, o.Store, who)
	if err != nil {
		return err
	}
	in, err := partners.Revoke(ctx, o, p, instance.Administrator)
	if err != nil {
		return err
	}
	for _, f := range in {
		a.Warn("%s is still in federation %s; to remove it, run concordat federation remove %s %s", who, f, f, who)
	}
	if p, err = o.Store.Partners.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
