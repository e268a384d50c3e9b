package batch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// MemberLine is a member of a batch in machine-readable form.
type MemberLine struct {
	Type       string            `json:"type"` // member
	Document   string            `json:"document"`
	Number     int               `json:"number"` // from 1; used to address pairs
	Title      string            `json:"title"`
	Author     string            `json:"author,omitempty"`
	Group      string            `json:"group,omitempty"`
	DraftOf    string            `json:"draft_of,omitempty"`
	Date       concordat.Date    `json:"date,omitempty"`
	Time       concordat.Instant `json:"time,omitempty"`  // its date with the time of day, if known
	Error      string            `json:"error,omitempty"` // why it could not be read
	Task       concordat.TaskID  `json:"task,omitempty"`
	Characters int               `json:"characters"`
	Share      *float64          `json:"share"` // 0 to 1, covered by counting passages; null if not measured or not shown to the reader
	Cluster    int               `json:"cluster,omitempty"`
	Flags      int               `json:"flags,omitempty"` // kinds of flags that may hide something
}

// PairLine is a pair in a batch in machine-readable form.
type PairLine struct {
	Type    string  `json:"type"` // "pair"
	A       string  `json:"a"`
	B       string  `json:"b"`
	NumberA int     `json:"number_a"` // members' numbers, from 1
	NumberB int     `json:"number_b"`
	Share   float64 `json:"share"`   // the larger of the next two
	ShareA  float64 `json:"share_a"` // share of a found in b
	ShareB  float64 `json:"share_b"`
	// Sections are the ones with text found in the other document, largest share first.
	Sections []PairSection `json:"sections,omitempty"`
	Counted  bool          `json:"counted"`
	Reason   string        `json:"reason,omitempty"`  // why the pair does not count: author, group, draft or verdict
	Cluster  int           `json:"cluster,omitempty"` // number of its cluster; absent if it does not count or connects two clusters
}

// ClusterLine is a cluster in a batch in machine-readable form.
type ClusterLine struct {
	Type      string        `json:"type"` // "cluster"
	Cluster   int           `json:"cluster"`
	Documents []string      `json:"documents"` // ordered by name
	Members   []BelongsLine `json:"members"`   // the same documents, most strongly connected first
	Pairs     int           `json:"pairs"`     // counting pairs within the cluster
	Bridges   int           `json:"bridges"`   // counting pairs between the cluster and others
	Strongest []PairLine    `json:"strongest"` // first few of the pairs
}

// BelongsLine states how strongly a document belongs to its cluster, in machine-readable form.
type BelongsLine struct {
	Document string  `json:"document"`
	Number   int     `json:"number"`  // member's number
	Pairs    int     `json:"pairs"`   // number of the cluster's pairs that involve it
	Weight   float64 `json:"weight"`  // sum of their shares
	Largest  float64 `json:"largest"` // largest of their shares
}

// strongestPairs is the number of pairs listed for a cluster.
const strongestPairs = 5

// MemberLines returns all members ordered by name.
func (v *View) MemberLines() []MemberLine {
	out := make([]MemberLine, len(v.Members))
	for i, m := range v.Members {
		out[i] = MemberLine{Type: "member", Document: m.Name, Number: m.Number + 1, Title: m.Title, Author: m.Author, Group: m.Group,
			DraftOf: m.DraftOf,
			Date:    m.Dated, Time: m.Timed, Error: m.Cause.String(), Task: m.Task, Characters: m.Characters, Cluster: v.Cluster(i)}
		if m.Task != "" && !v.withheld {
			out[i].Share = &v.Members[i].Share
			out[i].Flags = report.Disguises(m.Flags)
		}
	}
	return out
}

// WordingLine is wording found in several documents of a batch, in machine-readable form.
type WordingLine struct {
	Type      string   `json:"type"`   // "wording"
	Number    int      `json:"number"` // from 1; used to address it
	Documents []string `json:"documents"`
	Held      int      `json:"held"` // number of documents that contain it
	Of        int      `json:"of"`   // number of documents in the batch
	Words     int      `json:"words"`
	Counted   bool     `json:"counted"`
	// Decide means that an officer must decide whether it counts, because it could be a form or copied.
	Decide  bool           `json:"decide"`
	Decided string         `json:"decided,omitempty"` // the decision; empty if there is none
	Kind    concordat.Kind `json:"kind,omitempty"`    // kind of wording if it does not count: form, common or undecided
	Why     string         `json:"why,omitempty"`     // if it resembles a form, the part it resembles
	Share   float64        `json:"share,omitempty"`   // largest share of any one document, 0 to 1
	Text    string         `json:"text"`              // its first words; empty if not stored
}

