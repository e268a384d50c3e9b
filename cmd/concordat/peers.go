package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
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

// partner returns a partner by identity in any form, or by the name it was given here.
func (o *opened) partner(ctx context.Context, text string) (store.Partner, error) {
	site := concordat.SiteID(text)
	if id, err := crypto.ParseSiteID(text); err == nil {
		site = name(id)
	}
	p, err := o.store.Partner(ctx, site)
	if errors.Is(err, concordat.ErrNotFound) {
		return p, usagef("no partner %s; see concordat peer list", text)
	}
	return p, err
}

// grantFlags say what an invitation opens.
type grantFlags struct {
	libraries []string
	level     string
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
	fl.StringArrayVarP(&f.libraries, "library", "l", nil, "library that the partner may ask, NAME or NAME:LEVEL; may be repeated")
	fl.StringVar(&f.level, "level", string(concordat.ShowMetadata), "most that is shown: "+strings.Join(levels, ", "))
	fl.StringArrayVar(&f.budget, "budget", nil, "KIND=NUMBER a day, -1 for no limit; kinds sentences, burst (an hour), disclosures, documents, characters")
	fl.StringSliceVar(&f.purposes, "purpose", nil, "purposes for which it may ask (default: any)")
	fl.BoolVar(&f.ship, "ship", false, "the partner may keep a mirror of the fingerprints")
	fl.BoolVar(&f.standing, "standing", false, "the partner may leave questions for later documents")
	c.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
}

// rule returns the rule at a level.
func (f *grantFlags) rule(level string) (store.ShareRule, error) {
	r := store.ShareRule{Level: concordat.Show(level), Purposes: f.purposes, Ship: f.ship, Standing: f.standing}
	if r.Level == concordat.ShowOverlap || r.Level == concordat.ShowPassage {
		r.Outline = concordat.OutlineWords // what opening a match rests on
	}
	for _, b := range f.budget {
		kind, number, ok := strings.Cut(b, "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n == 0 || n < -1 {
			return r, usagef("budget %q: want KIND=NUMBER, above 0, or -1 for no limit", b)
		}
		at := map[string]*int{"sentences": &r.Limits.Sentences, "burst": &r.Limits.Burst, "disclosures": &r.Limits.Disclosures,
			"documents": &r.Limits.Documents, "characters": &r.Limits.Characters}[kind]
		if at == nil {
			return r, usagef("budget %q: kinds are sentences, burst, disclosures, documents and characters", b)
		}
		*at = n
	}
	if err := r.Validate(); err != nil {
		return r, usage(err)
	}
	return r, nil
}

