package eval

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// These archives contain passages reworded by a language model. The second also has documents written from several sources.
const (
	llmArchive     = "llm-reuse/llm-reuse.tar.zst"
	llmArchiveMany = "llm-reuse-2/llm-reuse-2.tar.zst"
)

// otherWords measures which reworded passages have a lead, and which texts have a wrong one.
func otherWords(r *run) (err error) {
	if r.o.Leads != "" {
		f, err := os.Create(r.o.Leads)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		r.observed = json.NewEncoder(f).Encode
	}
	for _, part := range []struct {
		mode string
		f    func() error
	}{{"reworded", r.rewordings}, {"answers", r.answersWithLeads}, {"innocent", r.innocentLeads}, {"academic", r.academicLeads},
		{"partners", r.leadsBetweenSites}, {"batch", r.leadsInBatches}, {"batch-cost", r.batchLeadsCost}, {"beside", r.rewordingsBeside},
		{"reworded-2", r.rewordingsMany}, {"sources", r.manySources}} {
		if len(r.o.Modes) > 0 && !slices.Contains(r.o.Modes, part.mode) {
			continue
		}
		if err := part.f(); err != nil {
			return err
		}
	}
	if e := r.o.Encoder; e != nil {
		spent := e.Spent()
		r.figure("the encoder", "sentences encoded", float64(spent.Texts))
		r.figure("the encoder", "requests that failed", float64(spent.Failures)).most(0, 0)
	}
	return nil
}

// leadsBench returns a bench of documents whose checks look for leads, with the encoder if any.
func (r *run) leadsBench(library []Doc) (*Bench, error) {
	b, err := newBench(r.ctx, fmt.Sprintf("%s/%d", r.dir, len(r.benches)), profile.Options{Meaning: true})
	if err != nil {
		return nil, err
	}
	r.benches = append(r.benches, b)
	err = b.Add(r.ctx, library)
	if err == nil && r.o.Encoder != nil {
		o := b.Site.Options()
		encoder := compare.NewEncoder(r.o.Encoder, nil, 0)
		o.Encoder = func() *compare.Encoder { return encoder }
		b.Site, b.Encoder = site.New(o), encoder
		if r.o.EncoderIndex {
			err = r.indexVectors(b, library)
		}
	}
	return b, err
}

// rewordedGroups are the kinds of passages counted together, by the number at the start of their folder.
var rewordedGroups = []struct {
	name  string
	kinds []string
	least float64 // minimum proportion to be found, for the whole corpus
}{
	{"rewritten, English", []string{"01"}, 0.5}, {"rewritten, Chinese", []string{"02"}, 0.9}, {"summed up", []string{"05", "06"}, 0},
	{"translated", []string{"07", "08", "09", "10", "18", "19"}, 0.5}, {"rewritten twice", []string{"11", "15"}, 0.5},
	{"written from several sources", []string{"20"}, 0},
	{"lightly edited, or translated to and fro", []string{"03", "04", "12", "16"}, 0.95},
}

// marked is a passage of known origin. Spans are in bytes.
type marked struct {
	kind, susp, source string
	span, sourceSpan   concordat.Span
}

// rewordings checks documents with passages reworded by a language model against the sources.
func (r *run) rewordings() error {
	return r.rewordingsIn(llmArchive, "reworded", "", nil)
}

// rewordingsMany checks the second archive's documents against its sources. It has no bound.
func (r *run) rewordingsMany() error {
	return r.rewordingsIn(llmArchiveMany, "reworded-2", ", second set", nil)
}

// rewordingsBeside checks the same documents against the sources mixed with unrelated texts.
func (r *run) rewordingsBeside() error {
	others, err := r.otherTexts()
	if err != nil {
		return err
	}
	sentences := 0
	for _, d := range others {
		sentences += len(meaning.Sentences(d.Text))
	}
	const of = "other texts beside the sources"
	r.figure(of, "documents", float64(len(others)))
	r.figure(of, "sentences", float64(sentences)).least(500_000/float64(max(r.o.Every, 1)), 1000)
	return r.rewordingsIn(llmArchive, "beside", ", beside other texts", others)
}

