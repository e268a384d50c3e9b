package screening

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat/cmd/cli"
	"concordat/report"
	"concordat/screen"
)

// writeOut writes the results to the folder in --out: index.html, pairs.csv, clusters.csv, removal.txt, result.jsonl. Either all of them
// appear or none.
func (s *screening) writeOut(r *screenResults) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	var paths []string
	for _, name := range []string{"index.html", "pairs.csv", "clusters.csv", "removal.txt", "result.jsonl"} {
		paths = append(paths, filepath.Join(s.out, name))
	}
	return cli.WriteFiles(func(w []*bufio.Writer) error {
		if err := s.writePage(w[0], r); err != nil {
			return err
		}
		if err := s.writePairs(w[1], r); err != nil {
			return err
		}
		if err := s.writeClusters(w[2], r); err != nil {
			return err
		}
		for _, m := range r.removals {
			if _, err := fmt.Fprintf(w[3], "%s\t%s\n", m.Library, m.Document); err != nil {
				return err
			}
		}
		e := json.NewEncoder(w[4])
		e.SetEscapeHTML(false)
		return screenLines(s, r, func(v any) error { return e.Encode(v) })
	}, paths...)
}

func share(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}

func low(b *report.Bounds) string {
	if b == nil {
		return ""
	}
	return share(&b.Low)
}

func high(b *report.Bounds) string {
	if b == nil {
		return ""
	}
	return share(&b.High)
}

// clusterNumbers returns the number of each document's cluster, from 1.
func (r *screenResults) clusterNumbers() map[int]int {
	out := map[int]int{}
	for i, c := range r.clusters {
		for _, n := range c.Documents {
			out[n.doc] = i + 1
		}
	}
	return out
}

func (s *screening) writePairs(w *bufio.Writer, r *screenResults) error {
	number := r.clusterNumbers()
	c := report.NewCSV(w, "cluster", "library_a", "a", "title_a", "library_b", "b", "title_b", "method", "resemblance", "low", "high",
		"containment_a", "containment_b", "measured", "containment_a_low", "containment_a_high", "containment_b_low",
		"containment_b_high", "sections")
	for _, p := range r.pairs {
		var sections []string
		for _, o := range p.Sections {
			sections = append(sections, fmt.Sprintf("%s in %s %.0f%%", o.A, o.B, 100*o.ContainmentA))
		}
		x, y := &s.docs[p.a], &s.docs[p.b]
		c.Row(strconv.Itoa(number[p.a]), string(p.LibraryA), string(p.A), x.Title,
			s.place(p.SiteB, p.LibraryB), string(p.B), y.Title,
			p.Method, share(&p.Resemblance), share(p.Low), share(p.High), share(p.ContainmentA), share(p.ContainmentB),
			strconv.FormatBool(p.Measured), low(p.WithinA), high(p.WithinA), low(p.WithinB), high(p.WithinB),
			strings.Join(sections, "; "))
	}
	return c.End()
}

func (s *screening) writeClusters(w *bufio.Writer, r *screenResults) error {
	kept := r.keptFor()
	c := report.NewCSV(w, "cluster", "library", "document", "title", "date", "representative", "from_library", "from", "from_resemblance",
		"removable_for")
	for i, cl := range r.clusters {
		for _, n := range cl.Documents {
			row := []string{strconv.Itoa(i + 1), s.place(n.Site, n.Library), string(n.Document), n.Title,
				n.Date.UTC().Format(time.RFC3339), "", "", "", "", kept[n.doc]}
			if n.screenMember == cl.Representative {
				row[5] = "yes"
			}
			if n.From != nil {
				row[6], row[7], row[8] = s.place(n.From.Site, n.From.Library), string(n.From.Document),
					share(&n.FromResemblance)
			}
			c.Row(row...)
		}
	}
	return c.End()
}

// keptFor returns the document that represents each removable document.
func (r *screenResults) keptFor() map[int]string {
	out := map[int]string{}
	for _, m := range r.removals {
		out[m.doc] = string(m.Kept.Document)
	}
	return out
}

const (
	clustersShown = 300 // maximum on the page; the tables list all clusters
	pairsShown    = 100 // maximum per cluster
)

// screenPage is the template's data.
type screenPage struct {
	Sum      screenSummary
	Keep     string
	Partners []string // the queried partners
	Overview template.HTML
	Clusters []pageCluster
	More     int
}

type pageCluster struct {
	Number    int
	Picture   template.HTML
	Documents []pageDocument
	Pairs     []pagePair
	MorePairs int
}

type pageDocument struct {
	Number                        int
	Document, Title, Date, From   string
	FromShare, Removable, Library string
	Representative                bool
}

