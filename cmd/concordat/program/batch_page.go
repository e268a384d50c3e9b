package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/screen"
	"concordat/site"
	"concordat/site/batch"
)

const (
	batchPairPages = 1000 // maximum number of pairs with their own page; the tables list all pairs
	batchPictures  = 100  // maximum number of clusters with a picture
)

// batchWriter writes the results of a batch into a folder.
type batchWriter struct {
	a        *app
	o        *instance.Instance
	v        *batch.View
	leads    *batch.ViewedLeads
	wording  []batch.WordingLine
	rules    report.Rules // for batches without their own rules
	language report.Language
	dir      string
}

// open reads the results of a batch.
func (w *batchWriter) open(ctx context.Context, id string) (err error) {
	if w.v, err = batch.Open(ctx, w.o.Store, id); err == nil {
		w.leads, err = w.v.Leads(ctx, w.o.Store, w.rules)
	}
	if err == nil {
		w.wording, err = batch.WordingLines(ctx, w.o.Site, w.v)
	}
	return err
}

func (w *batchWriter) overview() string { return filepath.Join(w.dir, "index.html") }

// write writes the reports, the pair pages, and the overview with its tables.
func (w *batchWriter) write(ctx context.Context) error {
	for _, dir := range []string{"reports", "pairs"} {
		if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o755); err != nil {
			return err
		}
	}
	b := w.a.Progress(int64(len(w.v.Members)), "writing reports")
	defer b.Done()
	for i, m := range w.v.Members {
		if m.Task != "" {
			if err := w.report(ctx, i); err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted in the meantime
				return fmt.Errorf("report of %s: %w", m.Name, err)
			}
		}
		b.Add(1)
	}
	pairs := slices.Clone(w.v.Pairs[:min(len(w.v.Pairs), batchPairPages)])
	for _, l := range w.leads.Leads[:min(len(w.leads.Leads), batchPairPages)] {
		pairs = append(pairs, batch.ViewedPair{A: l.A, B: l.B})
	}
	written := map[string]bool{} // two documents can be a pair and also have several leads
	for _, p := range pairs {
		name := w.pairPath(p)
		if written[name] {
			continue
		}
		written[name] = true
		if err := w.pair(ctx, p); err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
	}
	var paths []string
	for _, name := range []string{"index.html", "pairs.csv", "documents.csv", "matrix.csv", "leads.csv", "wording.csv", "result.jsonl"} {
		paths = append(paths, filepath.Join(w.dir, name))
	}
	return cli.WriteFiles(func(f []*bufio.Writer) error {
		if err := w.page(f[0]); err != nil {
			return err
		}
		for i, table := range []func(*bufio.Writer) error{
			func(f *bufio.Writer) error { return w.v.WritePairs(f) },
			func(f *bufio.Writer) error { return w.v.WriteMembers(f) },
			func(f *bufio.Writer) error { return w.v.WriteMatrix(f) },
			func(f *bufio.Writer) error { return w.v.WriteLeads(f, w.leads) },
			func(f *bufio.Writer) error { return batch.WriteWording(f, w.wording) },
		} {
			if err := table(f[i+1]); err != nil {
				return err
			}
		}
		e := json.NewEncoder(f[6])
		e.SetEscapeHTML(false)
		return w.lines(e.Encode)
	}, paths...)
}

// reportPath returns the path of a member's report, relative to the folder.
func (w *batchWriter) reportPath(i int) string {
	return path.Join("reports", fmt.Sprintf("%04d.html", w.v.Members[i].Number+1))
}

func (w *batchWriter) pairPath(p batch.ViewedPair) string {
	return path.Join("pairs", fmt.Sprintf("%04d-%04d.html", w.v.Members[p.A].Number+1, w.v.Members[p.B].Number+1))
}