// otherTexts returns the unrelated texts to mix with sources.
func (r *run) otherTexts() ([]Doc, error) {
	others, err := r.corpora.otherTexts(r.short)
	return every(others, max(r.o.Every, 1)), err
}

// otherTexts returns papers, funding calls, film reviews and chapters of translated histories.
func (c corpusDir) otherTexts(short bool) ([]Doc, error) {
	of := func(whole, sample int) int {
		if short {
			return sample
		}
		return whole
	}
	out, err := c.docs("academic/academic.tar.zst", func(name string) bool {
		return strings.HasSuffix(name, ".txt") && (!short || strings.HasPrefix(name, "kdd/"))
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"nih-calls", "nih-awards"} {
		err := c.rows("grants/"+kind+".tsv.gz", func(f []string) bool {
			if len(f) >= 3 {
				out = append(out, Doc{kind + "/" + f[0], strings.Join(f[1:], "\n\n")})
			}
			return !short
		})
		if err != nil {
			return nil, err
		}
	}
	reviews, err := c.reviews(of(20_000, 100))
	if err != nil {
		return nil, err
	}
	modern, err := c.modern(of(1<<30, 20))
	return slices.Concat(out, reviews, every(modern, of(2, 1))), err
}

// rewordingsIn is like rewordings for any archive, with other documents in the library.
func (r *run) rewordingsIn(archive, mode, where string, others []Doc) error {
	texts, cases, books, err := r.corpora.markedPassagesOf(archive)
	if err != nil {
		return err
	}
	library, asking := reworded(texts)
	library = append(library, others...)
	asking = asking[:r.pick(len(asking), min(10, len(asking)))]
	b, err := r.leadsBench(library)
	if err != nil {
		return err
	}
	found, leads, outside := map[*marked][2]bool{}, 0, 0
	read := leadsToRead("documents outside of the marked passages" + where)
	for _, d := range asking {
		var of []marked
		for _, c := range cases {
			if c.susp == d.ID {
				of = append(of, c)
			}
		}
		rep, err := r.leadsOf(b, d, observing{texts: mode, passages: of, books: books})
		if err != nil {
			return err
		}
		leads += len(rep.Leads)
		outside += len(rep.Leads)
		for i := range cases {
			if c := &cases[i]; c.susp == d.ID {
				evidence, either := c.found(rep)
				found[c] = [2]bool{evidence, either}
			}
		}
		for _, l := range rep.Leads {
			if slices.ContainsFunc(cases, func(c marked) bool { return c.susp == d.ID && c.pointedTo(l) }) {
				outside--
			} else {
				read.add(d, l)
			}
		}
	}
	r.toRead(read)
	of := "passages in other words, half or more of each" + where
	bound := archive == llmArchive
	for _, g := range rewordedGroups {
		n, evidence, either := countKinds(found, g.kinds)
		if n == 0 {
			continue // the archive has none
		}
		r.count(of, g.name+", evidence alone", evidence, n)
		if all := r.count(of, g.name+", evidence or lead", either, n); bound {
			all.least(g.least*float64(n), none)
		}
	}
	if all := r.count(of, "leads outside the marked passages", outside, leads); bound {
		all.most(6, none)
	}
	return nil
}

// countKinds counts the passages of some kinds, how many of them were found as evidence, and how many as evidence or otherwise.
func countKinds(found map[*marked][2]bool, kinds []string) (n, evidence, either int) {
	for c, f := range found {
		if slices.Contains(kinds, c.kind) {
			n, evidence, either = n+1, evidence+one(f[0]), either+one(f[1])
		}
	}
	return n, evidence, either
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pointedTo reports whether a lead connects the passage with its origin.
func (c *marked) pointedTo(l report.RuledLead) bool {
	return string(l.Source.Document) == c.source && l.Span.Overlaps(c.span) && l.SourceSpan.Overlaps(c.sourceSpan)
}

// found reports whether evidence covers half of the passage, and whether evidence and leads together do.
func (c *marked) found(rep *report.Report) (evidence, either bool) {
	hit := make([]bool, c.span.Len())
	share := func() bool {
		n := 0
		for _, h := range hit {
			n += one(h)
		}
		return 2*n >= len(hit)
	}
	mark := func(s concordat.Span) {
		for i := max(s.Start, c.span.Start); i < min(s.End, c.span.End); i++ {
			hit[i-c.span.Start] = true
		}
	}
	for _, e := range rep.Evidence {
		if slices.ContainsFunc(e.Sources, func(s concordat.Source) bool { return string(s.Ref.Document) == c.source }) {
			mark(e.Span)
		}
	}
	evidence = share()
	for _, l := range rep.Leads {
		if c.pointedTo(l) {
			mark(l.Span)
		}
	}
	return evidence, share()
}

// reworded returns the sources among the archive's texts, and the documents made from them, by name.
func reworded(texts map[string]string) (library, asking []Doc) {
	for name, text := range texts {
		if dir, file, _ := strings.Cut(name, "/"); dir == "src" {
			library = append(library, Doc{file, text})
		} else {
			asking = append(asking, Doc{file, text})
		}
	}
	byID := func(a, b Doc) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(library, byID)
	slices.SortFunc(asking, byID)
	return library, asking
}

// markedPassages returns the archive's texts and passages, and the book or article of each source by the source's name.
func (c corpusDir) markedPassages() (texts map[string]string, cases []marked, books map[string]string, err error) {
	return c.markedPassagesOf(llmArchive)
}

// markedPassagesOf is like markedPassages for any archive of that form; its files may be in a folder dev.
func (c corpusDir) markedPassagesOf(archive string) (texts map[string]string, cases []marked, books map[string]string, err error) {
	texts, books = map[string]string{}, map[string]string{}
	type points struct {
		m                  marked
		at, n, from, count int
	}
	var found []points
	err = c.files(archive, func(name, text string) error {
		name = strings.TrimPrefix(name, "dev/")
		dir, file, _ := strings.Cut(name, "/")
		switch {
		case name == "documents.json":
			if err := originsOf(text, books); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case dir == "src" || dir == "susp":
			texts[name] = text
		case strings.HasSuffix(file, ".xml") && !strings.HasPrefix(dir, "17"):
			var x struct {
				Reference string `xml:"reference,attr"`
				Features  []struct {
					Name         string `xml:"name,attr"`
					ThisOffset   int    `xml:"this_offset,attr"`
					ThisLength   int    `xml:"this_length,attr"`
					Source       string `xml:"source_reference,attr"`
					SourceOffset int    `xml:"source_offset,attr"`
					SourceLength int    `xml:"source_length,attr"`
				} `xml:"feature"`
			}
			if err := xml.Unmarshal([]byte(text), &x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, f := range x.Features {
				if f.Name == "plagiarism" {
					found = append(found, points{marked{kind: dir[:2], susp: x.Reference, source: f.Source}, f.ThisOffset, f.ThisLength,
						f.SourceOffset, f.SourceLength})
				}
			}
		}
		return nil
	})
	for _, p := range found {
		p.m.span = bytesOf(texts["susp/"+p.m.susp], p.at, p.n)
		p.m.sourceSpan = bytesOf(texts["src/"+p.m.source], p.from, p.count)
		cases = append(cases, p.m)
	}
	return texts, cases, books, err
}

// originsOf reads documents.json, which has a field for each document or is a list of them, and sets the documents' books.
func originsOf(text string, books map[string]string) error {
	type document struct{ Document, Origin string }
	var list []document
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
	} else {
		var fields map[string]document
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			return err
		}
		for file, d := range fields {
			list = append(list, document{file, d.Origin})
		}
	}
	for _, d := range list {
		books[d.Document] = bookOf(d.Origin)
	}
	return nil
}

// bookOf returns a chapter's book; an encyclopaedia article counts as a book.
func bookOf(origin string) string {
	if dir := collection(origin); !strings.HasPrefix(dir, "xq-") && dir != "cmrc" {
		return dir
	}
	return origin
}

// bytesOf converts a range of code points to bytes.
func bytesOf(text string, at, n int) concordat.Span {
	s := concordat.Span{Start: len(text), End: len(text)}
	k := 0
	for i := range text {
		if k == at {
			s.Start = i
		}
		if k == at+n {
			s.End = i
			break
		}
		k++
	}
	return s
}

// answersWithLeads checks short answers to three questions against the texts that some of them are based on.
func (r *run) answersWithLeads() error {
	files, rows, library, err := r.corpora.clough()
	if err != nil {
		return err
	}
	b, err := r.leadsBench(library)
	if err != nil {
		return err
	}
	total, lead, either := map[string]int{}, map[string]int{}, map[string]int{}
	for _, row := range rows {
		if row[2] == "orig" {
			continue
		}
		rep, err := r.leadsOf(b, Doc{row[0], files[row[0]]}, observing{texts: "answers " + row[2]})
		if err != nil {
			return err
		}
		total[row[2]]++
		lead[row[2]] += one(len(rep.Leads) > 0)
		either[row[2]] += one(len(rep.Leads) > 0 || len(rep.Evidence) > 0)
	}
	const of = "answers to one question"
	r.count(of, "written by oneself, with a lead", lead["non"], total["non"]).most(3, 3)
	revised := total["light"] + total["heavy"]
	r.count(of, "lightly or heavily revised, with evidence or a lead", either["light"]+either["heavy"], revised).least(21, 21)
	return nil
}

// innocentLeads checks each half of a scenario's innocent documents against the other half. It does not count leads between a copy and
// its original.
func (r *run) innocentLeads() error {
	want := r.o.Scenarios
	if r.short {
		want = innocentShort.scenarios
	}
	scenarios, err := r.corpora.innocent(want)
	if err != nil {
		return err
	}
	t := Table{Title: "leads in innocent documents, by scenario: each half against the other",
		Columns: []string{"scenario", "template", "documents", "with a lead", "leads", "of shared wording"}}
	documents, all := 0, innocentCount{}
	read := leadsToRead("innocent documents")
	for _, s := range scenarios {
		for _, given := range s.templates() {
			n, err := r.scenarioLeads(s, given, read)
			if err != nil {
				return err
			}
			documents, all = documents+len(s.docs), all.plus(n)
			t.Rows = append(t.Rows, []any{s.name, given != nil, len(s.docs), n.with, n.leads, n.wording})
		}
	}
	r.tables = append(r.tables, t)
	r.toRead(read)
	const of = "innocent documents"
	most := float64(documents) / 20
	r.count(of, "with a lead", all.with, documents).most(most, most)
	r.figure(of, "leads of shared wording", float64(all.wording)).most(0, 0)
	return nil
}

// innocentCount counts documents with a lead, leads, and leads from shared wording.
type innocentCount struct{ with, leads, wording int }

func (c innocentCount) plus(d innocentCount) innocentCount {
	return innocentCount{c.with + d.with, c.leads + d.leads, c.wording + d.wording}
}

// scenarioLeads counts a scenario's leads and adds them to read.
func (r *run) scenarioLeads(s *innocentScenario, templates []report.Template, read *leadsTable) (out innocentCount, err error) {
	for half := range 2 {
		var library, asking []Doc
		for i, d := range s.docs {
			if i%2 == half {
				library = append(library, Doc{d.name, d.text})
			} else {
				asking = append(asking, Doc{d.name, d.text})
			}
		}
		b, err := r.leadsBench(library)
		if err != nil {
			return out, err
		}
		for _, d := range asking {
			rep, err := r.leadsOf(b, d, observing{texts: "innocent", templates: templates, scenario: s})
			if err != nil {
				return out, err
			}
			n := innocentCount{}
			for _, l := range rep.Leads {
				source := string(l.Source.Document)
				if s.copied(d.ID, source) {
					continue
				}
				n = n.plus(innocentCount{1, 1, one(s.of(d.ID).isWording(l.Span) || s.of(source).isWording(l.SourceSpan))})
				read.add(Doc{s.name + "/" + d.ID, d.Text}, l)
			}
			n.with = min(n.with, 1)
			out = out.plus(n)
		}
	}
	return out, nil
}

// copied reports whether one document is a copy of the other.
func (s *innocentScenario) copied(a, b string) bool {
	return slices.ContainsFunc(s.copies, func(c innocentCopy) bool { return c.A == a && c.B == b || c.A == b && c.B == a })
}
