package main

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/extract"
	"concordat/instance"
	"concordat/profile"
)

func (a *app) fingerprintCommand() *cobra.Command {
	var scheme string
	var asked bool
	c := &cobra.Command{
		Use: "fingerprint FILE", Short: "Print each sentence of a file with its span and fingerprint", Args: cobra.ExactArgs(1),
		Long: `Fingerprint prints the sentences that an index would hold: span in Unicode code points, the 25
hexadecimal digits of the fingerprint, and the text. It needs no site.`,
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
	c.Flags().BoolVar(&asked, "asked", false, "print the sentences that a check asks instead")
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
		if s.Span.Start < at { // asked sentences overlap
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

func (a *app) extractCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "extract PATH...", Short: "Print the text of files, and what could not be read", Args: cobra.MinimumNArgs(1),
		Long: `Extract prints the text that a check would see. With --json it prints one line for every file and
every member of an archive: path, format, encoding, status (text, partial or error), text, flags.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := walk(args, true)
			if err != nil {
				return err
			}
			c, err := instance.LoadConfig("") // these commands need no site; the environment sets limits
			if err != nil {
				return err
			}
			r := instance.NewReader(instance.Extraction(c), len(files))
			fails := failures{a: a}
			for _, f := range files {
				items, err := readInput(cmd.Context(), r, f)
				if err != nil {
					return errors.Join(err, r.Close())
				}
				for _, item := range items {
					if err := a.printText(&fails, item); err != nil {
						return errors.Join(err, r.Close())
					}
				}
			}
			if err := r.Close(); err != nil {
				return err
			}
			return fails.err()
		},
	}
	return c
}

// extractLine is the JSON of one file of extract.
type extractLine struct {
	Path     string           `json:"path"`
	Format   string           `json:"format"`
	Encoding string           `json:"encoding"`
	Status   string           `json:"status"`
	Code     string           `json:"code,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Title    string           `json:"title,omitempty"`
	Text     *string          `json:"text,omitempty"`
	Flags    []concordat.Flag `json:"flags"`
}

func (a *app) printText(fails *failures, item extract.Member) error {
	if item.Err != nil {
		f := failed(item.Path, item.Err)
		if !a.JSON {
			return fails.add(f)
		}
		fails.n++
		return a.Line(extractLine{Path: item.Path, Status: "error", Code: f.Code, Detail: f.Detail, Flags: []concordat.Flag{}})
	}
	r := item.Result
	if !a.JSON {
		for _, f := range r.Flags {
			a.Warn("%s: %s: %s", item.Path, f.Code, f.Detail)
		}
		_, err := fmt.Fprintln(a.Stdout, r.Text)
		return err
	}
	line := extractLine{Path: item.Path, Format: r.Format, Encoding: r.Encoding, Status: "text", Title: r.Title, Text: &r.Text, Flags: inPoints(r.Text, instance.FlagsOf(r.Flags))}
	if r.Partial {
		line.Status = "partial"
	}
	return a.Line(line)
}

// inPoints gives flags whose spans count Unicode code points of text instead of bytes; never nil.
func inPoints(text string, in []concordat.Flag) []concordat.Flag {
	out := append([]concordat.Flag{}, in...)
	for i := range out {
		if sp := out[i].Span; sp != nil {
			start := utf8.RuneCountInString(text[:sp.Start])
			out[i].Span = &concordat.Span{Start: start, End: start + utf8.RuneCountInString(text[sp.Start:sp.End])}
		}
	}
	return out
}
