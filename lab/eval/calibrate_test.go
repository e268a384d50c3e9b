package eval

import (
	"encoding/csv"
	"hash/fnv"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"concordat/internal/corpora"
	"concordat/internal/suite"
	"concordat/profile"
	"concordat/report"
)

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {0, 0, 0, 1}, {1, 1000, 0.0002, 0.0056}} {
		low, high := report.Wilson(c.k, c.n)
		if low < c.low-5e-4 || low > c.low+5e-4 || high < c.high-5e-4 || high > c.high+5e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// calibration is one run over the development corpora.
type calibration struct {
	t   *testing.T
	nth int // use every nth document of the large corpora
	all []Scored
}

func (c *calibration) bench(library []Doc) *Bench {
	c.t.Helper()
	b, err := NewBench(c.t.Context(), c.t.TempDir(), profile.Natural)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { b.Close() })
	if err := b.Add(c.t.Context(), library); err != nil {
		c.t.Fatal(err)
	}
	return b
}

// shared contains the long runs of words of the library's texts. It defines "no reuse" independently of the measured method. A text
// without a run of twelve words, or of 24 Chinese characters, in common with the library is clean; a text with such a run is set aside,
// because the cause might be a template or a real copy.
type shared map[uint64]bool

const runWords, runHan = 12, 24

// runs calls each with a hash of every run of a text.
func runs(text string, each func(uint64)) {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		start := 0
		for i, r := range w { // a Chinese character counts as a word
			if unicode.Is(unicode.Han, r) {
				words = append(words, w[i:i+len(string(r))])
				start = i + len(string(r))
			}
		}
		if start < len(w) {
			words = append(words, w[start:])
		}
	}
	n := runWords
	if len(words) > 0 && len(strings.Join(words, ""))/len(words) <= 3 &&
		strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		n = runHan
	}
	for i := 0; i+n <= len(words); i++ {
		h := fnv.New64a()
		for _, w := range words[i : i+n] {
			h.Write([]byte(w))
			h.Write([]byte{0})
		}
		each(h.Sum64())
	}
}

func sharedOf(library []Doc) shared {
	s := shared{}
	for _, d := range library {
		runs(d.Text, func(h uint64) { s[h] = true })
	}
	return s
}

func (s shared) has(text string) (found bool) {
	runs(text, func(h uint64) { found = found || s[h] })
	return found
}

// clean scores a document made without reuse, unless it shares a run with the library, which puts it into a separate class.
func (c *calibration) clean(b *Bench, s shared, group, class string, d Doc) {
	c.t.Helper()
	if s.has(d.Text) {
		c.score(b, group, class+"; a long run in common, set aside", Unknown, d)
		return
	}
	c.score(b, group, class, Clean, d)
}

func (c *calibration) score(b *Bench, group, class string, reuse Reuse, d Doc) {
	c.t.Helper()
	score, measured, err := b.ScoreOf(c.t.Context(), d)
	if err != nil {
		c.t.Fatal(err)
	}
	if reuse == Clean && score >= 0.1 {
		c.t.Logf("%s, %s: %s has %.2f", group, class, d.ID, score)
	}
	c.all = append(c.all, Scored{group, class, reuse, score, measured})
}

// answers scores the short answers of Clough and Stevenson by class.
func (c *calibration) answers() {
	files := map[string]string{}
	for _, d := range corpora.Tar(c.t, "clough-stevenson/clough-stevenson-ace.tar.gz", "") {
		files[path.Base(d.Name)] = strings.ToValidUTF8(d.Text, "\ufffd")
	}
	rows, err := csv.NewReader(strings.NewReader(files["file_information.csv"])).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	var library []Doc
	for _, r := range rows[1:] {
		if r[2] == "orig" {
			library = append(library, Doc{r[0], files[r[0]]})
		}
	}
	b := c.bench(library)
	for _, r := range rows[1:] {
		if r[2] != "orig" {
			c.score(b, "clough-stevenson", map[string]string{"non": "own answer", "cut": "near copy", "light": "light revision",
				"heavy": "heavy revision"}[r[2]], map[bool]Reuse{true: Reused, false: Clean}[r[2] != "non"], Doc{r[0], files[r[0]]})
		}
	}
}