// maxWordingText is the maximum number of code points of wording in a line.
const maxWordingText = 400

// WordingLines returns wording found in several documents, counting wording first.
func WordingLines(ctx context.Context, s *site.Site, v *View) ([]WordingLine, error) {
	texts, err := WordingTexts(ctx, s, v, v.Wording, maxWordingText)
	if err != nil {
		return nil, err
	}
	out := make([]WordingLine, len(v.Wording))
	for i := range v.Wording {
		w := &v.Wording[i]
		out[i] = WordingLine{Type: "wording", Number: w.Number, Of: w.Of, Words: w.Words, Counted: w.Counts(), Decide: w.Open,
			Decided: w.Decided, Kind: w.Kind,
			Why: w.Why, Share: w.Share, Text: texts[i]}
		for _, m := range w.Documents() {
			out[i].Documents = append(out[i].Documents, v.Members[m].Name)
		}
		out[i].Held = len(out[i].Documents)
	}
	return out, nil
}

// PairLines returns the pairs that reach the threshold, largest share first.
func (v *View) PairLines() []PairLine {
	out := make([]PairLine, len(v.Pairs))
	for i, p := range v.Pairs {
		out[i] = v.pairLine(p)
	}
	return out
}

func (v *View) pairLine(p ViewedPair) PairLine {
	a, b := &v.Members[p.A], &v.Members[p.B]
	return PairLine{Type: "pair", A: a.Name, B: b.Name, NumberA: a.Number + 1, NumberB: b.Number + 1, Share: p.Share(), ShareA: p.ShareA,
		ShareB: p.ShareB, Sections: p.sections(),
		Counted: p.Counted(), Reason: p.Reason(), Cluster: v.PairCluster(p)}
}

// ClusterLines returns the clusters, largest first.
func (v *View) ClusterLines() []ClusterLine {
	details := v.Details()
	out := make([]ClusterLine, len(v.Clusters))
	for n, c := range v.Clusters {
		d := &details[n]
		out[n] = ClusterLine{Type: "cluster", Cluster: n + 1, Pairs: len(d.Pairs), Bridges: len(d.Bridges)}
		for _, i := range c {
			out[n].Documents = append(out[n].Documents, v.Members[i].Name)
		}
		for _, x := range d.Documents {
			m := &v.Members[x.Member]
			out[n].Members = append(out[n].Members, BelongsLine{m.Name, m.Number + 1, x.Pairs, x.Weight, x.Largest})
		}
		for _, p := range d.Pairs[:min(len(d.Pairs), strongestPairs)] {
			out[n].Strongest = append(out[n].Strongest, v.pairLine(p))
		}
	}
	return out
}

// WritePairs writes the pairs as CSV.
func (v *View) WritePairs(w io.Writer) error {
	c := report.NewCSV(w, "cluster", "a", "title_a", "b", "title_b", "share", "share_a", "share_b", "counted", "reason", "sections")
	for i, p := range v.PairLines() {
		c.Row(strconv.Itoa(p.Cluster), p.A, v.Members[v.Pairs[i].A].Title, p.B, v.Members[v.Pairs[i].B].Title, shareText(p.Share),
			shareText(p.ShareA), shareText(p.ShareB),
			strconv.FormatBool(p.Counted), p.Reason, p.sectionText())
	}
	return c.End()
}

// sectionText lists the names of a pair's sections with their shares.
func (p *PairLine) sectionText() string {
	var out []string
	for _, s := range p.Sections {
		out = append(out, s.Section+" "+shareText(s.Share()))
	}
	return strings.Join(out, "; ")
}

// WriteWording writes wording found in several documents as CSV; each row lists its documents on separate lines of one cell.
func WriteWording(w io.Writer, lines []WordingLine) error {
	c := report.NewCSV(w, "number", "decide", "counted", "decided", "kind", "why", "held", "of", "words", "share", "documents", "text")
	for _, l := range lines {
		c.Row(strconv.Itoa(l.Number), strconv.FormatBool(l.Decide), strconv.FormatBool(l.Counted), l.Decided, string(l.Kind), l.Why,
			strconv.Itoa(l.Held), strconv.Itoa(l.Of), strconv.Itoa(l.Words), shareText(l.Share), strings.Join(l.Documents, "\n"), l.Text)
	}
	return c.End()
}

