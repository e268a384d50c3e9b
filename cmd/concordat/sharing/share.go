package sharing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
	"concordat/view"
)

// AnswerCommands adds the commands that control what partners see.
func AnswerCommands(s *cli.Site, root *cobra.Command) {
	a := &commands{s}
	commandGroup(root, "library", "Create, list, change and delete collections of documents").
		AddCommand(a.shareCommand(), a.sharedCommand(), a.unshareCommand())
	commandGroup(root, "peer", "Partner sites").AddCommand(a.exposureCommand())
	root.AddCommand(a.disclosureCommand())
}

// commandGroup returns the command with this name under root, and creates it if necessary.
func commandGroup(root *cobra.Command, name, short string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	root.AddCommand(c)
	return c
}

// shareFlags contains the flags of share.
type shareFlags struct {
	with, level, outline, embargo, expires, contact string
	purposes                                        []string
	closeness, matches, approval                    int
	limits                                          store.Limits
	edges, ship, standing, excludeAuthors, leads    bool
}

// partnerSite returns the identity of a partner, given by name or by its identity in any form. It accepts the identity of a site that is
// not yet a partner, because nothing reaches the site until it becomes one.
func partnerSite(ctx context.Context, o *instance.Instance, text string) (site concordat.SiteID, known bool, err error) {
	p, err := instance.Partner(ctx, o.Store, text)
	var unknown *instance.UsageError
	switch {
	case err == nil && p.State == store.PartnerRevoked:
		return p.Site, true, cli.Usagef("partner %s is revoked; see concordat peer show %s", text, text)
	case err == nil:
		return p.Site, true, nil
	case errors.As(err, &unknown): // no such partner
		return concordat.SiteID(text), false, nil
	}
	return "", false, err
}