func (w *batchWriter) report(ctx context.Context, i int) error {
	m := w.v.Members[i]
	f, err := w.o.Site.Findings(ctx, m.Task)
	if err != nil {
		return err
	}
	rules, err := site.RulesInForce(ctx, w.o.Store, m.Task, w.rules)
	if err != nil {
		return err
	}
	rep := report.Build(f, rules)
	rep.Language = w.language
	if rep.Names, err = partners.ReportNames(ctx, w.o); err != nil {
		return err
	}
	return w.a.writeFile(rep, outFlags{out: filepath.Join(w.dir, filepath.FromSlash(w.reportPath(i))), format: "html"})
}

func (w *batchWriter) pair(ctx context.Context, p batch.ViewedPair) error {
	rep, err := batch.PairReport(ctx, w.o.Site, w.o.Store, w.v.ID, w.v.Members[p.A].Number, w.v.Members[p.B].Number, w.rules)
	if err != nil {
		return err
	}
	rep.Language = w.language
	return w.a.writeFile(rep, outFlags{out: filepath.Join(w.dir, filepath.FromSlash(w.pairPath(p))), format: "html"})
}

// lines calls line for each line of the JSON output: members, pairs, clusters, leads, common leads, shared wording, and the batch.
func (w *batchWriter) lines(line func(any) error) error {
	for _, m := range w.v.MemberLines() {
		if err := line(m); err != nil {
			return err
		}
	}
	for _, p := range w.v.PairLines() {
		if err := line(p); err != nil {
			return err
		}
	}
	for _, s := range w.v.SectionLines() {
		if err := line(s); err != nil {
			return err
		}
	}
	for _, c := range w.v.ClusterLines() {
		if err := line(c); err != nil {
			return err
		}
	}
	for _, l := range w.v.LeadLines(w.leads) {
		if err := line(l); err != nil {
			return err
		}
	}
	for _, m := range w.v.ManyLines(w.leads) {
		if err := line(m); err != nil {
			return err
		}
	}
	for _, h := range w.wording {
		if err := line(h); err != nil {
			return err
		}
	}
	return line(w.summary())
}

// batchSummary is the last line of the JSON output.
type batchSummary struct {
	Type      string  `json:"type"` // batch
	ID        string  `json:"id"`
	State     string  `json:"state"`
	Cause     string  `json:"cause,omitempty"`
	Round     int     `json:"round"`
	Documents int     `json:"documents"`
	Unread    int     `json:"unread"`
	Threshold float64 `json:"threshold"`
	Pairs     int     `json:"pairs"` // counted pairs that reach the threshold
	Excused   int     `json:"excused"`
	Undecided int     `json:"undecided"` // wording that awaits an officer's decision
	Clusters  int     `json:"clusters"`
	Leads     *int    `json:"leads"` // null if leads were not requested
	Many      int     `json:"many"`  // statements that at least three documents make, each in different words
	// LeftOut lists the files in archives that were not read.
	LeftOut  *concordat.LeftOut `json:"left_out,omitempty"`
	Overview string             `json:"overview,omitempty"`
	Reports  string             `json:"reports,omitempty"`
}

func (w *batchWriter) summary() batchSummary {
	s := batchSummary{Type: "batch", ID: w.v.ID, State: string(w.v.State), Cause: w.v.Cause.String(), Round: w.v.Round,
		Documents: len(w.v.Members), Unread: len(w.v.Unread()),
		Threshold: w.v.Job.PairThreshold(), Clusters: len(w.v.Clusters)}
	for _, p := range w.v.Pairs {
		if p.Counted() {
			s.Pairs++
		}
	}
	s.Excused = len(w.v.Pairs) - s.Pairs
	for _, l := range w.wording {
		if l.Decide {
			s.Undecided++
		}
	}
	if w.v.Job.Leads {
		s.Leads, s.Many = new(len(w.leads.Leads)), len(w.leads.Many)
	}
	if out := w.v.Job.AllLeftOut(); !out.IsZero() {
		s.LeftOut = &out
	}
	if w.dir != "" {
		s.Overview, s.Reports = tables.Absolute(w.overview()), tables.Absolute(filepath.Join(w.dir, "reports"))
	}
	return s
}

