package web

import (
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
var parsed = sync.OnceValues(func() (map[message.Language]map[string]*template.Template, error) {
	files, err := assets()
	if err != nil {
		return nil, err
	}
	pages := map[message.Language]map[string]*template.Template{}
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
		pages[l] = map[string]*template.Template{}
		for _, name := range names {
			t, err := template.New("frame.html").Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts/*.html", name)
			if err != nil {
				return nil, fmt.Errorf("page %s: %w", name, err)
			}
			pages[l][strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = t
		}
	}
	return pages, nil
})