func (f *grantFlags) grants(ctx context.Context, o *opened) ([]store.Grant, error) {
	var gs []store.Grant
	for _, l := range f.libraries {
		id, level, ok := strings.Cut(l, ":")
		if !ok {
			level = f.level
		}
		if _, err := o.library(ctx, id); err != nil {
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

func (a *app) peerInvite() *cobra.Command {
	var f grantFlags
	var life time.Duration
	var note, url string
	c := &cobra.Command{
		Use: "invite", Short: "Make an invitation for one site, good once and for three days",
		Long: `invite prints an invitation. Hand it over by a way that you trust; who steals it can only become a partner
whom you refuse, because the words will not be the same. The site must be served to be reached.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if life <= 0 || life > 90*24*time.Hour {
				return usagef("--life %v: above 0, at most 90 days", life)
			}
			return a.withKeys(cmd.Context(), func(o *opened, _ *keys, id *crypto.Identity) error {
				return a.invite(cmd.Context(), o, id, &f, life, note, url)
			})
		},
	}
	f.add(c)
	c.Flags().DurationVar(&life, "life", crypto.InvitationLife, "how long it can be redeemed")
	c.Flags().StringVar(&note, "note", "", "whom it is for; stays here")
	c.Flags().StringVar(&url, "url", "", "address of this site in it (default: the first of the card)")
	return c
}

func (a *app) invite(ctx context.Context, o *opened, id *crypto.Identity, f *grantFlags, life time.Duration, note, url string) error {
	card, err := ownCard(ctx, o.store, id)
	if err != nil {
		return err
	}
	if card == nil {
		return usagef("the site has no card yet: concordat site card --url https://HOST:PORT")
	}
	if url == "" {
		url = card.URLs[0]
	}
	grants, err := f.grants(ctx, o)
	if err != nil {
		return err
	}
	inv, err := id.Invite(url, life, time.Now(), rand.Reader)
	if errors.Is(err, crypto.ErrFormat) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if err := o.store.AddInvitation(ctx, store.Invitation{Hash: inv.TokenHash(), Digest: inv.Digest(), Note: note, Grants: grants, Expires: inv.Expiry}); err != nil {
		return err
	}
	if err := o.audit(ctx, "invited", map[string]any{"note": note, "expires": inv.Expiry, "grants": grants}); err != nil {
		return err
	}
	if a.json {
		return a.line(map[string]any{"invitation": inv.String(), "expires": inv.Expiry, "url": inv.URL, "grants": grants})
	}
	a.say("%s", inv)
	a.say("good once, until %s; the other site runs: concordat peer redeem INVITATION", inv.Expiry.Local().Format(time.DateTime))
	if len(grants) == 0 {
		a.say("it opens no library; name one with --library")
	}
	return nil
}

func (a *app) peerRedeem() *cobra.Command {
	var as string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "redeem INVITATION", Aliases: []string{"accept"}, Short: "Redeem an invitation of another site; - reads it from standard input", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.stdin, 8192))
				if err != nil {
					return err
				}
				text = string(b)
			}
			inv, err := crypto.ParseInvitation(text)
			if err != nil {
				return usage(err)
			}
			return a.withKeys(cmd.Context(), func(o *opened, _ *keys, id *crypto.Identity) error {
				return a.redeem(cmd.Context(), o, id, inv, as, timeout)
			})
		},
	}
	c.Flags().StringVar(&as, "name", "", "name of the partner in later commands")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the other site")
	return c
}

func (a *app) redeem(ctx context.Context, o *opened, id *crypto.Identity, inv *crypto.Invitation, as string, timeout time.Duration) error {
	r, err := a.roster(ctx, o, id)
	if err != nil {
		return err
	}
	if p, err := o.store.Partner(ctx, name(inv.Site)); err == nil && p.State == store.PartnerActive {
		return usagef("%s is a partner already", inv.Site)
	}
	redeemed, err := federation.Redeem(ctx, inv, r, federation.ClientOptions{Timeout: timeout})
	if err != nil {
		return err
	}
	c := redeemed.Inviter
	words := strings.Join(redeemed.Words[:], " ")
	if err := o.store.AddPartner(ctx, store.Partner{Site: name(c.Site), Name: as, Words: words, Serial: c.Serial, Card: c.Bytes()}); err != nil {
		return err
	}
	if err := o.audit(ctx, "invitation redeemed", map[string]any{"site": c.Site, "card": c.Serial}); err != nil {
		return err
	}
	p, err := o.store.Partner(ctx, name(c.Site))
	if err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}

// roster returns the site's view of its partners. The site must have a card.
func (a *app) roster(ctx context.Context, o *opened, id *crypto.Identity) (*roster, error) {
	card, err := ownCard(ctx, o.store, id)
	if err != nil {
		return nil, err
	}
	if card == nil {
		return nil, usagef("the site has no card yet: concordat site card --url https://HOST:PORT")
	}
	if err := card.Valid(time.Now()); err != nil {
		return nil, usagef("%w: renew it with concordat site card --renew", err)
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: max(o.config.Log.Level, slog.LevelWarn)}))
	return newRoster(o.store, log, id, card), nil
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
			return a.with(cmd.Context(), storeOnly, func(o *opened) error {
				return a.confirm(cmd.Context(), o, args[0], words, cmd.Flags().Changed("words"))
			})
		},
	}
	c.Flags().StringVar(&words, "words", "", "the six words that the other site reads")
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *app) confirm(ctx context.Context, o *opened, who, words string, given bool) error {
	p, err := o.partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State != store.PartnerPending {
		return usagef("%s is %s, not pending", who, p.State)
	}
	if !given {
		if err := a.showPartner(ctx, o, p); err != nil {
			return err
		}
		if !isTerminal(a.stdin) {
			return usagef("no terminal to ask on: give the words that the other site reads with --words")
		}
		fmt.Fprint(a.stderr, "do both sites show these six words? yes or no: ")
		line, err := bufio.NewReader(a.stdin).ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) != "yes" {
			return &exitError{exitFailed, errors.New("not confirmed; if the words differ, revoke the site and tell the other administrator")}
		}
	} else if strings.Join(strings.Fields(strings.ToLower(words)), " ") != p.Words {
		return &exitError{exitFailed, errors.New("the words differ: somebody may stand between the two sites; nothing was confirmed")}
	}
	// The rules first: they count for an active partner only.
	for _, g := range p.Grants {
		if _, err := o.Share(ctx, store.Share{Library: g.Library, Partner: p.Site, Rule: g.Rule}); err != nil {
			return err
		}
	}
	if err := o.store.SetPartnerState(ctx, p.Site, store.PartnerPending, store.PartnerActive); err != nil {
		return err
	}
	if err := o.audit(ctx, "partner confirmed", map[string]any{"site": p.Site, "grants": p.Grants}); err != nil {
		return err
	}
	if p, err = o.store.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}

func (a *app) peerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List partners, and invitations that are open", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), storeOnly, func(o *opened) error { return a.listPartners(cmd.Context(), o) })
		},
	}
}

func (a *app) listPartners(ctx context.Context, o *opened) error {
	ps, err := o.store.Partners(ctx)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if a.json {
			if err := a.showPartner(ctx, o, p); err != nil {
				return err
			}
			continue
		}
		c, err := crypto.ParseCard(p.Card)
		if err != nil {
			return fmt.Errorf("card of %s: %w", p.Site, err)
		}
		a.say("%-8s %-12s %s  %s", p.State, p.Name, p.Site, c.Name)
	}
	is, err := o.store.Invitations(ctx)
	if err != nil {
		return err
	}
	for _, i := range is {
		if !i.Used.IsZero() || time.Now().After(i.Expires) {
			continue
		}
		if a.json {
			if err := a.line(map[string]any{"state": "invited", "note": i.Note, "made": i.Made, "expires": i.Expires, "grants": i.Grants}); err != nil {
				return err
			}
			continue
		}
		a.say("invited  until %s  %s", i.Expires.Local().Format(time.DateTime), i.Note)
	}
	return nil
}

func (a *app) peerShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show SITE", Short: "Show a partner: card, state, what is open to it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), storeOnly, func(o *opened) error {
				p, err := o.partner(cmd.Context(), args[0])
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

func (a *app) showPartner(ctx context.Context, o *opened, p store.Partner) error {
	c, err := crypto.ParseCard(p.Card)
	if err != nil {
		return fmt.Errorf("card of %s: %w", p.Site, err)
	}
	shares, err := o.store.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	heads, kept, err := knownHeads(ctx, o.store, p.Site)
	if err != nil {
		return err
	}
	forks := 0
	for _, w := range kept {
		if w.Fork {
			forks++
		}
	}
	if a.json {
		return a.line(map[string]any{"site": p.Site, "state": p.State, "name": p.Name, "title": c.Name, "urls": c.URLs, "contact": c.Contact,
			"serial": p.Serial, "not_after": c.NotAfter, "words": p.Words, "invited": p.Invited, "grants": append([]store.Grant{}, p.Grants...), "shares": append([]store.Share{}, shares...),
			"made": p.Made, "confirmed": p.Confirmed, "revoked": p.Revoked, "heads": len(heads), "contradictions": forks})
	}
	a.say("site     %s", p.Site)
	a.say("name     %s", strings.TrimSpace(p.Name+"  "+c.Name))
	a.say("state    %s", p.State)
	for _, u := range c.URLs {
		a.say("address  %s", u)
	}
	if c.Contact != "" {
		a.say("contact  %s", c.Contact)
	}
	a.say("card     %d, in force until %s", p.Serial, c.NotAfter.Local().Format(time.DateTime))
	for _, x := range shares {
		a.say("may ask  %s, shown at most %s", x.Library, x.Rule.Level)
	}
	if len(heads) > 0 {
		a.say("audit    %d signed heads kept, the last of entry %d", len(heads), heads[len(heads)-1].Seq)
	}
	if forks > 0 {
		a.say("WARNING  its audit was rewritten: %d heads contradict each other", forks)
	}
	if p.State == store.PartnerPending {
		for _, g := range p.Grants {
			a.say("will be able to ask %s, shown at most %s", g.Library, g.Rule.Level)
		}
		a.say("")
		a.say("    %s", p.Words)
		a.say("")
		a.say("compare these six words with the other administrator by telephone, then run")
		a.say("concordat peer confirm %s", p.Site)
	}
	return nil
}

func (a *app) peerName() *cobra.Command {
	c := &cobra.Command{
		Use: "name SITE NAME", Short: "Give a partner a name for commands; an empty one takes it away", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), storeOnly, func(o *opened) error {
				p, err := o.partner(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if _, err := crypto.ParseSiteID(args[1]); err == nil || strings.ContainsAny(args[1], "/ ") {
					return usagef("name %q: no identity, no / and no space", args[1])
				}
				if err := o.store.NamePartner(cmd.Context(), p.Site, args[1]); err != nil {
					if errors.Is(err, concordat.ErrExists) {
						return usagef("another partner is called %s", args[1])
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
			return a.with(cmd.Context(), storeOnly, func(o *opened) error { return a.revoke(cmd.Context(), o, args[0]) })
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *app) revoke(ctx context.Context, o *opened, who string) error {
	p, err := o.partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State == store.PartnerRevoked {
		return usagef("%s is revoked already", who)
	}
	// Fail closed: the state first.
	if err := o.store.SetPartnerState(ctx, p.Site, p.State, store.PartnerRevoked); err != nil {
		return err
	}
	shares, err := o.store.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	for _, x := range shares {
		if err := o.Unshare(ctx, x.Library, p.Site); err != nil {
			return err
		}
	}
	if err := o.audit(ctx, "partner revoked", map[string]any{"site": p.Site}); err != nil {
		return err
	}
	ms, err := o.store.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		for _, x := range m.Members {
			if x.Site == p.Site && x.Removed.IsZero() {
				a.warn("%s is still in federation %s: concordat federation remove %s %s", who, m.Federation, m.Federation, who)
			}
		}
	}
	if p, err = o.store.Partner(ctx, p.Site); err != nil {
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
					if a.json {
						err = a.line(l)
					} else {
						a.say("%-20s about %8d documents  shows %-9s %s", l.ID, l.Documents, l.Level, l.Title)
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
	return a.withKeys(ctx, func(o *opened, _ *keys, id *crypto.Identity) error {
		p, err := o.partner(ctx, who)
		if err != nil {
			return err
		}
		if p.State != store.PartnerActive {
			return usagef("%s is %s", who, p.State)
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
		_ = a.with(cmd.Context(), storeOnly, func(o *opened) error { // nothing to complete is no error of the shell
			ps, err := o.store.Partners(cmd.Context())
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
