package main

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/extract"
	"concordat/lab/eval"
)

func (l *lab) evalReaders() *cobra.Command {
	worst := 10
	c := &cobra.Command{Use: "readers PATH...", Short: "Compare text extraction from PDF, DOC and PPT files with other programs",
		Long: `Readers compares the text that Concordat extracts from every PDF, DOC and PPT file under PATH with that of other
programs: pdftotext and mutool for PDF, antiword and catdoc for DOC, catppt for PPT. It counts the letters that are
missing only from Concordat's text and those that only Concordat finds, and compares their order. The other programs
must be installed; Debian has them in poppler-utils, mupdf-tools, antiword and catdoc.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("want at least one file or folder")
			}
			return l.compareReaders(cmd, args, worst)
		}}
	c.Flags().IntVar(&worst, "worst", worst, "number of files to list, largest disagreement first")
	return c
}

func (l *lab) compareReaders(cmd *cobra.Command, paths []string, worst int) error {
	pdf, err := extract.NewPDF(extract.PDFOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = pdf.Close() }()       // nothing is written
	all := map[string][]eval.ReaderFigures{} // by extension
	for _, root := range paths {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			ext := strings.ToLower(filepath.Ext(p))
			if err != nil || d.IsDir() || eval.OtherReaders[ext] == nil {
				return err
			}
			f, err := eval.CompareReaders(cmd.Context(), pdf, p)
			if err == nil {
				all[ext] = append(all[ext], f)
				if l.JSON {
					err = l.Line(f)
				}
			}
			return err
		})
		if errors.Is(err, exec.ErrNotFound) {
			return cli.Usage(err)
		}
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("no PDF, DOC or PPT files found")
	}
	for _, ext := range slices.Sorted(maps.Keys(all)) {
		if !l.JSON {
			l.sayReaders(ext, all[ext], worst)
		}
	}
	return nil
}

// sayReaders prints the figures for one format.
func (l *lab) sayReaders(ext string, all []eval.ReaderFigures, worst int) {
	mean := func(of, weight func(f eval.ReaderFigures) float64) float64 {
		sum, n := 0.0, 0.0
		for _, f := range all {
			sum, n = sum+of(f)*weight(f), n+weight(f)
		}
		return sum / max(n, 1)
	}
	both := func(f eval.ReaderFigures) float64 { return float64(f.Both()) }
	letters := 0
	for _, f := range all {
		letters += f.Both()
	}
	l.Say("%s: %d files, %d letters; compared with %s", ext, len(all), letters, strings.Join(all[0].Readers, " and "))
	l.Say("share of letters in all others that we find %.4f", mean(func(f eval.ReaderFigures) float64 { return f.Found }, both))
	l.Say("share of our letters found by another       %.4f", mean(func(f eval.ReaderFigures) float64 { return f.Known },
		func(f eval.ReaderFigures) float64 { return float64(f.Letters) }))
	for i, name := range all[0].Readers {
		l.Say("order: runs of %-10s also in ours      %.4f", name, mean(func(f eval.ReaderFigures) float64 { return f.Order[i] }, both))
	}
	if len(all[0].Readers) > 1 {
		l.Say("order: runs of the first also in the second %.4f", mean(func(f eval.ReaderFigures) float64 { return *f.Agree }, both))
	}
	lost := func(f eval.ReaderFigures) float64 { return (1 - min(f.Found, f.Known)) * both(f) }
	slices.SortStableFunc(all, func(a, b eval.ReaderFigures) int { return cmp.Compare(lost(b), lost(a)) })
	for _, f := range all[:min(max(worst, 0), len(all))] {
		l.Say("  %.3f found, %.3f known, order %.3f, %d letters: %s %s %s", f.Found, f.Known, f.Order, f.Letters,
			filepath.Base(f.File), strings.Join(f.Flags, ","), f.Error)
	}
}
