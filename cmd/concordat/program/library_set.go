package program

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/people"
	"concordat/store"
)

func (a *app) librarySet() *cobra.Command {
	var f libraryFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a library's title and policy", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if err := f.set(cmd.Flags(), o, &l); err != nil {
					return err
				}
				if err := o.Store.Catalogue.UpdateLibrary(cmd.Context(), l); err != nil {
					return err
				}
				return a.showLibrary(cmd.Context(), o, l.ID)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.title, "title", "", "display name of the library")
	fl.IntVar(&f.keepDays, "keep-days", 0, "days after which a document is deleted permanently; 0: never")
	fl.StringVar(&f.embargo, "embargo", "", "date (YYYY-MM-DD) before which partners get no answers from the library; empty: none")
	fl.StringVar(&f.expires, "expires", "", "date (YYYY-MM-DD) from which the library is no longer searched; empty: never")
	fl.StringVar(&f.forward, "forward", "", "sentences to ask partners about in checks against the library: unmatched, all or none; empty: the site's setting")
	fl.StringVar(&f.template, "template", "", "section template for documents of the library, and for submissions checked only against it; empty: none")
	fl.StringVar(&f.meaning, "meaning", "",
		"index the library's documents by meaning: on (if meaning.index is on) or off; concordat reindex applies this to existing documents")
	c.RegisterFlagCompletionFunc("meaning", cobra.FixedCompletions([]string{"on", store.MeaningOff}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// libraryFlags contains the title and policy of a library.
type libraryFlags struct {
	title, embargo, expires, forward, template, meaning string
	keepDays                                            int
}

// set changes the values for which flags are given.
func (f *libraryFlags) set(fl *pflag.FlagSet, o *instance.Instance, l *store.Library) (err error) {
	p := &l.Policy
	for name, change := range map[string]func(){
		"keep-days": func() { p.KeepDays = f.keepDays },
		"forward":   func() { p.Forward = f.forward },
		"template":  func() { p.Template = f.template },
		"meaning": func() {
			if p.Meaning = f.meaning; f.meaning == "on" {
				p.Meaning = ""
			}
		},
	} {
		if fl.Changed(name) {
			change()
		}
	}
	if fl.Changed("title") {
		if l.Title, err = people.Title(f.title); err != nil {
			return cli.Usage(err)
		}
	}
	if fl.Changed("embargo") {
		if p.Embargo, err = cli.ParseDate(f.embargo); err != nil {
			return err
		}
	}
	if fl.Changed("expires") {
		if p.Expires, err = cli.ParseDate(f.expires); err != nil {
			return err
		}
	}
	if _, err := o.Template(p.Template); fl.Changed("template") && err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return cli.Usage(err)
	}
	return nil
}
