package sharing

import (
	"context"
	"errors"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
	"concordat/view"
)

func (a *commands) disclosureCommand() *cobra.Command {
	c := &cobra.Command{Use: "disclosure", Short: "Decide on partners' requests to read passages", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var state string
	list := &cobra.Command{
		Use: "list", Short: "List requests from and to partners, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				ds, err := o.Answers.Requests.Disclosures(cmd.Context(), state, 0)
				if err != nil {
					return err
				}
				for _, d := range ds {
					if err := a.printDisclosure(cmd.Context(), o, d); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	list.Flags().StringVar(&state, "state", "", "list only requests in this state: pending, granted, refused, expired or withdrawn")
	c.AddCommand(list, a.disclosureShow(),
		a.decision("approve ID", "Allow a partner to read the passages", func(ctx context.Context, o *instance.Instance, id, actor,
			words string) (store.Disclosure, error) {
			return o.Answers.Requests.Decide(ctx, id, actor, true, words)
		}),
		a.decision("refuse ID", "Refuse a partner's request",
			func(ctx context.Context, o *instance.Instance, id, actor, words string) (store.Disclosure, error) {
				return o.Answers.Requests.Decide(ctx, id, actor, false, words)
			}),
		a.decision("withdraw ID", "Withdraw an approval", func(ctx context.Context, o *instance.Instance, id, actor,
			words string) (store.Disclosure, error) {
			return o.Answers.Requests.Withdraw(ctx, id, actor, words)
		}))
	return c
}

// decision returns a command that changes the state of one request.
func (a *commands) decision(use, short string, decide func(ctx context.Context, o *instance.Instance, id, actor,
	words string) (store.Disclosure, error)) *cobra.Command {
	var words, actor string
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if actor == "" {
					actor = userName()
				}
				d, err := decide(cmd.Context(), o, args[0], actor, words)
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("no request %s; see concordat disclosure list", args[0])
				}
				if errors.Is(err, concordat.ErrInvalid) {
					return cli.Usage(err)
				}
				if err != nil {
					return err
				}
				return a.printDisclosure(cmd.Context(), o, d)
			})
		},
	}
	c.Flags().StringVar(&words, "words", "", "message to the partner; required to refuse or withdraw")
	c.Flags().StringVar(&actor, "as", "", "person who decides (default: the current user)")
	return c
}

func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// disclosureShow prints the passages that a partner asks to read.
func (a *commands) disclosureShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print the passages that a partner asks to read", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				d, texts, err := o.Answers.Requests.Asked(cmd.Context(), args[0])
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("request %s does not exist, or its document was deleted; see concordat disclosure list", args[0])
				}
				if err != nil {
					return err
				}
				if a.JSON {
					one, err := requestOf(cmd.Context(), o, d)
					one.Passages = texts
					return errors.Join(err, a.Line(one))
				}
				if err := a.printDisclosure(cmd.Context(), o, d); err != nil {
					return err
				}
				for _, t := range texts {
					a.Say("\n%s", t)
				}
				return nil
			})
		},
	}
}

// requestOf returns a request in machine-readable form.
func requestOf(ctx context.Context, o *instance.Instance, d store.Disclosure) (view.Request, error) {
	names, err := partners.Names(ctx, o.Store)
	if err != nil {
		return view.Request{}, err
	}
	return view.ReadRequest(ctx, o.Store, d, names)
}

func (a *commands) printDisclosure(ctx context.Context, o *instance.Instance, d store.Disclosure) error {
	if a.JSON {
		one, err := requestOf(ctx, o, d)
		if err != nil {
			return err
		}
		return a.Line(one)
	}
	what := "asks for"
	if d.Direction == store.DisclosureOut {
		what = "was asked for"
	}
	a.Say("%-12s %-9s %s %s %d passages of %s/%s, until %s: %s (%s)", d.ID, d.State, d.Partner, what, len(d.Spans), d.Library, d.Document,
		d.Until.Local().Format(time.DateOnly), d.Reason, d.Contact)
	return nil
}

func (a *commands) exposureCommand() *cobra.Command {
	var documents int
	c := &cobra.Command{
		Use:   "exposure SITE",
		Short: "Show what a partner site has seen of this site's texts",
		Long: `Exposure sums up, by library and form, what a partner was shown: matches (which sentences match, and titles),
words or fingerprints (outlines and mirrors; never both for the same text), edges (where verbatim copies begin and
end, and the word order of submissions), overlap (shared words), passage (text).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				partner := concordat.SiteID(args[0])
				if p, err := instance.Partner(cmd.Context(), o.Store, args[0]); err == nil { // otherwise the site is no longer a partner
					partner = p.Site
				}
				x, err := o.Asks.Exposure(cmd.Context(), partner, documents)
				if err != nil {
					return err
				}
				for _, s := range x.Sums {
					if err := a.printSum(x.Partner, s); err != nil {
						return err
					}
				}
				for _, s := range x.Documents {
					if err := a.printShowing(s); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().IntVar(&documents, "documents", 0, "also list this many of the documents shown most recently")
	return c
}

func (a *commands) printSum(partner concordat.SiteID, s store.ShowingSum) error {
	if a.JSON {
		return a.Line(struct {
			Type    string           `json:"type"`
			Partner concordat.SiteID `json:"partner"`
			store.ShowingSum
		}{"sum", partner, s})
	}
	if s.Library == "" {
		s.Library = "(submissions)" // sentences that partners were asked about
	}
	a.Say("%-20s %-12s %6d documents %6d times %8d sentences %8d characters  %s to %s", s.Library, s.Form, s.Documents, s.Times,
		s.Sentences, s.Characters,
		s.First.Local().Format(time.DateOnly), s.Last.Local().Format(time.DateOnly))
	return nil
}

func (a *commands) printShowing(s store.Showing) error {
	if a.JSON {
		return a.Line(struct {
			Type string `json:"type"`
			store.Showing
		}{"document", s})
	}
	a.Say("%-20s %-12s %s  %d times, the latest on %s", s.Library, s.Form, s.Document, s.Times, s.Last.Local().Format(time.DateOnly))
	return nil
}
