package federating

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/federation"
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
	if err := instance.Audit(ctx, o.Store, action, d); err != nil {
		return err
	}
	return a.showNamed(ctx, o, id, f)
}

func (a *commands) showNamed(ctx context.Context, o *instance.Instance, id *crypto.Identity, f string) error {
	m, err := instance.Membership(ctx, o.Store, f)
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

func (a *commands) federationCreate() *cobra.Command {
	return &cobra.Command{
		Use: "create NAME", Short: "Create a federation that this site leads", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx, f := cmd.Context(), args[0]
				id, err := partners.CreateFederation(ctx, o, k, concordat.FederationID(f), instance.Administrator)
				if err != nil {
					return err
				}
				return a.showNamed(ctx, o, id, f)
			})
		},
	}
}

func (a *commands) federationInvite() *cobra.Command {
	c := &cobra.Command{
		Use: "invite NAME SITE...", Short: "Make active partners members of a federation that this site leads",
		Long: `Invite allows the partners to fetch the federation's secret from this site. Their administrators then run
concordat federation join NAME SITE, where SITE is this site.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				var all []store.Partner
				for _, who := range args[1:] {
					p, err := instance.Partner(ctx, o.Store, who)
					if err != nil {
						return err
					}
					all = append(all, p)
				}
				if err := partners.AddMembers(ctx, o, id, concordat.FederationID(args[0]), all, instance.Administrator); err != nil {
					return err
				}
				return a.showNamed(ctx, o, id, args[0])
			})
		},
	}
	return c
}

func (a *commands) federationJoin() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "join NAME SITE", Short: "Fetch the secret of a federation from the partner that leads it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, f := cmd.Context(), concordat.FederationID(args[0])
			return a.withPartner(ctx, args[1], timeout, func(c *federation.Client) error {
				return a.WithKeys(ctx, func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
					id, err := partners.JoinFederation(ctx, o, k, c, f, instance.Administrator)
					if err != nil {
						return err
					}
					return a.showNamed(ctx, o, id, args[0])
				})
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the federation's leader")
	return c
}

func (a *commands) federationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show federations, their members and epochs", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				if len(args) == 1 {
					m, err := instance.Membership(ctx, o.Store, args[0])
					if err != nil {
						return err
					}
					return a.showFederation(id, m)
				}
				ms, err := o.Store.Partners.Memberships(ctx)
				if err != nil {
					return err
				}
				for _, m := range ms {
					if err := a.showFederation(id, m); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *commands) federationRotate() *cobra.Command {
	var overlap time.Duration
	var early bool
	c := &cobra.Command{
		Use: "rotate NAME", Short: "Begin a new epoch of a federation that this site leads",
		Long: `Rotate creates a new secret. Members fetch it and recompute their fingerprints; until --overlap has passed, the
old epoch is served as well. At most two epochs are served at once, and they begin at least a day apart. An epoch that
begins less than 30 days after the last one needs --early here, and the consent of each member's administrator.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				if _, err := partners.Led(cmd.Context(), o, id, concordat.FederationID(args[0])); err != nil {
					return err
				}
				return a.newEpoch(cmd.Context(), o, k, args[0], overlap, early, "federation rotated", nil)
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long to keep serving the old epoch, at most 336h")
	c.Flags().BoolVar(&early, "early", false, "allow an epoch that begins less than 30 days after the last one")
	return c
}

func (a *commands) federationRemove() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "remove NAME SITE...", Short: "Remove members and begin a new epoch without them",
		Long: `Remove takes the sites out of the federation and creates a new secret, which they cannot fetch. If several
sites leave, remove them with one command: epochs begin at least a day apart, and an epoch that begins less than
30 days after the last one needs the consent of every member's administrator. Removed sites keep the secret of the
old epoch, which remains useful until --overlap has passed.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := partners.Led(ctx, o, id, concordat.FederationID(args[0]))
				if err != nil {
					return err
				}
				left := instance.Members(m)
				var gone []concordat.SiteID
				for _, name := range args[1:] {
					p, err := instance.Partner(ctx, o.Store, name)
					if err != nil {
						return err
					}
					i := slices.Index(left, p.Site)
					if i < 0 {
						return cli.Usagef("%s is not a member of federation %s", name, args[0])
					}
					left, gone = slices.Delete(left, i, i+1), append(gone, p.Site)
				}
				// Save the membership first, so that the removed sites get no more secrets.
				if err := o.Store.Partners.Join(ctx, m.Federation, m.Leader, left...); err != nil {
					return err
				}
				return a.newEpoch(ctx, o, k, args[0], overlap, true, "federation member removed", map[string]any{"sites": gone})
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long to keep serving the old epoch, at most 336h")
	return c
}

func (a *commands) federationLeave() *cobra.Command {
	return &cobra.Command{
		Use: "leave NAME", Short: "Leave a federation and delete its secrets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := instance.Membership(ctx, o.Store, args[0])
				if err != nil {
					return err
				}
				if err := o.Store.Partners.Leave(ctx, m.Federation); err != nil {
					return err
				}
				if _, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { return id.Leave(args[0]), nil }); err != nil {
					return err
				}
				if err := instance.Audit(ctx, o.Store, "federation left", map[string]any{"federation": args[0]}); err != nil {
					return err
				}
				if a.JSON {
					return a.Line(map[string]any{"federation": args[0], "left": true})
				}
				a.Say("left federation %s", args[0])
				return nil
			})
		},
	}
}
