package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

func (a *app) peerCommand() *cobra.Command {
	c := &cobra.Command{Use: "peer", Short: "Partner sites: invite, confirm, list, revoke", Args: cobra.NoArgs,
		Long: `A partner is another site that may ask this one, and be asked. To become partners, one administrator makes
an invitation (peer invite) and hands it over; the other redeems it (peer redeem). Both then see the same six
words, read them to each other by telephone or in person, and confirm (peer confirm).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.peerInvite(), a.peerRedeem(), a.peerConfirm(), a.peerList(), a.peerShow(), a.peerName(), a.peerRevoke(), a.peerLibraries())
	return c
}

// roster returns the site's view of its partners. The site must have a card.
func (a *app) roster(ctx context.Context, o *instance.Instance, id *crypto.Identity) (*partners.Roster, error) {
	return partners.OpenRoster(ctx, o, id, a.PartnerOptions(o).Log)
}

func (a *app) peerConfirm() *cobra.Command {
	var words string
	c := &cobra.Command{
		Use: "confirm SITE", Short: "Confirm that both sites show the same six words",
		Long: `confirm shows six words. Call the other site's administrator at a number that you know from elsewhere, and let
them read the words that their screen shows. Only if all six are the same, confirm. Without a terminal the words
that were read to you are given with --words.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.confirm(cmd.Context(), o, args[0], words, cmd.Flags().Changed("words"))
			})
		},
	}
	c.Flags().StringVar(&words, "words", "", "the six words that the other site reads")
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *app) confirm(ctx context.Context, o *instance.Instance, who, words string, given bool) error {
	p, err := o.Partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State != store.PartnerPending {
		return cli.Usagef("%s is %s, not pending", who, p.State)
	}
	if !given {
		if err := a.showPartner(ctx, o, p); err != nil {
			return err
		}
		if !cli.IsTerminal(a.Stdin) {
			return cli.Usagef("no terminal to ask on: give the words that the other site reads with --words")
		}
		fmt.Fprint(a.Stderr, "do both sites show these six words? yes or no: ")
		line, err := bufio.NewReader(a.Stdin).ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) != "yes" {
			return &cli.Exit{Code: cli.Failed, Err: errors.New("not confirmed; if the words differ, revoke the site and tell the other administrator")}
		}
	} else if strings.Join(strings.Fields(strings.ToLower(words)), " ") != p.Words {
		return &cli.Exit{Code: cli.Failed, Err: errors.New("the words differ: somebody may stand between the two sites; nothing was confirmed")}
	}
	// The rules first: they count for an active partner only.
	for _, g := range p.Grants {
		if _, err := o.Share(ctx, store.Share{Library: g.Library, Partner: p.Site, Rule: g.Rule}); err != nil {
			return err
		}
	}
	if err := o.Store.SetPartnerState(ctx, p.Site, store.PartnerPending, store.PartnerActive); err != nil {
		return err
	}
	if err := o.Audit(ctx, "partner confirmed", map[string]any{"site": p.Site, "grants": p.Grants}); err != nil {
		return err
	}
	if p, err = o.Store.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}

func (a *app) peerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List partners, and invitations that are open", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listPartners(cmd.Context(), o) })
		},
	}
}

func (a *app) listPartners(ctx context.Context, o *instance.Instance) error {
	ps, err := o.Store.Partners(ctx)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if a.JSON {
			if err := a.showPartner(ctx, o, p); err != nil {
				return err
			}
			continue
		}
		c, err := crypto.ParseCard(p.Card)
		if err != nil {
			return fmt.Errorf("card of %s: %w", p.Site, err)
		}
		a.Say("%-8s %-12s %s  %s", p.State, p.Name, p.Site, c.Name)
	}
	is, err := o.Store.Invitations(ctx)
	if err != nil {
		return err
	}
	for _, i := range is {
		if !i.Used.IsZero() || time.Now().After(i.Expires) {
			continue
		}
		if a.JSON {
			if err := a.Line(map[string]any{"state": "invited", "note": i.Note, "made": i.Made, "expires": i.Expires, "grants": i.Grants}); err != nil {
				return err
			}
			continue
		}
		a.Say("invited  until %s  %s", i.Expires.Local().Format(time.DateTime), i.Note)
	}
	return nil
}

func (a *app) peerShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show SITE", Short: "Show a partner: card, state, what is open to it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := o.Partner(cmd.Context(), args[0])
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