// pan scores suspicious documents of PAN 2013 against all sources by the annotated proportion, and academic texts against the same,
// unrelated sources.
func (c *calibration) pan() {
	var library, susp []Doc
	copied := map[string][]Annotation{}
	kinds, dealt := map[string]string{}, map[string]string{}
	doubtful := map[string]bool{}
	for _, d := range corpora.Tar(c.t, "pan13-train/pan13-train.tar.zst", "") {
		dir, name := path.Split(d.Name)
		switch {
		case dir == "src/":
			library = append(library, Doc{name, d.Text})
		case dir == "susp/":
			susp = append(susp, Doc{name, d.Text})
		case strings.HasSuffix(name, ".xml"):
			found, err := ReadPAN(strings.NewReader(d.Text), truthFeature)
			if err != nil {
				c.t.Fatal(err)
			}
			if susp, _, ok := strings.Cut(name, "-source-"); ok && path.Clean(dir) != "01-no-plagiarism" {
				dealt[susp+".txt"] = dir
			}
			for _, a := range found {
				copied[a.Susp] = append(copied[a.Susp], a)
				kinds[a.Susp] = path.Clean(dir)
			}
		}
	}
	corpora.Lines(c.t, "pan13-train/retrieval-ignore-pairs.txt", func(line string) bool {
		doubtful[strings.Fields(line)[0]] = true // its reuse is annotated elsewhere
		return true
	})
	b, s := c.bench(library), sharedOf(library)
	for i, d := range susp {
		if i%c.nth != 0 {
			continue
		}
		share := annotatedShare(d.Text, copied[d.ID])
		switch {
		case share == 0 && (doubtful[d.ID] || dealt[d.ID] != ""):
			continue // it was made with reuse that is annotated elsewhere
		case share == 0:
			c.clean(b, s, "pan13-train", "made without reuse", d)
			continue
		}
		class := map[string]string{"02-no-obfuscation": "verbatim", "03-random-obfuscation": "random edits",
			"04-translation-obfuscation": "machine translation and back", "05-summary-obfuscation": "summary"}[kinds[d.ID]]
		size := "under 0.1"
		if share >= 0.3 {
			size = "0.3 or more"
		} else if share >= 0.1 {
			size = "0.1 to 0.3"
		}
		c.score(b, "pan13-train", class+", "+size+" of it", Reused, d)
	}
	n := 0
	for _, d := range corpora.Tar(c.t, "academic/academic.tar.zst", ".txt") {
		if len(d.Text) < 2000 {
			continue
		}
		if n++; n%c.nth == 0 {
			c.clean(b, s, "academic", "papers and theses, against unrelated pages", Doc{d.Name, strings.ToValidUTF8(d.Text, "\ufffd")})
		}
	}
}

// annotatedShare returns the proportion of a text's code points in annotations.
func annotatedShare(text string, all []Annotation) float64 {
	points := []rune(text)
	in := make([]bool, len(points))
	n := 0
	for _, a := range all {
		for i := max(0, a.Offset); i < min(a.Offset+a.Length, len(in)); i++ {
			if !in[i] {
				in[i] = true
				n++
			}
		}
	}
	return float64(n) / float64(max(len(points), 1))
}

// reviews scores reviews against other people's reviews, which share genre and subjects, but no known reuse.
func (c *calibration) reviews() {
	var library, others []Doc
	for i, d := range corpora.Reviews(c.t, 12_000) {
		if i < 10_000 {
			library = append(library, Doc{d.Name, d.Text})
		} else {
			others = append(others, Doc{d.Name, d.Text})
		}
	}
	b, s := c.bench(library), sharedOf(library)
	for i, d := range others {
		if i%(2*c.nth) == 0 {
			c.clean(b, s, "bulk-en-reviews", "reviews, against reviews of others", d)
		}
	}
}

