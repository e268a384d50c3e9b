package federating

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
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
		p, err := o.Partner(ctx, who)
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
