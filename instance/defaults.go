package instance

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"concordat"
	"concordat/instance/config"
	"concordat/report"
	"concordat/report/language"
	"concordat/segment"
	"concordat/site"
)

// Template returns the named section template from the configuration or the built-in ones.
func Template(c *config.Config, name string) (*segment.Template, error) {
	if name == "" {
		return nil, nil
	}
	all := Templates(c)
	if t, ok := all[name]; ok {
		return t, nil
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, Usagef("unknown template %s; available templates: %s", name, NameList(names))
}

// SectionTemplate returns the wanted section template; "none" selects no template. By default, it is the template that all the given
// libraries use for their documents, since new submissions have the same form as earlier ones.
func (o *Instance) SectionTemplate(ctx context.Context, wanted string, libraries []concordat.LibraryID) (*segment.Template, error) {
	all := Templates(o.Config)
	if wanted == NoTemplate && all[wanted] == nil {
		return nil, nil
	}
	if wanted != "" {
		return Template(o.Live.Now(), wanted)
	}
	common := ""
	for i, id := range libraries {
		l, err := o.Store.Catalogue.Library(ctx, id)
		if err != nil {
			return nil, err
		}
		if i > 0 && l.Policy.Template != common {
			return nil, nil
		}
		common = l.Policy.Template
	}
	return all[common], nil // nil if there is none or the configuration no longer defines it
}

// NoTemplate means that no section template is used, whatever the libraries specify.
const NoTemplate = "none"

// Forward returns which sentences to ask partners about, as specified by the check or, by default, by the strictest of its libraries or
// by the site's configuration. A check of all libraries lists no libraries.
func (o *Instance) Forward(ctx context.Context, wanted string, libraries []concordat.LibraryID) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	strict := []string{site.ForwardAll, site.ForwardUnmatched, site.ForwardNone}
	most := -1
	for _, id := range libraries {
		l, err := o.Store.Catalogue.Library(ctx, id)
		if err != nil {
			return "", err
		}
		most = max(most, slices.Index(strict, l.Policy.Forward))
	}
	if most < 0 {
		return o.Live.Now().Check.Forward, nil
	}
	return strict[most], nil
}

// Templates returns the built-in section templates, overridden by those in the configuration.
func Templates(c *config.Config) map[string]*segment.Template {
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

// Language returns the language of a report, from the flag or the configuration.
func Language(c *config.Config, flag string) (report.Language, error) {
	l, err := report.ParseLanguage(cmp.Or(flag, c.Report.Language))
	if err != nil {
		return "", Usagef("unknown language %s for --language; want %s", flag, strings.Join(language.Short(), " or "))
	}
	return l, nil
}
