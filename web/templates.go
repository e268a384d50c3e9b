package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/admin"
	"concordat/web/pages/batches"
	"concordat/web/pages/libraries"
	"concordat/web/static"
)

//go:embed templates
var templates embed.FS

// assets are the files that pages refer to, compressed once for all sites of a process.
var assets = sync.OnceValues(func() (static.Files, error) {
	return static.New(map[string][]byte{"report.css": []byte(html.Style + html.LeafStyle), "lines.js": []byte(html.LinesScript)})
})

// parsed parses the page templates, each with the frame around it, once for each language. Sites in one process share them because
// parsing takes a fifth of a second.
var parsed = sync.OnceValues(func() (pieces, error) {
	files, err := assets()
	if err != nil {
		return nil, err
	}
	out := pieces{}
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, l := range message.Languages() {
		functions := template.FuncMap{
			"t":       l.Say,
			"many":    l.Report().Plural,
			"asset":   files.Path,
			"percent": l.Report().Percent,
			"facts":   admin.AuditFacts,
			"add":     func(a, b int) int { return a + b },
			"points":  func(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) },
			"kindnamed": func(k string) string {
				if g := concordat.Group(k); slices.Contains(report.Groups(), g) {
					return report.GroupTitle(l.Report(), g)
				}
				return l.Report().Kind(concordat.Kind(k))
			},
			"groupfigure": func(g report.GroupShare) string { return report.GroupFigure(l.Report(), g) },
			"kind":        l.Report().Kind,
			"close":       l.Report().Closeness,
			"why":         l.Report().Exclusion,
			"cause":       l.Cause,
			"leftout":     func(out concordat.LeftOut) string { return l.LeftOut(seenLeftOut(out)) },
			"action":      l.Action,
			"fact":        l.Fact,
			"day":         day,
			"library":     libraries.Path,
			"bytes":       func(n int64) string { return admin.BytesWords(l, n) },
			"segment":     url.PathEscape,
			"icon":        static.Icon,
			"called":      batches.MemberName,
			"by":          batches.MemberBy,
			"seen":        seenName,
			"disguises":   report.Disguises,
			"flagged":     func(m *store.BatchMember) int { return report.Disguises(m.Flags) },
			"bar":         shareBar,
			"date":        func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
		}
		out[l] = map[string]*template.Template{}
		for _, name := range names {
			t, err := template.New("frame.html").Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts/*.html", name)
			if err != nil {
				return nil, fmt.Errorf("page %s: %w", name, err)
			}
			out[l][strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = t
		}
	}
	return out, nil
})

// pieces are the parsed templates of the pages, by language and name.
type pieces map[message.Language]map[string]*template.Template

// Piece executes a template that is defined in the file of a page.
func (p pieces) Piece(in message.Language, page, name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := p[in][page].ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// seenLeftOut returns the skipped files, with visible names.
func seenLeftOut(out concordat.LeftOut) concordat.LeftOut {
	seen := concordat.LeftOut{Count: out.Count}
	for _, name := range out.Names {
		seen.Names = append(seen.Names, pages.Visible(name))
	}
	return seen
}

// seenName is pages.Visible for templates; it accepts names of any type.
func seenName(name any) string { return pages.Visible(fmt.Sprint(name)) }

// shareBar returns a bar whose length shows a share, 0 to 1. The number is shown next to it.
func shareBar(share float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="sharebar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="%.1f" height="10"/></svg>`,
		100*min(1, max(0, share))))
}