// chinese scores dated versions of laws, chapters that copy from another history, and modern histories against unrelated laws.
func (c *calibration) chinese() {
	texts := map[string]string{}
	var laws []Doc
	for _, d := range corpora.Tar(c.t, "zh-laws/zh-laws.tar.zst", ".md") {
		texts[d.Name] = d.Text
		laws = append(laws, Doc{d.Name, d.Text})
	}
	b, s := c.bench(laws), sharedOf(laws)
	for _, d := range corpora.Tar(c.t, "zh-laws/zh-laws.tar.zst", "revision-pairs.tsv") {
		for i, line := range strings.Split(strings.TrimSpace(d.Text), "\n") {
			if f := strings.Split(line, "\t"); len(f) == 2 && i%c.nth == 0 {
				c.score(b, "zh-laws", "new version of a law", Reused, Doc{f[1], texts[f[1]]})
			}
		}
	}
	for i, d := range corpora.Histories(c.t, 1200) {
		if i%(3*c.nth) == 0 && len(d.Text) >= 2000 {
			c.clean(b, s, "bulk-zh-histories-modern", "histories, against laws", Doc{d.Name, d.Text})
		}
	}
	c.histories()
}

func (c *calibration) histories() {
	var library, later []Doc
	for _, d := range corpora.Tar(c.t, "zh-histories/zh-histories.tar.zst", ".txt") {
		if strings.HasPrefix(d.Name, "史记/") {
			library = append(library, Doc{d.Name, d.Text})
		} else {
			later = append(later, Doc{d.Name, d.Text})
		}
	}
	most := map[string]float64{}
	for _, d := range corpora.Tar(c.t, "zh-histories/zh-histories.tar.zst", "shared-shingles.tsv") {
		for i, line := range strings.Split(strings.TrimSpace(d.Text), "\n") {
			if f := strings.Split(line, "\t"); i > 0 {
				share, err := strconv.ParseFloat(f[5], 64)
				if err != nil {
					c.t.Fatal(err)
				}
				most[f[0]] = max(most[f[0]], share)
				most[f[1]] = max(most[f[1]], share)
			}
		}
	}
	b := c.bench(library)
	for _, d := range later {
		switch share := most[d.ID]; {
		case share >= 0.1:
			c.score(b, "zh-histories", "a tenth or more in common with a chapter", Reused, d)
		case share > 0:
			c.score(b, "zh-histories", "less in common with a chapter", Reused, d)
		}
	}
}