// WriteMembers writes the members as CSV.
func (v *View) WriteMembers(w io.Writer) error {
	c := report.NewCSV(w, "document", "title", "author", "group", "draft_of", "date", "cluster", "share", "task", "error", "flags")
	for _, m := range v.MemberLines() {
		share := "" // empty if not measured
		if m.Share != nil {
			share = shareText(*m.Share)
		}
		c.Row(m.Document, m.Title, m.Author, m.Group, m.DraftOf, string(m.Date), strconv.Itoa(m.Cluster), share, string(m.Task), m.Error,
			strconv.Itoa(m.Flags))
	}
	return c.End()
}

// WriteMatrix writes a matrix in CSV with the share of each row's document found in each column's document. It includes all documents if
// there are few, and otherwise only documents in clusters; a blank cell is a pair below the threshold whose documents are in different
// clusters.
func (v *View) WriteMatrix(w io.Writer) error {
	docs := v.Matrix(0)
	for n := range v.Clusters {
		if len(v.Members) > MaxMatrix {
			docs = append(docs, v.Clusters[n]...)
		}
	}
	heads := []string{"document"}
	for _, j := range docs {
		heads = append(heads, v.Members[j].Name)
	}
	c := report.NewCSV(w, heads...)
	for _, i := range docs {
		row := []string{v.Members[i].Name}
		for _, j := range docs {
			cell := ""
			if share, ok := v.Shares[[2]int{i, j}]; ok || i != j && (len(v.Members) <= MaxMatrix || v.Cluster(i) == v.Cluster(j)) {
				cell = shareText(share)
			}
			row = append(row, cell)
		}
		c.Row(row...)
	}
	return c.End()
}

func shareText(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

// PairFindings returns the part of a's findings shared by the members with numbers a and b. It fails with concordat.ErrNotFound while a
// has no findings.
func PairFindings(ctx context.Context, s *site.Site, db *store.DB, id string, a, b int) (*report.Findings, error) {
	members, err := db.Batches.BatchMembers(ctx, id)
	if err != nil {
		return nil, err
	}
	by := numbered(members)
	if by[a] == nil || by[b] == nil || by[a].Task == "" {
		return nil, fmt.Errorf("pair %d and %d of batch %s: %w", a, b, id, concordat.ErrNotFound)
	}
	f, err := s.Findings(ctx, by[a].Task)
	if err != nil {
		return nil, err
	}
	return onlyPair(f, concordat.Ref{Site: s.Options().ID, Library: concordat.BatchLibrary(id),
		Document: concordat.DocumentID(by[b].Name)}), nil
}

// PairReport returns the report of a pair, as seen by the member with number a: PairFindings under a's current rules, including the other
// document even if the pair does not count. base is as in [RulesInForce].
func PairReport(ctx context.Context, s *site.Site, db *store.DB, id string, a, b int, base report.Rules) (*report.Report, error) {
	f, err := PairFindings(ctx, s, db, id, a, b)
	if err != nil {
		return nil, err
	}
	rules, err := site.RulesInForce(ctx, db, f.Task, base)
	if err != nil {
		return nil, err
	}
	return report.Build(f, site.WithoutLibrary(rules, concordat.BatchLibrary(id))), nil
}

// onlyPair reduces findings to the parts from one source.
func onlyPair(f *report.Findings, source concordat.Ref) *report.Findings {
	out := *f
	out.Passages, out.Consulted, out.Partners, out.Disclosures, out.Statements, out.Signatures, out.Short = nil, nil, nil, nil, nil, nil, nil
	for _, p := range f.Passages {
		if p.Source == source {
			out.Passages = append(out.Passages, p)
		}
	}
	out.SharedWorks = slices.DeleteFunc(slices.Clone(f.SharedWorks), func(w report.SharedWorks) bool { return w.Source != source })
	if f.Leads != nil {
		out.Leads = slices.DeleteFunc(slices.Clone(f.Leads), func(l report.Lead) bool { return l.Source != source })
	}
	for _, c := range f.Consulted {
		if c.Library == source.Library {
			out.Consulted = append(out.Consulted, c)
		}
	}
	out.Forward = site.ForwardNone
	return &out
}
