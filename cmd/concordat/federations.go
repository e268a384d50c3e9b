package main

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
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

func (a *app) federationCommand() *cobra.Command {
	c := &cobra.Command{Use: "federation", Short: "Federations: groups of sites that share fingerprint keys", Args: cobra.NoArgs,
		Long: `The members of a federation share a secret, from which the keys of their fingerprints come. The site that creates
a federation leads it: it says who is a member and begins each new epoch of the secret.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.federationCreate(), a.federationInvite(), a.federationJoin(), a.federationRotate(), a.federationRemove(), a.federationLeave(), a.federationShow())
	return c
}

// ledFederation is Membership of a federation that this site leads.
func ledFederation(ctx context.Context, o *instance.Instance, id *crypto.Identity, f string) (store.Membership, error) {
	m, err := o.Membership(ctx, f)
	if err == nil && m.Leader != instance.PartnerName(id.Site()) {
		err = cli.Usagef("federation %s is led by %s: ask its administrator", f, m.Leader)
	}
	return m, err
}

func (a *app) federationCreate() *cobra.Command {
	return &cobra.Command{
		Use: "create NAME", Short: "Create a federation that this site leads", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx, f := cmd.Context(), args[0]
				if _, err := o.Membership(ctx, f); err == nil {
					return cli.Usagef("federation %s exists already", f)
				}
				id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
					return id.NewEpoch(f, time.Now(), 0, rand.Reader)
				})
				if errors.Is(err, crypto.ErrFormat) {
					return cli.Usage(err)
				}
				if err != nil {
					return err
				}
				self := instance.PartnerName(id.Site())
				if err := o.Store.Join(ctx, concordat.FederationID(f), self, self); err != nil {
					return err
				}
				return a.changedFederation(ctx, o, id, f, "federation created", nil)
			})
		},
	}
}

// changedFederation writes the audit and prints what the federation has become.
func (a *app) changedFederation(ctx context.Context, o *instance.Instance, id *crypto.Identity, f, action string, detail map[string]any) error {
	d := map[string]any{"federation": f}
	for k, v := range detail {
		d[k] = v
	}
	if err := o.Audit(ctx, action, d); err != nil {
		return err
	}
	m, err := o.Membership(ctx, f)
	if err != nil {
		return err
	}
	return a.showFederation(id, m)
}

func (a *app) federationInvite() *cobra.Command {
	c := &cobra.Command{
		Use: "invite NAME SITE...", Short: "Make active partners members of a federation that this site leads",
		Long: `invite allows the sites to fetch the federation's secret from this one; their administrators run
concordat federation join NAME SITE, where SITE is this one.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := ledFederation(ctx, o, id, args[0])
				if err != nil {
					return err
				}
				sites := instance.Members(m)
				var added []concordat.SiteID
				for _, who := range args[1:] {
					p, err := o.Partner(ctx, who)
					if err != nil {
						return err
					}
					if p.State != store.PartnerActive {
						return cli.Usagef("%s is %s: only active partners can be members", who, p.State)
					}
					if !slices.Contains(sites, p.Site) {
						sites, added = append(sites, p.Site), append(added, p.Site)
					}
				}
				if len(sites) > crypto.MostMembers {
					return cli.Usagef("a federation has at most %d members", crypto.MostMembers)
				}
				if err := o.Store.Join(ctx, m.Federation, m.Leader, sites...); err != nil {
					return err
				}
				return a.changedFederation(ctx, o, id, args[0], "federation members added", map[string]any{"sites": added})
			})
		},
	}
	return c
}

func (a *app) federationJoin() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "join NAME SITE", Short: "Fetch the secret of a federation from the partner that leads it", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, f := cmd.Context(), concordat.FederationID(args[0])
			return a.withPartner(ctx, args[1], timeout, func(c *federation.Client) error {
				g, err := c.Grant(ctx, f)
				if err != nil {
					return err
				}
				return a.withKeys(ctx, func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
					if m, err := o.Membership(ctx, args[0]); err == nil && m.Leader != c.Site() {
						return cli.Usagef("federation %s is led by %s", f, m.Leader)
					}
					id, _, err := partners.Take(ctx, o.Store, k, f, c.Site(), g)
					if err != nil {
						return err
					}
					return a.changedFederation(ctx, o, id, args[0], "federation joined", map[string]any{"leader": c.Site()})
				})
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the leader")
	return c
}