// forms scores documents that share forms, declarations, statutes and lists of references, each against a library of the
// others, and then all documents of a scenario as a batch.
func (c *calibration) forms() {
	c.t.Helper()
	scenarios, err := corpusDir(os.Getenv("CONCORDAT_CORPORA")).innocent(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range scenarios {
		dir := c.t.TempDir()
		i, err := newInnocentSite(c.t.Context(), dir, s, innocentKey(0))
		if err != nil {
			c.t.Fatal(err)
		}
		var docs []Doc
		for _, d := range s.docs {
			docs = append(docs, Doc{d.name, d.text})
		}
		if err := i.Add(c.t.Context(), docs); err != nil {
			c.t.Fatal(err)
		}
		for _, d := range docs {
			rep, err := i.Report(c.t.Context(), d)
			c.form(s, "checks", d.ID, rep, err)
		}
		m := innocentMode{name: "all"}
		v, err := i.batch(c.t.Context(), m, s.docs)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, member := range v.Members {
			rep, err := i.report(c.t.Context(), m, member)
			c.form(s, "batch", member.Name, rep, err)
		}
		if err := i.close(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// form records a document's score in a scenario.
func (c *calibration) form(s *innocentScenario, way, name string, rep *report.Report, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	share := 0.0
	for _, x := range s.copies {
		switch name {
		case x.A:
			share = max(share, x.ShareA)
		case x.B:
			share = max(share, x.ShareB)
		}
	}
	x := Scored{"innocent, " + way, "forms and the like, nothing copied", Clean, rep.Scores.Covered, rep.Scores.Measured()}
	switch {
	case share >= 0.1:
		x.Class, x.Reuse = "forms and the like, a tenth or more copied or revised", Reused
	case share > 0:
		x.Class, x.Reuse = "forms and the like, less copied", Unknown
	}
	c.all = append(c.all, x)
}

// machine scores documents with passages that a language model wrote from a source.
func (c *calibration) machine() {
	var library, susp []Doc
	copied := map[string][]Annotation{}
	kinds := map[string]string{}
	for _, d := range corpora.Tar(c.t, "llm-reuse/llm-reuse.tar.zst", "") {
		dir, name := path.Split(strings.TrimPrefix(d.Name, "./"))
		switch {
		case dir == "src/":
			library = append(library, Doc{name, d.Text})
		case dir == "susp/":
			susp = append(susp, Doc{name, d.Text})
		case strings.HasSuffix(name, ".xml"):
			found, err := ReadPAN(strings.NewReader(d.Text), truthFeature)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, a := range found {
				copied[a.Susp] = append(copied[a.Susp], a)
				_, kind, _ := strings.Cut(path.Clean(dir), "-")
				if old := kinds[a.Susp]; old != "" && old != kind {
					kind = "several kinds"
				}
				kinds[a.Susp] = kind
			}
		}
	}
	b := c.bench(library)
	for _, d := range susp {
		if annotatedShare(d.Text, copied[d.ID]) >= 0.1 {
			c.score(b, "llm-reuse", kinds[d.ID]+", a tenth or more of it", Reused, d)
		}
	}
}

// TestCalibration measures what a document score means, by its distribution over documents with and without reuse
// (doc/evaluation/score.md). CONCORDAT_EVAL=all uses all documents, which takes several minutes of processor time; otherwise, it uses one
// of forty.
func TestCalibration(t *testing.T) {
	suite.Rest(t, "evaluation on whole corpora")
	c := &calibration{t: t, nth: 40}
	if os.Getenv("CONCORDAT_EVAL") == "all" {
		c.nth = 1
	}
	c.answers()
	c.pan()
	if c.nth == 1 {
		c.reviews()
		c.chinese()
		c.forms()
		c.machine()
	}
	rows := Distribution(c.all)
	var b strings.Builder
	if err := WriteDistribution(&b, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	if c.nth == 1 {
		agrees(t, rows)
	}
	clean, high := 0, 0
	for _, r := range rows {
		if r.Reuse == Clean {
			clean, high = clean+r.N, high+r.Above[3]
		}
	}
	if low, _ := report.Wilson(high, clean); low > 0.02 {
		t.Errorf("%d of %d documents without reuse have 0.3 or more", high, clean)
	}
}

// classesOf returns a row's languages and classes in report.Calibration.
func classesOf(r ScoreRow) [][2]string {
	language := "en"
	if strings.Contains(r.Group, "zh-") {
		language = "zh"
	}
	switch {
	case r.Reuse == Unknown, strings.Contains(r.Class, "under 0.1"), strings.HasPrefix(r.Class, "less"):
		return nil
	case strings.HasPrefix(r.Group, "innocent"):
		return [][2]string{{"", map[Reuse]string{Clean: "forms", Reused: "copied forms"}[r.Reuse]}}
	case r.Group == "llm-reuse" && (strings.HasPrefix(r.Class, "rewrite") || strings.HasPrefix(r.Class, "mixrewrite")):
		return [][2]string{{"", "machine"}}
	case r.Group == "llm-reuse":
		return nil
	case r.Reuse == Clean && r.Group == "pan13-train":
		return [][2]string{{"en", "clean"}, {"en", "near"}}
	case r.Reuse == Clean:
		return [][2]string{{language, "clean"}}
	case strings.HasPrefix(r.Class, "summary"):
		return [][2]string{{language, "condensed"}}
	}
	return [][2]string{{language, "reworded"}}
}

// agrees fails if a statement in reports about the document score differs from the measurement by more than two documents in a hundred.
func agrees(t *testing.T, rows []ScoreRow) {
	t.Helper()
	type kind struct {
		batch           bool
		language, class string
	}
	of := map[kind]report.Rate{}
	for _, r := range rows {
		for _, k := range classesOf(r) {
			k := kind{r.Group == "innocent, batch", k[0], k[1]}
			x := of[k]
			of[k] = report.Rate{Batch: k.batch, Language: k.language, Class: k.class, Documents: x.Documents + r.N, Tenth: x.Tenth + r.Above[1],
				Third: x.Third + r.Above[3]}
		}
	}
	for _, want := range report.Calibration() {
		got := of[kind{want.Batch, want.Language, want.Class}]
		t.Logf("measured %+v", got)
		near := func(a, b int) bool { return 50*max(a-b, b-a) <= want.Documents }
		if !near(got.Documents, want.Documents) || !near(got.Tenth, want.Tenth) || !near(got.Third, want.Third) {
			t.Errorf("measured %+v, reports say %+v", got, want)
		}
	}
}