func (a *commands) shareCommand() *cobra.Command {
	var f shareFlags
	c := &cobra.Command{
		Use:   "share LIBRARY --with SITE",
		Short: "Share a library with a partner site, or change how it is shared",
		Long: `Share opens a library to one partner site. Without a share, a partner gets no answers at all. Sharing a
library again changes the rules given and keeps the others.

Each level includes those before it: exists (that something matches), counts (how many), metadata (which
sentences, title, author, date, contact), overlap (shared words), passage (the text, once a person
approves the request; see concordat disclosure).

A partner that holds the key of its federation can test guesses against what it is shown, and identify about 43 % of
the content words behind a fingerprint or a word set; see doc/federation.md.

With --leads, at level metadata and above, the partner also learns which documents may say the same thing in other
words. A member with a dictionary of sentences can search the library that way; see doc/security.md.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.with == "" {
				return cli.Usagef("--with is required: name a partner site")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				with, known, err := partnerSite(cmd.Context(), o, f.with)
				if err != nil {
					return err
				}
				if !known {
					a.Warn("%s is not a partner of this site and gets no answers until it becomes one (concordat peer invite)", f.with)
				}
				x, err := f.share(cmd, o, l.ID, with)
				if err != nil {
					return err
				}
				if x, err = o.Answers.Shares.Share(cmd.Context(), x); errors.Is(err, concordat.ErrInvalid) {
					return cli.Usage(err)
				} else if err != nil {
					return err
				}
				return a.printShare(x)
			})
		},
	}
	f.add(c)
	return c
}

func (f *shareFlags) add(c *cobra.Command) {
	d := store.ShareRule{}.Filled()
	fs := c.Flags()
	fs.StringVar(&f.with, "with", "", "the partner site")
	fs.StringVar(&f.level, "level", string(concordat.ShowMetadata),
		"highest level of detail to show: nothing, exists, counts, metadata, overlap or passage")
	cli.AddOutline(c, &f.outline)
	fs.BoolVar(&f.edges, "edges", true, "compare word order in verbatim copies to find exactly where they end")
	fs.StringSliceVar(&f.purposes, "purpose", nil, "purpose for which the partner may ask (repeatable; default: any)")
	fs.IntVar(&f.closeness, "closeness", 0, "maximum distance of a match in bits (0: the scheme's maximum)")
	fs.IntVar(&f.matches, "k-match", d.Matches, "number of sentences that must match before a document is named")
	fs.IntVar(&f.limits.Sentences, "sentences", d.Limits.Sentences, "maximum number of sentences that the partner may ask about per day (-1: no limit)")
	fs.IntVar(&f.limits.Burst, "burst", d.Limits.Burst, "maximum number of sentences that the partner may ask about per hour (-1: no limit)")
	fs.IntVar(&f.limits.Disclosures, "disclosures", d.Limits.Disclosures, "maximum number of matching sentences to show per day (-1: no limit)")
	fs.IntVar(&f.limits.Documents, "documents", d.Limits.Documents, "maximum number of documents to name per day (-1: no limit)")
	fs.IntVar(&f.limits.Characters, "characters", d.Limits.Characters, "maximum number of characters of text to show per day (-1: no limit)")
	fs.IntVar(&f.limits.Opened, "opened", d.Limits.Opened, "maximum number of sentences to open per document and year, or 5 % of the document if that is more (-1: no limit)")
	fs.IntVar(&f.limits.Units, "units", d.Limits.Units,
		"maximum number of sentences near matches that outlines show of a document in a year, or a quarter of the document if that is more (-1: no limit)")
	fs.BoolVar(&f.leads, "leads", false, "also tell the partner which documents may say the same thing in other words")
	fs.IntVar(&f.limits.LeadCells, "lead-cells", d.Limits.LeadCells, "maximum number of meaning cells that the partner may ask about per day (-1: no limit)")
	fs.IntVar(&f.limits.LeadSentences, "lead-sentences", d.Limits.LeadSentences,
		"maximum number of sentences to name as possible leads per day (-1: no limit)")
	fs.IntVar(&f.limits.LeadDocuments, "lead-documents", d.Limits.LeadDocuments,
		"maximum number of documents to name as possible leads per day (-1: no limit)")
	fs.StringVar(&f.embargo, "embargo", "", "give no answers before this date (YYYY-MM-DD)")
	fs.StringVar(&f.expires, "expires", "", "give no answers from this date on (YYYY-MM-DD)")
	fs.BoolVar(&f.ship, "ship", false, "allow the partner to mirror the fingerprints")
	fs.BoolVar(&f.standing, "standing", false, "let the partner's standing checks cover later documents")
	fs.BoolVar(&f.excludeAuthors, "exclude-authors", false, "exclude documents by authors named by the partner")
	fs.IntVar(&f.approval, "approval", int(d.Approval/(24*time.Hour)),
		"number of days that a passage request stays open and that an approved passage can be read")
	fs.StringVar(&f.contact, "contact", "", "contact details for the partner")
}

// share returns the share with the flags applied.
func (f *shareFlags) share(cmd *cobra.Command, o *instance.Instance, lib concordat.LibraryID, with concordat.SiteID) (store.Share, error) {
	if err := site.CheckName(string(with)); err != nil {
		return store.Share{}, cli.Usage(err)
	}
	x, err := o.Store.Answers.Share(cmd.Context(), lib, with)
	fresh := errors.Is(err, concordat.ErrNotFound)
	if err != nil && !fresh {
		return x, err
	}
	if fresh {
		x = store.Share{Library: lib, Partner: with, Rule: store.DefaultShareRule()}
	}
	r := &x.Rule
	given := cmd.Flags().Changed
	for _, n := range []struct {
		flag string
		to   *int
		from int
	}{
		{"closeness", &r.Closeness, f.closeness}, {"k-match", &r.Matches, f.matches},
		{"sentences", &r.Limits.Sentences, f.limits.Sentences}, {"burst", &r.Limits.Burst, f.limits.Burst},
		{"disclosures", &r.Limits.Disclosures, f.limits.Disclosures}, {"documents", &r.Limits.Documents, f.limits.Documents},
		{"characters", &r.Limits.Characters, f.limits.Characters}, {"opened", &r.Limits.Opened, f.limits.Opened},
		{"units", &r.Limits.Units, f.limits.Units},
		{"lead-cells", &r.Limits.LeadCells, f.limits.LeadCells}, {"lead-sentences", &r.Limits.LeadSentences, f.limits.LeadSentences},
		{"lead-documents", &r.Limits.LeadDocuments, f.limits.LeadDocuments},
	} {
		if given(n.flag) {
			if *n.to = n.from; n.from == 0 && n.flag != "closeness" {
				return x, cli.Usagef("--%s 0: want a number above 0, or -1 for no limit", n.flag)
			}
		}
	}
	for _, b := range []struct {
		flag string
		to   *bool
		from bool
	}{
		{"edges", &r.NoEdges, !f.edges}, {"ship", &r.Ship, f.ship}, {"standing", &r.Standing, f.standing},
		{"exclude-authors", &r.ExcludeAuthors, f.excludeAuthors}, {"leads", &r.Leads, f.leads},
	} {
		if given(b.flag) {
			*b.to = b.from
		}
	}
	return x, f.words(given, r)
}

// words applies the flags that take words or dates.
func (f *shareFlags) words(given func(string) bool, r *store.ShareRule) (err error) {
	if given("level") {
		r.Level = concordat.Show(f.level)
	}
	if given("outline") {
		r.Outline = cli.OutlineForm(f.outline)
	}
	if given("purpose") {
		r.Purposes = f.purposes
	}
	if given("contact") {
		r.Contact = f.contact
	}
	if given("approval") {
		if r.Approval = time.Duration(f.approval) * 24 * time.Hour; f.approval <= 0 {
			return cli.Usagef("--approval %d: want a number of days above 0", f.approval)
		}
	}
	if given("embargo") {
		if r.Embargo, err = cli.ParseDate(f.embargo); err != nil {
			return err
		}
	}
	if given("expires") {
		r.Expires, err = cli.ParseDate(f.expires)
	}
	return err
}

// printShare prints a share, with the defaults filled in.
func (a *commands) printShare(x store.Share) error {
	r := x.Rule.Filled()
	if a.JSON {
		return a.Line(view.OfShare(x))
	}
	words := []string{"level " + string(r.Level)}
	add := func(on bool, format string, args ...any) {
		if on {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(r.Outline != "", "outline %s", r.Outline)
	add(len(r.Purposes) > 0, "for %s", strings.Join(r.Purposes, ", "))
	add(true, "%d sentences per day", r.Limits.Sentences)
	add(r.Ship, "may be mirrored")
	add(r.Standing, "standing questions")
	add(r.Leads, "leads")
	add(r.ExcludeAuthors, "excluding documents by named authors")
	add(!r.Embargo.IsZero(), "from %s", r.Embargo.Local().Format(time.DateOnly))
	add(!r.Expires.IsZero(), "until %s", r.Expires.Local().Format(time.DateOnly))
	a.Say("%-20s %-20s %s", x.Library, x.Partner, strings.Join(words, "; "))
	return nil
}

func (a *commands) sharedCommand() *cobra.Command {
	var with string
	c := &cobra.Command{
		Use: "shared [LIBRARY]", Short: "List which libraries are shared with which partner sites", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				var lib concordat.LibraryID
				if len(args) == 1 {
					l, err := instance.Library(cmd.Context(), o.Store, args[0])
					if err != nil {
						return err
					}
					lib = l.ID
				}
				var partner concordat.SiteID
				if with != "" {
					var err error
					if partner, _, err = partnerSite(cmd.Context(), o, with); err != nil {
						return err
					}
				}
				xs, err := o.Store.Answers.Shares(cmd.Context(), lib, partner)
				if err != nil {
					return err
				}
				for _, x := range xs {
					if err := a.printShare(x); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&with, "with", "", "list only libraries shared with this partner")
	return c
}

func (a *commands) unshareCommand() *cobra.Command {
	var with string
	c := &cobra.Command{
		Use: "unshare LIBRARY --with SITE", Short: "Stop sharing a library with a partner site", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if with == "" {
				return cli.Usagef("--with is required: name a partner site")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				partner, _, err := partnerSite(cmd.Context(), o, with)
				if err != nil {
					return err
				}
				return a.unshare(cmd.Context(), o, l.ID, partner)
			})
		},
	}
	c.Flags().StringVar(&with, "with", "", "the partner site")
	return c
}

func (a *commands) unshare(ctx context.Context, o *instance.Instance, lib concordat.LibraryID, with concordat.SiteID) error {
	err := o.Answers.Shares.Unshare(ctx, lib, with)
	if errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("library %s is not shared with %s", lib, with)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"library": lib, "partner": with, "closed": true})
	}
	a.Say("library %s is no longer shared with %s", lib, with)
	return nil
}