func (a *app) federationRotate() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "rotate NAME", Short: "Begin a new epoch of a federation that this site leads",
		Long: `rotate makes a new secret. Members fetch it and make their fingerprints anew; until --overlap has passed the
old epoch is served beside it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				if _, err := ledFederation(cmd.Context(), o, id, args[0]); err != nil {
					return err
				}
				return a.newEpoch(cmd.Context(), o, k, args[0], overlap, "federation rotated", nil)
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long the old epoch is served, at most 336h")
	return c
}

func (a *app) newEpoch(ctx context.Context, o *instance.Instance, k *instance.Keystore, f string, overlap time.Duration, action string, detail map[string]any) error {
	id, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		return id.NewEpoch(f, time.Now(), overlap, rand.Reader)
	})
	if errors.Is(err, crypto.ErrFormat) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	return a.changedFederation(ctx, o, id, f, action, detail)
}

func (a *app) federationRemove() *cobra.Command {
	var overlap time.Duration
	c := &cobra.Command{
		Use: "remove NAME SITE", Short: "Remove a member, and begin an epoch whose secret it does not get",
		Long: `remove takes the site out of the federation and makes a new secret, which it cannot fetch. What it knows of the
old epoch it keeps: until --overlap has passed its knowledge of the old secret is worth something.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := ledFederation(ctx, o, id, args[0])
				if err != nil {
					return err
				}
				p, err := o.Partner(ctx, args[1])
				if err != nil {
					return err
				}
				sites := instance.Members(m)
				if !slices.Contains(sites, p.Site) {
					return cli.Usagef("%s is no member of federation %s", args[1], args[0])
				}
				left := slices.DeleteFunc(sites, func(s concordat.SiteID) bool { return s == p.Site })
				// The membership first: from here on the site gets no secret.
				if err := o.Store.Join(ctx, m.Federation, m.Leader, left...); err != nil {
					return err
				}
				return a.newEpoch(ctx, o, k, args[0], overlap, "federation member removed", map[string]any{"site": p.Site})
			})
		},
	}
	c.Flags().DurationVar(&overlap, "overlap", crypto.EpochOverlap, "how long the old epoch is served, at most 336h")
	return c
}

func (a *app) federationLeave() *cobra.Command {
	return &cobra.Command{
		Use: "leave NAME", Short: "Forget a federation and its secrets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, k *instance.Keystore, _ *crypto.Identity) error {
				ctx := cmd.Context()
				m, err := o.Membership(ctx, args[0])
				if err != nil {
					return err
				}
				if err := o.Store.Leave(ctx, m.Federation); err != nil {
					return err
				}
				if _, err := k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) { return id.Leave(args[0]), nil }); err != nil {
					return err
				}
				if err := o.Audit(ctx, "federation left", map[string]any{"federation": args[0]}); err != nil {
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

func (a *app) federationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show federations, their members and epochs", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				ctx := cmd.Context()
				if len(args) == 1 {
					m, err := o.Membership(ctx, args[0])
					if err != nil {
						return err
					}
					return a.showFederation(id, m)
				}
				ms, err := o.Store.Memberships(ctx)
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

func (a *app) showFederation(id *crypto.Identity, m store.Membership) error {
	epochs := slices.DeleteFunc(partners.EpochSpans(id), func(e partners.EpochSpan) bool { return e.Federation != m.Federation })
	if a.JSON {
		return a.Line(map[string]any{"federation": m.Federation, "leader": m.Leader, "leads": m.Leader == instance.PartnerName(id.Site()), "joined": m.Joined, "members": m.Members, "epochs": epochs})
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