type pagePair struct {
	A, B                 int
	Method               string
	Resemblance, InA, In string
	Sections             []screenSections
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Screening of {{.Sum.Library}}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c2430;background:#fff;overflow-wrap:anywhere}
table{border-collapse:collapse;margin:.5rem 0 1rem;font-size:.9rem}th,td{text-align:start;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #d5dae1;vertical-align:top}
section{border-top:2px solid #d5dae1;margin-top:2rem;padding-top:.5rem}svg{max-width:100%;height:auto}.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}.note{color:#525c6b}
</style></head><body>
<h1>Screening of {{.Sum.Library}}{{with .Sum.Against}} against {{.}}{{end}}{{range .Partners}} · {{.}}{{end}}</h1>
<p>Method {{.Sum.Method}}, threshold {{percent .Sum.Threshold}}: <strong>{{.Sum.Pairs}}</strong> pairs in <strong>{{.Sum.Clusters}}</strong> clusters.
{{.Sum.Documents}} documents, {{.Sum.Distinct}} distinct texts, {{.Sum.Compared}} of which the method could compare{{if .Sum.Unread}}; {{.Sum.Unread}} could not be read{{end}}.</p>
<p>{{.Sum.Removable}} documents could be removed by keeping only the {{.Keep}} of similar documents (removal.txt). Nothing was removed.</p>
<p class="note">A pair means that two texts share wording, not that anyone copied: common sources, forms and quotations look the same. Shares marked ~ are estimates; pairs.csv has their bounds. All pairs are in pairs.csv, and all clusters are in clusters.csv.</p>
{{if .Partners}}<p class="note">{{.Sum.Sent}} sentences were shown to partners as keyed fingerprints, and {{.Sum.Withheld}} were withheld. For {{.Sum.Hidden}} texts, partners have similar text that they do not show. A share of a partner's document is measured in bytes of its text.{{range .Sum.Refused}}<br>Not compared: {{.}}{{end}}</p>
{{end}}{{.Overview}}
{{range .Clusters}}<section id="cluster-{{.Number}}"><h2>Cluster {{.Number}}: {{len .Documents}} documents</h2>
<p class="note">Documents are sorted by date. Arcs join pairs; the filled circle is the representative.</p>
{{.Picture}}
<table><thead><tr><th class="n">No.</th><th>Document</th><th>Title</th><th class="n">Date</th><th>May come from</th><th>Replaceable by</th></tr></thead><tbody>
{{range .Documents}}<tr><td class="n">{{.Number}}</td><td>{{.Library}}/{{.Document}}{{if .Representative}} <strong>(representative)</strong>{{end}}</td><td>{{.Title}}</td><td class="n">{{.Date}}</td><td>{{.From}}{{with .FromShare}} ({{.}}){{end}}</td><td>{{.Removable}}</td></tr>
{{end}}</tbody></table>
<table><thead><tr><th class="n">Pair</th><th>Found by</th><th class="n">Resemblance</th><th class="n">Of the first in the second</th><th class="n">Of the second in the first</th><th>Sections</th></tr></thead><tbody>
{{range .Pairs}}<tr><td class="n">{{.A}} – {{.B}}</td><td>{{.Method}}</td><td class="n">{{.Resemblance}}</td><td class="n">{{.InA}}</td><td class="n">{{.In}}</td><td>{{range .Sections}}{{percent .ContainmentA}} of {{.A}} in {{.B}}<br>{{end}}</td></tr>
{{end}}</tbody></table>{{if .MorePairs}}<p class="note">and {{.MorePairs}} more pairs</p>{{end}}</section>
{{end}}{{if .More}}<p class="note">{{.More}} smaller clusters are in clusters.csv.</p>{{end}}
</body></html>
`))

func (s *screening) writePage(w *bufio.Writer, r *screenResults) error {
	page := screenPage{Sum: s.sum, Keep: s.keep, Partners: s.Partners, More: max(0, len(r.clusters)-clustersShown)}
	var sizes []int
	for _, c := range r.clusters {
		sizes = append(sizes, len(c.Documents))
	}
	var b strings.Builder
	if err := screen.WriteOverview(&b, sizes); err != nil {
		return err
	}
	page.Overview = template.HTML(b.String()) // our own markup, with escaped texts
	kept, number := r.keptFor(), r.clusterNumbers()
	pairs := make([][]int, len(r.clusters)+1)
	for i, p := range r.pairs {
		pairs[number[p.a]] = append(pairs[number[p.a]], i)
	}
	for i, c := range r.clusters[:min(len(r.clusters), clustersShown)] {
		p, err := s.pageCluster(i+1, c, r, pairs[i+1], kept)
		if err != nil {
			return err
		}
		page.Clusters = append(page.Clusters, p)
	}
	return pageTemplate.Execute(w, page)
}

func (s *screening) pageCluster(n int, c screenCluster, r *screenResults, pairs []int, kept map[int]string) (pageCluster, error) {
	out := pageCluster{Number: n}
	byDate := slices.Clone(c.Documents)
	slices.SortStableFunc(byDate, func(a, b screenNode) int { return a.Date.Compare(b.Date) })
	place := map[int]int{}
	var nodes []screen.Node
	for i, d := range byDate {
		place[d.doc] = i
		row := pageDocument{Number: i + 1, Library: s.place(d.Site, d.Library), Document: string(d.Document), Title: d.Title,
			Date: d.Date.UTC().Format(time.DateOnly), Representative: d.screenMember == c.Representative, Removable: kept[d.doc]}
		if d.From != nil {
			row.From, row.FromShare = string(d.From.Document), strings.TrimSpace(cli.Percent(&d.FromResemblance))
		}
		out.Documents = append(out.Documents, row)
		nodes = append(nodes, screen.Node{Label: string(d.Document), Mark: row.Representative})
	}
	var links []screen.Link
	for i, at := range pairs {
		p := &r.pairs[at]
		links = append(links, screen.Link{A: place[p.a], B: place[p.b], Resemblance: p.Resemblance})
		if i < pairsShown {
			out.Pairs = append(out.Pairs, pagePair{place[p.a] + 1, place[p.b] + 1, p.Method, cli.Percent(&p.Resemblance),
				cli.Percent(p.ContainmentA), cli.Percent(p.ContainmentB), p.Sections})
		}
	}
	out.MorePairs = max(0, len(pairs)-pairsShown)
	var b strings.Builder
	if err := screen.WriteCluster(&b, fmt.Sprintf("Cluster %d", n), nodes, links[:min(len(links), 2000)]); err != nil {
		return out, err
	}
	out.Picture = template.HTML(b.String()) // our own markup, with escaped texts
	return out, nil
}
