package main

import (
	"cmp"
	"errors"
	"io/fs"
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
	c := &cobra.Command{Use: "readers PATH...", Short: "Compare the letters of PDFs with those that poppler and MuPDF read",
		Long: `Compare, for every PDF under PATH, this project's text with that of pdftotext (poppler) and mutool (MuPDF): the letters
that both others have and ours lacks, the letters that ours alone has, and the order. Both programs must be installed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("name a PDF or a folder of PDFs")
			}
			for _, p := range []string{"pdftotext", "mutool"} {
				if _, err := exec.LookPath(p); err != nil {
					return cli.Usagef("%s is not installed: it comes with poppler-utils or mupdf-tools", p)
				}
			}
			return l.compareReaders(cmd, args, worst)
		}}
	c.Flags().IntVar(&worst, "worst", worst, "list so many files with the largest disagreement")
	return c
}

func (l *lab) compareReaders(cmd *cobra.Command, paths []string, worst int) error {
	pdf, err := extract.NewPDF(extract.PDFOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = pdf.Close() }() // nothing is written
	var all []eval.ReaderFigures
	for _, root := range paths {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(p), ".pdf") {
				return err
			}
			f, err := eval.CompareReaders(cmd.Context(), pdf, p)
			if err == nil {
				all = append(all, f)
				if l.JSON {
					err = l.Line(f)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("there is no PDF")
	}
	if l.JSON {
		return nil
	}
	mean := func(of, weight func(f eval.ReaderFigures) float64) float64 {
		sum, n := 0.0, 0.0
		for _, f := range all {
			sum, n = sum+of(f)*weight(f), n+weight(f)
		}
		return sum / max(n, 1)
	}
	poppler := func(f eval.ReaderFigures) float64 { return float64(min(f.Poppler, f.MuPDF)) }
	l.Say("%d PDFs, %.0f letters", len(all), float64(len(all))*mean(poppler, func(eval.ReaderFigures) float64 { return 1 }))
	l.Say("letters that both others have and we have  %.4f", mean(func(f eval.ReaderFigures) float64 { return f.Found }, poppler))
	l.Say("our letters that one of the others has     %.4f", mean(func(f eval.ReaderFigures) float64 { return f.Known },
		func(f eval.ReaderFigures) float64 { return float64(f.Letters) }))
	l.Say("order: poppler's runs in ours              %.4f", mean(func(f eval.ReaderFigures) float64 { return f.OrderPoppler }, poppler))
	l.Say("order: MuPDF's runs in ours                %.4f", mean(func(f eval.ReaderFigures) float64 { return f.OrderMuPDF }, poppler))
	l.Say("order: poppler's runs in MuPDF's           %.4f", mean(func(f eval.ReaderFigures) float64 { return f.PopplerInMuPDF }, poppler))
	lost := func(f eval.ReaderFigures) float64 { return (1 - min(f.Found, f.Known)) * poppler(f) }
	slices.SortStableFunc(all, func(a, b eval.ReaderFigures) int { return cmp.Compare(lost(b), lost(a)) })
	for _, f := range all[:min(max(worst, 0), len(all))] {
		l.Say("  %.3f found, %.3f known, order %.3f %.3f, %d letters: %s %s %s", f.Found, f.Known, f.OrderPoppler, f.OrderMuPDF, f.Letters,
			filepath.Base(f.File), strings.Join(f.Flags, ","), f.Error)
	}
	return nil
}
