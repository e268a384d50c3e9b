package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
)

// These are bounds for documents that look alike but differ in guilt. One run measures both sides, so that neither is improved at the
// expense of the other.
const (
	leastTwinsFound   = 0.97  // minimum proportion of copying cases that must be found
	mostTwinsAccused  = 0.005 // maximum proportion of innocent documents accused at 0.1; none may be at 0.3
	twinThreshold     = 0.02  // minimum proportion for listing a pair, so low that the criterion decides rather than the list
	twinsHalf         = "twins/dev"
	wholeShare        = 0.5 // minimum proportion of the copied letters that must count or be shown
	accused, suspects = 0.3, 0.1
)

// twinsShort are the scenarios of the short form.
var twinsShort = []string{"1-ring-n003-k02", "9-section-n08-w140"}

// twinScenario is a batch, or a library and the submissions checked against it.
type twinScenario struct {
	ID       string      `json:"id"`
	Family   string      `json:"family"`
	Mode     string      `json:"mode"` // batch or lib
	Guilty   []twinCase  `json:"guilty"`
	Innocent []innocents `json:"innocent"`

	files map[string]string // by name within the scenario's folder
}

// twinCase describes one instance of copying: its documents, the copied places, and how it must be found.
type twinCase struct {
	Docs    []string            `json:"docs"`
	Spans   map[string][][2]int `json:"spans"`   // copied places, in code points
	Sources []string            `json:"sources"` // sources in the library, or of a patchwork
	Least   float64             `json:"least"`   // minimum proportion for the pair; 0 means half of the copied text
	Works   bool                `json:"works"`   // a list of references, for which naming the shared works is enough
}

type innocents struct {
	Docs []string `json:"docs"`
}

