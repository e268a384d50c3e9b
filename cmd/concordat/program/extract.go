package program

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/extract"
	"concordat/instance"
)

func (a *app) extractCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "extract PATH...", Short: "Print the text of files, and report unreadable content", Args: cobra.MinimumNArgs(1),
		Long: `Extract prints the text that a check would see. With --json it prints one line for every file and
every member of an archive: path, format, encoding, status (text, partial or error), text, flags.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, _, err := walk(args, true)
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

// extractLine is the JSON output of extract for one file.
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
	line := extractLine{Path: item.Path, Format: r.Format, Encoding: r.Encoding, Status: "text", Title: r.Title, Text: &r.Text,
		Flags: inPoints(r.Text, instance.FlagsOf(r.Flags))}
	if r.Partial {
		line.Status = "partial"
	}
	return a.Line(line)
}

// inPoints returns the flags with spans in Unicode code points of text instead of bytes. The result is never nil.
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