// tell prints the results.
func (w *batchWriter) tell() error {
	if w.a.JSON {
		return w.lines(w.a.Line)
	}
	s := w.summary()
	w.a.Say("batch %s: %d documents, %d unreadable; threshold %.2f: %d pairs in %d clusters, %d more pairs do not count", s.ID, s.Documents,
		s.Unread, s.Threshold, s.Pairs, s.Clusters, s.Excused)
	w.tellLeftOut(s)
	for _, l := range w.wording {
		if l.Decide {
			w.a.Say("  to be decided: %d of %d documents contain the same %d words, either copied or taken from a form; see wording.csv or the batch page", l.Held,
				l.Of, l.Words)
		}
	}
	for i, p := range w.v.Pairs {
		if i == 20 {
			w.a.Say("  and %d more, in pairs.csv", len(w.v.Pairs)-i)
			break
		}
		why := ""
		if r := p.Reason(); r != "" {
			why = "  does not count: " + r
		}
		w.a.Say("  %3.0f%%  %s – %s%s%s", 100*p.Share(), w.v.Members[p.A].Name, w.v.Members[p.B].Name, w.sections(p), why)
	}
	w.tellLeads()
	if n := len(w.v.Wording); n > 0 {
		w.a.Say("  %d pieces of shared wording appear in %d or more documents; see wording.csv or the batch page", n, batch.LeastHeld)
	}
	w.a.Say("reports: %s", s.Reports)
	w.a.Say("overview: %s", s.Overview)
	return nil
}

// tellLeftOut prints the archive files that were left out, if any.
func (w *batchWriter) tellLeftOut(s batchSummary) {
	if s.LeftOut != nil {
		w.a.Say("  left out of archives: %s", leftOutWords(*s.LeftOut))
	}
}

