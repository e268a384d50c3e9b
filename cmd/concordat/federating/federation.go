package federating

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

func FederationCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "federation", Short: "Manage federations, whose members share fingerprint keys", Args: cobra.NoArgs,
		Long: `The members of a federation share a secret, from which the keys of their fingerprints are derived. The site that
creates a federation leads it: it decides who is a member and begins each new epoch of the secret.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.federationCreate(), a.federationInvite(), a.federationJoin(), a.federationRotate(), a.federationRemove(),
		a.federationLeave(), a.federationShow())
	return c
}

// changedFederation writes the audit entry and prints the federation after the change.
func (a *commands) changedFederation(ctx context.Context, o *instance.Instance, id *crypto.Identity, f, action string,
	detail map[string]any) error {
	d := map[string]any{"federation": f}
	for k, v := range detail {
		d[k] = v
	}
	if err := o.Audit(ctx, action, d); err != nil {
		return err
	}
	return a.showNamed(ctx, o, id, f)
}

func (a *commands) showNamed(ctx context.Context, o *instance.Instance, id *crypto.Identity, f string) error {
	m, err := o.Membership(ctx, f)
	if err != nil {
		return err
	}
	return a.showFederation(id, m)
}

// newEpoch begins an epoch and reports whether members need an administrator's consent.
func (a *commands) newEpoch(ctx context.Context, o *instance.Instance, k *instance.Keystore, f string, overlap time.Duration, early bool,
	action string, detail map[string]any) error {
	id, err := partners.BeginEpoch(ctx, o, k, concordat.FederationID(f), overlap, early)
	if err != nil {
		return err
	}
	if err := a.changedFederation(ctx, o, id, f, action, detail); err != nil {
		return err
	}
	held, err := id.Federation(f)
	if err != nil {
		return err
	}
	es := held.Epochs
	if n := len(es); n > 1 && es[n-1].From.Sub(es[n-2].From) < crypto.EpochAge {
		a.Warn("this epoch begins less than %d days after the previous one, so each member accepts it only after its administrator runs "+
			"concordat federation join %s %s", crypto.EpochAge/(24*time.Hour), f, instance.PartnerName(id.Site()))
	}
	return nil
}

func (a *commands) showFederation(id *crypto.Identity, m store.Membership) error {
	epochs := slices.DeleteFunc(partners.EpochSpans(id), func(e partners.EpochSpan) bool { return e.Federation != m.Federation })
	if a.JSON {
		return a.Line(map[string]any{"federation": m.Federation, "leader": m.Leader, "leads": m.Leader == instance.PartnerName(id.Site()),
			"joined": m.Joined, "members": m.Members, "epochs": epochs})
	}
	a.Say("federation %s, led by %s", m.Federation, m.Leader)
	for _, e := range epochs {
		until := "open"
		if !e.To.IsZero() {
			until = "until " + e.To.Local().Format(time.DateTime)
		}
		a.Say("  epoch  %d, from %s, %s", e.Number, e.From.Local().Format(time.DateTime), until)
	}
	for _, x := range m.Members {
		if x.Removed.IsZero() {
			a.Say("  member %s", x.Site)
		} else {
			a.Say("  gone   %s, since %s", x.Site, x.Removed.Local().Format(time.DateTime))
		}
	}
	return nil
}
