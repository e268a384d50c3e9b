package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/report"
	"concordat/segment"
)

// now returns the configuration in force: keys that change while the site runs are read from it each time.
func (o *opened) now() *config.Config {
	if c := o.live.Load(); c != nil {
		return c
	}
	return o.config
}

// loadConfig reads the configuration at path, overlaid by what holds on all nodes of the site and by the environment.
func loadConfig(path string) (*config.Config, error) {
	var central config.Central
	if path != "" {
		var err error
		if central, err = centralAt(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	c, err := config.LoadCentral(path, central, os.LookupEnv)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return c, nil
}

// initialConfig is the file that init writes: the keys that make the site what it is, and where to
// find the others.
func initialConfig(id, title, scheme, database string) []byte {
	return fmt.Appendf(nil, `# Configuration of a Concordat site. concordat config check shows every key with its value and
# where it came from; doc/config.md explains them.
site:
  id: %s
  title: %q
scheme: %s
`+storeLines(database), id, title, scheme)
}

// extraction returns the limits of extraction.
func extraction(c *config.Config) sandbox.Options {
	e := c.Extract
	var ocr *sandbox.OCR
	if e.OCR != "" {
		ocr = &sandbox.OCR{Languages: e.OCR}
	}
	return sandbox.Options{
		OCR: ocr,
		Extract: extract.Options{MaxInput: e.MaxInput, MaxText: e.MaxText, MaxUnpacked: e.MaxUnpacked, MaxPages: e.MaxPages,
			MaxEntries: e.MaxEntries, MaxRatio: e.MaxRatio, MaxDepth: e.MaxDepth, MaxNesting: e.MaxNesting},
		Wall: e.Wall, CPU: e.CPU, Memory: e.Memory,
	}
}

// defaultRules returns the rules of the configuration.
func defaultRules(c *config.Config) report.Rules {
	r := report.Rules{ExcludeQuotes: c.Report.ExcludeQuotes, ExcludeBibliography: c.Report.ExcludeBibliography,
		ExcludeCitations: c.Report.ExcludeCitations, CountForms: c.Report.CountForms, CountSentences: c.Report.CountSentences,
		MinCharacters: c.Report.MinCharacters, MinSourceShare: c.Report.MinSourceShare, CommonAbove: c.Report.CommonAbove,
		ExcludeSections: c.Report.ExcludeSections}
	for _, k := range c.Report.ExcludeKinds {
		r.ExcludeKinds = append(r.ExcludeKinds, concordat.Kind(k))
	}
	return r
}

// templates returns the section templates that ship, with those of the configuration over them.
func templates(c *config.Config) map[string]*segment.Template {
	all := segment.Templates()
	for _, t := range c.Templates {
		out := &segment.Template{Name: t.Name}
		for _, s := range t.Sections {
			out.Headings = append(out.Headings, segment.Heading{Section: s.Name, Pattern: s.Heading, Skip: s.Skip})
		}
		all[t.Name] = out
	}
	return all
}

// nameList joins names for a message.
func nameList[K ~string](names []K) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = string(n)
	}
	return strings.Join(all, ", ")
}

// language returns the language of a report: that of the flag, or of the configuration.
func (o *opened) language(flag string) (report.Language, error) {
	l, err := report.ParseLanguage(cmp.Or(flag, o.config.Report.Language))
	if err != nil {
		return "", cli.Usagef("--language %s: want en or zh", flag)
	}
	return l, nil
}