// folder returns the documents in a folder of the scenario, in order of name.
func (s *twinScenario) folder(name string) []Doc {
	var out []Doc
	for path, text := range s.files {
		if doc, ok := strings.CutPrefix(path, name+"/"); ok {
			out = append(out, Doc{doc, text})
		}
	}
	slices.SortFunc(out, func(a, b Doc) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// twins measures which documents the rules on shared wording spare and which they accuse, in families of innocent and guilty
// documents that look alike.
func twins(r *run) error {
	want := r.o.Scenarios
	if r.short {
		want = twinsShort
	}
	scenarios, err := r.corpora.twins(want)
	if err != nil {
		return err
	}
	rows := make([]*twinRow, len(scenarios))
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range scenarios {
		g.Go(func() (err error) {
			rows[i], err = r.twin(ctx, i, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.ID, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all, families := sumTwins(rows)
	t := Table{Title: "documents that look alike, by family", Columns: []string{"family", "guilty", "found", "listed", "silent", "innocent",
		"at 0.3", "at 0.1", "worst %"}}
	for _, f := range append(families, all) {
		t.Rows = append(t.Rows, []any{f.family, f.guilty, f.found, f.listed, f.silent, f.innocent, f.accused, f.suspected,
			percent(f.worst)})
	}
	r.tables = append(r.tables, t)
	nan := math.NaN()
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	r.figure("guilty", "found, of the cases of copying", share(all.found, all.guilty)).least(leastTwinsFound, nan)
	r.count("guilty", "silent: not found, and nothing is shown", all.silent, all.guilty).most(0, 0)
	r.count("innocent", "accused at a share of 0.3", all.accused, all.innocent).most(0, nan)
	r.figure("innocent", "accused at a share of 0.1, of the documents", share(all.suspected, all.innocent)).most(mostTwinsAccused, nan)
	return nil
}

// twins returns the scenarios whose names begin with any of want, or all if want is empty.
func (c corpusDir) twins(want []string) ([]*twinScenario, error) {
	b, err := os.ReadFile(filepath.Join(string(c), twinsHalf, "truth.jsonl"))
	if err != nil {
		return nil, err
	}
	var out []*twinScenario
	by := map[string]*twinScenario{}
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		s := &twinScenario{files: map[string]string{}}
		if err := d.Decode(s); err != nil {
			return nil, fmt.Errorf("%s: %w", twinsHalf, err)
		}
		if len(want) > 0 && !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(s.ID, w) }) {
			continue
		}
		out, by[s.ID] = append(out, s), s
	}
	return out, c.files(twinsHalf+"/docs.tar.zst", func(name, text string) error {
		id, file, _ := strings.Cut(name, "/")
		if s := by[id]; s != nil {
			s.files[file] = text
		}
		return nil
	})
}

// twin measures one scenario at a separate site.
func (r *run) twin(ctx context.Context, n int, s *twinScenario) (_ *twinRow, err error) {
	dir := filepath.Join(r.dir, fmt.Sprint("twins", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b, err := newBench(ctx, dir, profile.Options{Key: innocentKey(0)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close(), os.RemoveAll(dir)) }()
	seen := &twinSeen{docs: map[string]*twinDoc{}}
	o := site.CheckOptions{}
	if form := s.files["template.txt"]; form != "" {
		o.Templates = []report.Template{{Name: "template.txt", Text: form}}
	}
	if s.Mode == "lib" {
		err = seen.check(ctx, b, s, o)
	} else {
		o.Threshold = twinThreshold
		err = seen.batch(ctx, b, dir, s, o)
	}
	if err != nil {
		return nil, err
	}
	return s.judge(seen), nil
}

// twinSeen holds the reports of a scenario's documents and the lines of its batch.
type twinSeen struct {
	docs  map[string]*twinDoc
	lines []line
}

// check checks a scenario's submissions against its library.
func (t *twinSeen) check(ctx context.Context, b *Bench, s *twinScenario, o site.CheckOptions) error {
	if err := b.Add(ctx, s.folder("lib")); err != nil {
		return err
	}
	for _, d := range s.folder("subs") {
		f, err := b.Site.Check(ctx, site.Submission{ID: concordat.DocumentID(d.ID), Title: d.ID, Text: d.Text}, o)
		if err != nil {
			return err
		}
		if err := t.read(d, report.Build(f, report.Rules{})); err != nil {
			return err
		}
	}
	return nil
}

// batch compares a scenario's documents with each other.
func (t *twinSeen) batch(ctx context.Context, b *Bench, dir string, s *twinScenario, o site.CheckOptions) error {
	docs := s.folder("docs")
	var items []site.Item
	for _, d := range docs {
		items = append(items, site.Item{Submission: site.Submission{ID: concordat.DocumentID(d.ID), Text: d.Text}})
	}
	v, err := b.compareAll(ctx, dir, items, batch.Job{Threshold: twinThreshold, Rules: &report.Rules{}}, o)
	if err != nil {
		return err
	}
	wording, err := batch.WordingLines(ctx, b.Site, v)
	if err == nil {
		err = errors.Join(t.add(v.PairLines()), t.add(v.SectionLines()), t.add(wording))
	}
	if err != nil {
		return err
	}
	for _, m := range v.Members {
		f, err := b.Site.Findings(ctx, m.Task)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		rules, err := site.RulesInForce(ctx, b.Store, m.Task, report.Rules{})
		if err != nil {
			return err
		}
		if err := t.read(Doc{m.Name, s.files["docs/"+m.Name]}, report.Build(f, rules)); err != nil {
			return err
		}
	}
	return nil
}

// add reads lines in the form that programs see.
func (t *twinSeen) add(lines any) error {
	b, err := json.Marshal(lines)
	if err != nil {
		return err
	}
	var out []line
	err = json.Unmarshal(b, &out)
	t.lines = append(t.lines, out...)
	return err
}

// read reads a document's report in the form that programs see.
func (t *twinSeen) read(d Doc, rep *report.Report) error {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, rep); err != nil {
		return err
	}
	out := &twinDoc{text: []rune(d.Text)}
	t.docs[d.ID] = out
	return json.Unmarshal(b.Bytes(), &out.report)
}