func (a *app) showPartner(ctx context.Context, o *instance.Instance, p store.Partner) error {
	c, err := crypto.ParseCard(p.Card)
	if err != nil {
		return fmt.Errorf("card of %s: %w", p.Site, err)
	}
	shares, err := o.Store.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	heads, kept, err := knownHeads(ctx, o.Store, p.Site)
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
		return a.Line(map[string]any{"site": p.Site, "state": p.State, "name": p.Name, "title": c.Name, "urls": c.URLs, "contact": c.Contact,
			"serial": p.Serial, "not_after": c.NotAfter, "words": p.Words, "invited": p.Invited, "grants": append([]store.Grant{}, p.Grants...), "shares": append([]store.Share{}, shares...),
			"made": p.Made, "confirmed": p.Confirmed, "revoked": p.Revoked, "heads": len(heads), "contradictions": forks})
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
		a.Say("may ask  %s, shown at most %s", x.Library, x.Rule.Level)
	}
	if len(heads) > 0 {
		a.Say("audit    %d signed heads kept, the last of entry %d", len(heads), heads[len(heads)-1].Seq)
	}
	if forks > 0 {
		a.Say("WARNING  its audit was rewritten: %d heads contradict each other", forks)
	}
	if p.State == store.PartnerPending {
		for _, g := range p.Grants {
			a.Say("will be able to ask %s, shown at most %s", g.Library, g.Rule.Level)
		}
		a.Say("")
		a.Say("    %s", p.Words)
		a.Say("")
		a.Say("compare these six words with the other administrator by telephone, then run")
		a.Say("concordat peer confirm %s", p.Site)
	}
	return nil
}

func (a *app) peerName() *cobra.Command {
	c := &cobra.Command{
		Use: "name SITE NAME", Short: "Give a partner a name for commands; an empty one takes it away", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				p, err := o.Partner(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if _, err := crypto.ParseSiteID(args[1]); err == nil || strings.ContainsAny(args[1], "/ ") {
					return cli.Usagef("name %q: no identity, no / and no space", args[1])
				}
				if err := o.Store.NamePartner(cmd.Context(), p.Site, args[1]); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return cli.Usagef("another partner is called %s", args[1])
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

func (a *app) peerRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke SITE", Aliases: []string{"remove"}, Short: "Refuse a partner from now on, and close all libraries to it",
		Long: `revoke takes effect with the next message. The site keeps what it has been shown, and the secrets of
federations that it shares with this one: remove it from those (concordat federation remove) as well.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.revoke(cmd.Context(), o, args[0]) })
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *app) revoke(ctx context.Context, o *instance.Instance, who string) error {
	p, err := o.Partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State == store.PartnerRevoked {
		return cli.Usagef("%s is revoked already", who)
	}
	// Fail closed: the state first.
	if err := o.Store.SetPartnerState(ctx, p.Site, p.State, store.PartnerRevoked); err != nil {
		return err
	}
	shares, err := o.Store.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	for _, x := range shares {
		if err := o.Unshare(ctx, x.Library, p.Site); err != nil {
			return err
		}
	}
	if err := o.Audit(ctx, "partner revoked", map[string]any{"site": p.Site}); err != nil {
		return err
	}
	ms, err := o.Store.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		for _, x := range m.Members {
			if x.Site == p.Site && x.Removed.IsZero() {
				a.Warn("%s is still in federation %s: concordat federation remove %s %s", who, m.Federation, m.Federation, who)
			}
		}
	}
	if p, err = o.Store.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}

func (a *app) peerLibraries() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "libraries SITE", Short: "Ask a partner which libraries it opens to this site", Args: cobra.ExactArgs(1),
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
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for it")
	c.ValidArgsFunction = a.completePartners
	return c
}

// withPartner calls f with a client of an active partner.
func (a *app) withPartner(ctx context.Context, who string, timeout time.Duration, f func(*federation.Client) error) error {
	return a.withKeys(ctx, func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
		p, err := o.Partner(ctx, who)
		if err != nil {
			return err
		}
		if p.State != store.PartnerActive {
			return cli.Usagef("%s is %s", who, p.State)
		}
		r, err := a.roster(ctx, o, id)
		if err != nil {
			return err
		}
		site, err := crypto.ParseSiteID(string(p.Site))
		if err != nil {
			return err
		}
		c := federation.NewClient(site, r, id.LocalKey("order of sentences"), federation.ClientOptions{Timeout: timeout, Journal: r})
		defer c.Close()
		return f(c)
	})
}

// completePartners completes the names and identities of partners.
func (a *app) completePartners(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) == 0 {
		_ = a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { // nothing to complete is no error of the shell
			ps, err := o.Store.Partners(cmd.Context())
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
