package program

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/instance/signing"
	"concordat/report"
	"concordat/report/html"
	"concordat/report/language"
)

// outFlags specifies the destination and format of a report.
type outFlags struct {
	out, format, language string
	pages                 signing.Pages // for a PDF
}

func (f *outFlags) add(fl *pflag.FlagSet) {
	fl.StringVarP(&f.out, "out", "o", "", "file for the report, or - for standard output; for several reports, a folder")
	fl.StringVarP(&f.format, "format", "f", "", "format of the report: "+strings.Join(formats, ", ")+" (default: taken from the file extension of --out, otherwise html)")
	addLanguage(fl, &f.language)
}

// addLanguage adds the report language flag.
func addLanguage(fl *pflag.FlagSet, to *string) {
	usage := "language of the report: " + strings.Join(language.Short(), " or ") + " (default: configuration, en)"
	fl.StringVar(to, "language", "", usage)
}

func (f *outFlags) validate() error {
	if _, err := report.ParseLanguage(f.language); err != nil {
		return cli.Usagef("--language: %w", err)
	}
	if f.format == "" {
		f.format = strings.TrimPrefix(strings.ToLower(filepath.Ext(f.out)), ".")
		switch f.format {
		case "htm", "":
			f.format = "html"
		case "txt":
			f.format = "text"
		}
		if !slices.Contains(formats, f.format) {
			f.format = "html"
		}
		return nil
	}
	if !slices.Contains(formats, f.format) {
		return cli.Usagef("--format %s: must be one of %s", f.format, strings.Join(formats, ", "))
	}
	return nil
}

// isFolder reports whether path is an existing folder or a folder to create.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return strings.HasSuffix(path, "/") || err == nil && info.IsDir()
}

// give writes a report to the destination in the flags.
func (a *app) give(rep *report.Report, f outFlags) error {
	if a.JSON {
		if err := a.reportLine(rep); err != nil {
			return err
		}
	}
	switch {
	case f.out == "" && a.JSON:
		return nil
	case f.out == "":
		return cli.Show(a.Stdout, func(w io.Writer) error { return report.WriteSummary(w, rep) })
	case f.out == "-":
		if a.JSON {
			return nil
		}
		return a.writeReport(a.Stdout, rep, f)
	}
	if err := a.writeFile(rep, f); err != nil {
		return err
	}
	if a.JSON {
		return nil
	}
	if err := cli.Show(a.Stdout, func(w io.Writer) error { return report.WriteSummary(w, rep) }); err != nil {
		return err
	}
	a.Say("report: %s", tables.Absolute(f.out))
	return nil
}

// longestFileName is the maximum length in bytes of a report's file name, without the extension.
const longestFileName = 200

// fileName derives a report's file name from the submission's name. The result is unique within this run.
func (c *checker) fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '_'
		}
		return r
	}, strings.TrimLeft(name, "./"))
	if len(clean) > longestFileName {
		clean = strings.ToValidUTF8(clean[:longestFileName], "")
	}
	unique := cmp.Or(clean, "submission")
	for n := 2; c.names[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", clean, n)
	}
	c.names[unique] = true
	return unique
}

// writeFile writes a report to a temporary file and renames it, so that path never contains a partial report.
func (a *app) writeFile(rep *report.Report, f outFlags) error {
	path := f.out
	tmp, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return err
	}
	err = a.writeReport(tmp, rep, f)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}

func (a *app) writeReport(w io.Writer, rep *report.Report, f outFlags) error {
	sign := a.Signatures()
	switch f.format {
	case "pdf":
		return sign.WritePDF(w, rep, f.pages)
	case "json":
		return sign.WriteJSON(w, rep)
	case "csv":
		return sign.WriteFile(w, signing.CSV, func(w io.Writer) error { return report.WriteCSV(w, rep, report.CSVOptions{BOM: true}) })
	case "text":
		return sign.WriteFile(w, signing.Text, func(w io.Writer) error { return report.WriteText(w, rep) })
	}
	return sign.WriteFile(w, signing.HTML, func(w io.Writer) error { return html.Write(w, rep) })
}
