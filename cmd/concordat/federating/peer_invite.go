package federating

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
	"concordat/view"
)

// grantFlags specifies what an invitation grants.
type grantFlags struct {
	libraries []string
	level     string
	outline   string
	budget    []string
	purposes  []string
	ship      bool
	standing  bool
}

func (f *grantFlags) add(c *cobra.Command) {
	levels := make([]string, 0, 5)
	for _, l := range concordat.Levels()[1:] {
		levels = append(levels, string(l))
	}
	fl := c.Flags()
	fl.StringArrayVarP(&f.libraries, "library", "l", nil, "library to share with the partner, as NAME or NAME:LEVEL; may be repeated")
	fl.StringVar(&f.level, "level", string(concordat.ShowMetadata), "highest level of detail to show: "+strings.Join(levels, ", "))
	cli.AddOutline(c, &f.outline)
	fl.StringArrayVar(&f.budget, "budget", nil,
		"daily limit as KIND=NUMBER, -1 for none; kinds: sentences, burst (per hour), disclosures, documents, characters")
	fl.StringSliceVar(&f.purposes, "purpose", nil, "purposes for which the partner may ask (default: any)")
	fl.BoolVar(&f.ship, "ship", false, "allow the partner to mirror the fingerprints")
	fl.BoolVar(&f.standing, "standing", false, "let the partner's standing checks cover later documents")
	c.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
}

// rule returns the rule for a level.
func (f *grantFlags) rule(level string) (store.ShareRule, error) {
	r := store.DefaultShareRule()
	r.Level, r.Outline = concordat.Show(level), cli.OutlineForm(f.outline)
	r.Purposes, r.Ship, r.Standing = f.purposes, f.ship, f.standing
	for _, b := range f.budget {
		kind, number, ok := strings.Cut(b, "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n == 0 || n < -1 {
			return r, cli.Usagef("budget %q: want KIND=NUMBER, where NUMBER is above 0, or -1 for no limit", b)
		}
		at := map[string]*int{"sentences": &r.Limits.Sentences, "burst": &r.Limits.Burst, "disclosures": &r.Limits.Disclosures,
			"documents": &r.Limits.Documents, "characters": &r.Limits.Characters}[kind]
		if at == nil {
			return r, cli.Usagef("budget %q: unknown kind; valid kinds are sentences, burst, disclosures, documents and characters", b)
		}
		*at = n
	}
	if err := r.Validate(); err != nil {
		return r, cli.Usage(err)
	}
	return r, nil
}

func (f *grantFlags) grants(ctx context.Context, o *instance.Instance) ([]store.Grant, error) {
	var gs []store.Grant
	for _, l := range f.libraries {
		id, level, ok := strings.Cut(l, ":")
		if !ok {
			level = f.level
		}
		if _, err := instance.Library(ctx, o.Store, id); err != nil {
			return nil, err
		}
		r, err := f.rule(level)
		if err != nil {
			return nil, err
		}
		gs = append(gs, store.Grant{Library: concordat.LibraryID(id), Rule: r})
	}
	return gs, nil
}

func (a *commands) peerInvite() *cobra.Command {
	var f grantFlags
	var life time.Duration
	var note, url string
	c := &cobra.Command{
		Use: "invite", Short: "Create an invitation for one site, valid once for three days",
		Long: `Invite prints an invitation. Hand it over through a channel that you trust. Someone who
intercepts it can only apply as a partner; the six words would then differ, and you would refuse. The server must be
running so that the other site can reach it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if life <= 0 || life > 90*24*time.Hour {
				return cli.Usagef("--life %v: want a positive duration of at most 90 days", life)
			}
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				return a.invite(cmd.Context(), o, id, &f, life, note, url)
			})
		},
	}
	f.add(c)
	c.Flags().DurationVar(&life, "life", crypto.InvitationLife, "how long the invitation is valid")
	c.Flags().StringVar(&note, "note", "", "note on whom the invitation is for, kept on this site")
	c.Flags().StringVar(&url, "url", "", "address of this site to put in the invitation (default: the first address on the site's card)")
	return c
}

func (a *commands) invite(ctx context.Context, o *instance.Instance, id *crypto.Identity, f *grantFlags, life time.Duration, note,
	url string) error {
	grants, err := f.grants(ctx, o)
	if err != nil {
		return err
	}
	inv, err := partners.Invite(ctx, o, id, partners.Offer{URL: url, Life: life, Note: note, Grants: grants}, instance.Administrator)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"invitation": inv.String(), "expires": inv.Expiry, "url": inv.URL, "grants": view.OfGrants(grants)})
	}
	a.Say("%s", inv)
	a.Say("valid once, until %s; the other site runs: concordat peer redeem INVITATION", inv.Expiry.Local().Format(time.DateTime))
	if len(grants) == 0 {
		a.Say("the invitation shares no library; to share one, use --library")
	}
	return nil
}
