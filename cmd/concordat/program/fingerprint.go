package program

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/profile"
)

func (a *app) fingerprintCommand() *cobra.Command {
	var scheme string
	var asked bool
	c := &cobra.Command{
		Use: "fingerprint FILE", Short: "Print each sentence of a file with its span and fingerprint", Args: cobra.ExactArgs(1),
		Long: `Fingerprint prints the sentences that an index would hold: span in Unicode code points, the 25 hexadecimal
digits of the fingerprint, and the text. It needs no site.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profile.New(profile.Options{Recipe: scheme})
			if err != nil {
				return cli.Usage(err)
			}
			c, err := instance.LoadConfig("") // these commands need no site; the environment sets limits
			if err != nil {
				return err
			}
			r := instance.NewReader(instance.Extraction(c), 1)
			items, err := r.Read(cmd.Context(), args[0])
			if err = errors.Join(err, r.Close()); err != nil {
				return err
			}
			fails := failures{a: a}
			for _, item := range items {
				if item.Err != nil {
					err = fails.add(failed(item.Path, item.Err))
				} else {
					err = a.printFingerprints(p, item.Result.Text, asked)
				}
				if err != nil {
					return err
				}
			}
			return fails.err()
		},
	}
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	c.Flags().BoolVar(&asked, "asked", false, "print the sentences that a check would look up, instead of those that an index would hold")
	return c
}

func (a *app) printFingerprints(p *profile.Profiler, text string, asked bool) error {
	prof, err := p.Profile(concordat.Document{Text: text}, nil)
	if err != nil {
		return err
	}
	sentences := prof.Indexed
	if asked {
		sentences = prof.Questions()
	}
	points, at := 0, 0
	for _, s := range sentences {
		if s.Span.Start < at { // sentences that overlap
			points, at = 0, 0
		}
		points += utf8.RuneCountInString(text[at:s.Span.Start])
		at = s.Span.Start
		end := points + utf8.RuneCountInString(s.Span.In(text))
		if a.JSON {
			err = a.Line(map[string]any{"span": concordat.Span{Start: points, End: end}, "fingerprint": s.Fingerprint, "text": s.Span.In(text)})
		} else {
			_, err = fmt.Fprintf(a.Stdout, "%d-%d\t%s\t%q\n", points, end, s.Fingerprint, s.Span.In(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
