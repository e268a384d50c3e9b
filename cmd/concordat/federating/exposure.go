package federating

import (
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/instance"
	"concordat/store"
)

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
				if p, err := o.Partner(cmd.Context(), args[0]); err == nil { // otherwise the site is no longer a partner
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