// leftOutWords describes the archive files that were left out, with their number and names. The retention policy removes the names.
func leftOutWords(out concordat.LeftOut) string {
	s := report.Plural(out.Count, "hidden, lock or system file", "hidden, lock or system files")
	if len(out.Names) == 0 {
		return s
	}
	s += ": " + strings.Join(out.Names, ", ")
	if more := out.Count - len(out.Names); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// sections names the sections that reach the threshold in pairs where neither whole document does.
func (w *batchWriter) sections(p batch.ViewedPair) string {
	out := ""
	for _, s := range w.v.SectionsOf(p) {
		out += fmt.Sprintf("  %s: %.0f%%", s.Section, 100*s.Share)
	}
	return out
}

// tellLeads prints the leads between documents, if they were requested.
func (w *batchWriter) tellLeads() {
	if !w.v.Job.Leads {
		return
	}
	w.a.Say("  leads (paraphrased passages, not counted in the shares): %d; in %d other places, three or more documents say the same thing", len(w.leads.Leads),
		len(w.leads.Many))
	for i, l := range w.leads.Leads {
		if i == 20 {
			w.a.Say("    and %d more, in leads.csv", len(w.leads.Leads)-i)
			break
		}
		why := ""
		if l.Lineage != "" {
			why = "  the pair does not count: " + l.Lineage
		}
		w.a.Say("    %s – %s: %s, %d sentences%s", w.v.Members[l.A].Name, w.v.Members[l.B].Name, l.Kind, len(l.Pairs), why)
	}
}

// batchPage is the template's data.
type batchPage struct {
	Sum      batchSummary
	Title    string
	Overview template.HTML
	Clusters []batchPageCluster
	Matrix   batchMatrix // all documents; empty if they are too many
	Pairs    []batchPagePair
	Leads    []batchPageLead
	Many     []batch.ManyLine
	Wording  []batch.WordingLine
	Members  []batchPageMember
	MoreOf   int
}

type batchPageCluster struct {
	Number    int
	Picture   template.HTML
	Documents []batchPageMember
	Bridges   int // counted pairs between different clusters
	Matrix    batchMatrix
	More      int // documents missing from the matrix
}

type batchPageMember struct {
	Number                                   int
	Name, Title, Author, Group, Share, Error string
	Report                                   string
	Cluster                                  int
	Pairs                                    int    // number of pairs in its cluster that include it
	Largest                                  string // the largest share in these pairs
}

type batchPagePair struct {
	A, B, Share, ShareA, ShareB, Reason, Page string
	Sections                                  []batch.SectionLine
	Cluster                                   int
}

type batchPageLead struct {
	A, B, Kind, State, Reason, Page string
	Sentences                       int
}

type batchMatrix struct {
	Heads []batchPageMember
	Rows  [][]string
}

var batchFunctions = template.FuncMap{"percent": inPercent, "state": wordingState, "names": firstNames,
	"leftout": func(out *concordat.LeftOut) string { return leftOutWords(*out) }}

var batchTemplate = template.Must(template.New("batch").Funcs(batchFunctions).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Batch {{.Title}}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1c2430;background:#fff;overflow-wrap:anywhere}
table{border-collapse:collapse;margin:.5rem 0 1rem;font-size:.9rem}caption{text-align:start;color:#525c6b}th,td{text-align:start;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #d5dae1;vertical-align:top}
section{border-top:2px solid #d5dae1;margin-top:2rem;padding-top:.5rem}svg{max-width:100%;height:auto}.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}.note{color:#525c6b}.scroll{overflow-x:auto}
</style></head><body>
<h1>Batch {{.Title}}</h1>
<p>{{.Sum.Documents}} documents, {{.Sum.Unread}} unreadable. Pairs that share at least {{printf "%.0f" .Percent}} % of either document: <strong>{{.Sum.Pairs}}</strong> in <strong>{{.Sum.Clusters}}</strong> clusters; {{.Sum.Excused}} more are shown and do not count.{{with .Sum.Undecided}} <strong>To be decided: {{.}}</strong>, see <a href="#wording">shared wording</a>.{{end}}{{with .Sum.LeftOut}} Left out of archives: {{leftout .}}.{{end}}</p>
<p class="note">A pair means that two texts share wording. It does not show who wrote it first, or that anyone copied. Tables: <a href="pairs.csv">pairs</a>, {{if .Sum.Leads}}<a href="leads.csv">leads</a>, {{end}}<a href="wording.csv">shared wording</a>, <a href="documents.csv">documents</a>, <a href="matrix.csv">matrix</a>, <a href="result.jsonl">JSON lines</a>.</p>
{{with .Wording}}<h2 id="wording">Wording found in several documents</h2>
<p class="note">Wording to be decided may come from a form or may have been copied. None of it counts until someone decides on the batch's page; one decision applies to all its documents.</p>
<div class="scroll"><table><caption>Wording in at least three documents</caption><thead><tr><th>State</th><th class="n">Held by</th><th class="n">Words</th><th class="n">Up to</th><th>Documents</th><th>Wording</th></tr></thead><tbody>
{{range .}}<tr><td>{{state .}}</td><td class="n">{{.Held}} of {{.Of}}</td><td class="n">{{.Words}}</td><td class="n">{{percent .Share}}</td><td>{{names .Documents}}</td><td dir="auto">{{.Text}}</td></tr>
{{end}}</tbody></table></div>{{end}}
{{if .Clusters}}<h2>Clusters</h2><p class="note">A cluster is a group of documents held together by pairs that count. A few weak pairs between two groups do not merge them.</p>{{.Overview}}{{end}}
{{range .Clusters}}<section id="cluster-{{.Number}}"><h3>Cluster {{.Number}}: {{len .Documents}} documents</h3>
{{if .Picture}}<p class="note">Arcs join the two documents of a pair; darker arcs mean that they share more. Dashed arcs do not count.</p>{{.Picture}}{{end}}
<ol>{{range .Documents}}<li><a href="{{.Report}}">{{.Name}}</a> <span class="note">pairs in the cluster: {{.Pairs}}, sharing up to {{.Largest}}</span></li>{{end}}</ol>
{{with .Bridges}}<p class="note">Pairs with documents in other clusters: {{.}}. The table of pairs lists them.</p>{{end}}
{{template "matrix" .Matrix}}{{with .More}}<p class="note">The matrix file contains {{.}} more documents.</p>{{end}}</section>
{{end}}
{{with .Matrix.Heads}}<h2>All documents</h2>{{template "matrix" $.Matrix}}{{end}}
<h2>Pairs</h2>
<div class="scroll"><table><caption>Share of either document that appears in the other</caption><thead><tr><th>First</th><th>Second</th><th class="n">Share</th><th class="n">Of the first</th><th class="n">Of the second</th><th>Cluster</th><th>Does not count</th></tr></thead><tbody>
{{range .Pairs}}<tr><td>{{.A}}</td><td>{{.B}}</td><td class="n">{{if .Page}}<a href="{{.Page}}">{{.Share}}</a>{{else}}{{.Share}}{{end}}{{range .Sections}}<br><span class="note">{{.Section}}: {{percent .Share}}</span>{{end}}</td><td class="n">{{.ShareA}}</td><td class="n">{{.ShareB}}</td><td>{{with .Cluster}}<a href="#cluster-{{.}}">{{.}}</a>{{end}}</td><td>{{.Reason}}</td></tr>
{{end}}</tbody></table></div>{{with .MoreOf}}<p class="note">{{.}} more pairs are in pairs.csv.</p>{{end}}
{{if .Sum.Leads}}<h2 id="leads">Leads</h2><p class="note">A lead is a reason to read two places side by side: they seem to say the same thing in other words. It is not a pair and is not counted in any share.</p>
{{with .Leads}}<div class="scroll"><table><caption>Documents that seem to say the same thing in other words</caption><thead><tr><th>First</th><th>Second</th><th>Kind</th><th class="n">Sentences</th><th>Decided</th><th>The pair does not count</th></tr></thead><tbody>
{{range .}}<tr><td>{{.A}}</td><td>{{.B}}</td><td>{{if .Page}}<a href="{{.Page}}">{{.Kind}}</a>{{else}}{{.Kind}}{{end}}</td><td class="n">{{.Sentences}}</td><td>{{.State}}</td><td>{{.Reason}}</td></tr>
{{end}}</tbody></table></div>{{else}}<p>None was found.</p>{{end}}
{{with .Many}}<details><summary>Statements found in three or more documents, and therefore not leads: {{len .}}</summary><ul>{{range .}}<li>{{range $i, $d := .Documents}}{{if $i}}, {{end}}{{$d}}{{end}}</li>{{end}}</ul></details>{{end}}{{end}}
<h2>Documents</h2>
<div class="scroll"><table><caption>Share of each document found anywhere: in the batch, in libraries, at partners</caption><thead><tr><th>Document</th><th>Title</th><th>Author</th><th>Group</th><th class="n">Share</th><th>Cluster</th></tr></thead><tbody>
{{range .Members}}<tr><td>{{if .Report}}<a href="{{.Report}}">{{.Name}}</a>{{else}}{{.Name}}{{end}}</td><td>{{.Title}}</td><td>{{.Author}}</td><td>{{.Group}}</td><td class="n">{{if .Error}}not read: {{.Error}}{{else}}{{.Share}}{{end}}</td><td>{{with .Cluster}}<a href="#cluster-{{.}}">{{.}}</a>{{end}}</td></tr>
{{end}}</tbody></table></div>
</body></html>
{{define "matrix"}}<div class="scroll"><table><caption>How much of the row’s document appears in the column’s</caption><thead><tr><th>Document</th>{{range .Heads}}<th class="n" title="{{.Name}}">{{.Number}}</th>{{end}}</tr></thead><tbody>
{{range $i, $row := .Rows}}<tr><th>{{with index $.Heads $i}}{{.Number}} {{.Name}}{{end}}</th>{{range $row}}<td class="n">{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>{{end}}
`))

// Percent returns the threshold as a percentage.
func (p batchPage) Percent() float64 { return 100 * p.Sum.Threshold }

func (w *batchWriter) page(out *bufio.Writer) error {
	v := w.v
	s := batchShow{w: w, lines: v.MemberLines()}
	p := batchPage{Sum: w.summary(), Title: v.Title, Matrix: s.matrix(v.Matrix(0))}
	for i := range v.Members {
		p.Members = append(p.Members, s.member(i))
	}
	var sizes []int
	for n, d := range v.Details() {
		sizes = append(sizes, len(d.Documents))
		one, err := s.cluster(n+1, d)
		if err != nil {
			return err
		}
		p.Clusters = append(p.Clusters, one)
	}
	var b strings.Builder
	if err := screen.WriteOverview(&b, sizes); err != nil {
		return err
	}
	p.Overview = template.HTML(b.String()) // our own markup, with escaped texts
	for i, line := range v.PairLines()[:min(len(v.Pairs), batchPairPages)] {
		p.Pairs = append(p.Pairs, batchPagePair{A: line.A, B: line.B, Share: inPercent(line.Share), ShareA: inPercent(line.ShareA),
			ShareB: inPercent(line.ShareB),
			Reason: line.Reason, Page: w.pairPath(v.Pairs[i]), Cluster: line.Cluster, Sections: v.SectionsOf(v.Pairs[i])})
	}
	p.MoreOf = len(v.Pairs) - len(p.Pairs)
	for i, line := range v.LeadLines(w.leads) {
		one := batchPageLead{A: line.A, B: line.B, Kind: string(line.Kind), State: string(line.State), Reason: line.Reason,
			Sentences: len(line.Pairs)}
		if i < batchPairPages {
			one.Page = w.pairPath(batch.ViewedPair{A: w.leads.Leads[i].A, B: w.leads.Leads[i].B}) + "#leads"
		}
		p.Leads = append(p.Leads, one)
	}
	p.Many, p.Wording = v.ManyLines(w.leads), w.wording
	return batchTemplate.Execute(out, p)
}

func inPercent(share float64) string { return strings.TrimSpace(cli.Percent(&share)) }

// batchShow builds the parts of the page.
type batchShow struct {
	w     *batchWriter
	lines []batch.MemberLine
}

func (s *batchShow) member(i int) batchPageMember {
	line := s.lines[i]
	m := batchPageMember{Number: i + 1, Name: line.Document, Title: line.Title, Author: line.Author, Group: line.Group, Error: line.Error,
		Cluster: line.Cluster}
	if line.Share != nil {
		m.Share, m.Report = inPercent(*line.Share), s.w.reportPath(i)
	}
	return m
}

// matrix returns the matrix of documents and numbers the documents by position.
func (s *batchShow) matrix(docs []int) (m batchMatrix) {
	for n, i := range docs {
		head := s.member(i)
		head.Number = n + 1
		m.Heads = append(m.Heads, head)
		var row []string
		for _, j := range docs {
			cell := "–"
			if share, ok := s.w.v.Shares[[2]int{i, j}]; ok {
				cell = inPercent(share)
			} else if i != j {
				cell = inPercent(0) // compared, but nothing in common
			}
			row = append(row, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func (s *batchShow) cluster(n int, d batch.Cluster) (batchPageCluster, error) {
	v := s.w.v
	c := v.Clusters[n-1]
	one := batchPageCluster{Number: n, Bridges: len(d.Bridges), Matrix: s.matrix(v.Matrix(n)), More: len(c) - len(v.Matrix(n))}
	of := map[int]batch.ClusterDocument{}
	for _, x := range d.Documents {
		of[x.Member] = x
	}
	for _, i := range c { // in the picture's order
		m := s.member(i)
		m.Pairs, m.Largest = of[i].Pairs, inPercent(of[i].Largest)
		one.Documents = append(one.Documents, m)
	}
	if n > batchPictures {
		return one, nil
	}
	var b strings.Builder
	nodes, links := v.Picture(n)
	err := screen.WriteCluster(&b, fmt.Sprintf("Cluster %d", n), nodes, links)
	one.Picture = template.HTML(b.String()) // our own markup, with escaped texts
	return one, err
}
