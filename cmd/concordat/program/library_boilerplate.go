package program

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

func (a *app) libraryBoilerplate() *cobra.Command {
	var least, most int
	c := &cobra.Command{Use: "boilerplate LIBRARY", Short: "List sentences that occur in many documents of a library",
		Args: cobra.ExactArgs(1),
		Long: `Boilerplate lists sentences that at least --least documents of a library contain, as the fingerprint scheme
divides them, most frequent first, with the number of documents and one example. Reports show wording found in
more than --common-above documents as common wording, which does not count.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if least < 2 || most < 1 {
				return cli.Usagef("--least %d, --most %d: --least must be at least 2, and --most at least 1", least, most)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.boilerplate(cmd.Context(), o, l, site.BoilerplateOptions{Least: least, Most: most})
			})
		}}
	c.Flags().IntVar(&least, "least", 3, "minimum number of documents that contain a sentence")
	c.Flags().IntVar(&most, "most", 50, "maximum number of sentences")
	return c
}

func (a *app) boilerplate(ctx context.Context, o *instance.Instance, l store.Library, options site.BoilerplateOptions) error {
	b := a.Progress(int64(l.Documents), "reading")
	options.Progress = b.Set
	found, err := o.Site.Boilerplate(ctx, l.ID, options)
	b.Done()
	if err != nil {
		return err
	}
	for _, x := range found {
		if a.JSON {
			err = a.Line(x)
		} else {
			more := ""
			if x.AtLeast {
				more = "at least "
			}
			a.Say("%s%6d documents  %s\n                  for example: %s", more, x.Documents, strings.Join(strings.Fields(x.Text), " "), x.Example)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
