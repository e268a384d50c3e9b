package program

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"concordat"
	"concordat/cmd/cli"
	"concordat/demo"
	"concordat/internal/ports"
	"concordat/internal/scripttest"
	"concordat/internal/suite"
)

// demoReport is the part of a JSON report that the test reads.
type demoReport struct {
	Coverage float64
	Evidence []struct {
		Sources []struct {
			Site, Library, Document string
			Here                    concordat.Span
		}
	}
	Sources []demoSource
}

// demoSource is a source with the other places of its work.
type demoSource struct {
	demoPlace
	Work *struct {
		Page string
		IDs  []struct{ URL string }
	}
	Also []demoPlace
}

type demoPlace struct{ Site, Library, Document string }

// leastFound is the minimum length in code points of an isolated reused passage that must be found; shorter ones are not fingerprinted.
const leastFound = 60

// leastCovered is the share of a passage that its source must cover.
const leastCovered = 0.9

// maxHolders is a number of other documents. A passage copied word for word need not be found if more of them contain it, because such
// wording is usual in these documents, and whether a site recognises it as usual depends on the documents that its partners nominate.
const maxHolders = 4

// TestDemo: the demonstration runs from nothing to the page that it promises. Its report finds the passages listed in demo/truth.json in
// their source documents, and little else, because the words around a quotation join the passages on both sides of it.
func TestDemo(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "runs the whole demonstration")
	bin, err := exec.LookPath("concordat")
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "site")
	data := filepath.Join(base, "university")
	repository, err := exec.LookPath("demo-repository")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("sh", "../../../demo/run.sh", bin, repository)
	run.Env = append(os.Environ(), "XDG_CACHE_HOME="+scripttest.CacheDir(), "DEMO_SITE="+base, "DEMO_ENCODER=off",
		"DEMO_PORT="+strconv.Itoa(ports.Free(t, 5)[0]))
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	page, ok := strings.CutPrefix(lines[len(lines)-1], "report: ")
	if !ok || !filepath.IsAbs(page) || filepath.Ext(page) != ".html" {
		t.Fatalf("the last line is %q", lines[len(lines)-1])
	}
	if b, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") {
		t.Errorf("the page: %v, %.40q", err, b)
	}

	for _, name := range []string{"university", "funder", "library", "archive"} {
		if out, _ := output(t, cli.Failed, filepath.Join(base, name), "status"); out != "" {
			t.Errorf("site %s is still served: %s", name, out)
		}
	}

	// Both sides get an alert about the funder's later document, and no other site does.
	for name, want := range map[string]string{"university": `"side":"found"`, "funder": `"side":"told"`, "library": "", "archive": ""} {
		out, _ := output(t, cli.Done, filepath.Join(base, name), "alert", "list", "--json")
		if n := strings.Count(out, "\n"); (want == "") != (n == 0) || n > 1 || !strings.Contains(out, want) ||
			want != "" && !strings.Contains(out, `"title":"call-of-next-year"`) {
			t.Errorf("alerts of %s: %s", name, out)
		}
	}
	// The report of the watched check names what was found since and says that a person has handled it.
	listed, _ := output(t, cli.Done, data, "alert", "list", "--json")
	var alert struct {
		Number int64
		Check  string
	}
	if err := json.Unmarshal([]byte(listed), &alert); err != nil {
		t.Fatal(err)
	}
	output(t, cli.Done, data, "alert", "handle", strconv.FormatInt(alert.Number, 10))
	for format, want := range map[string][2]string{"json": {`"title": "call-of-next-year"`, `"handled": { "by":`},
		"text": {"call-of-next-year, from ", "Handled by"}, "html": {"call-of-next-year, from ", "Handled by"}} {
		rep, _ := output(t, cli.Done, data, "report", "export", alert.Check, "-f", format, "-o", "-")
		if said := strings.Join(strings.Fields(rep), " "); !strings.Contains(said, want[0]) || !strings.Contains(said, want[1]) {
			t.Errorf("the report as %s does not say what was found since: %.3000s", format, said)
		}
	}

	// Both have settled its case in the same way, and each knows the other's contact.
	for name, want := range map[string]string{"university": "grants@funder.example", "funder": "integrity@university.example"} {
		out, _ := output(t, cli.Done, filepath.Join(base, name), "case", "list", "--json")
		if !strings.Contains(out, `"state":"confirmed"`) || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("cases of %s: %s", name, out)
		}
	}

	truth, err := demo.ReadTruth()
	if err != nil {
		t.Fatal(err)
	}
	text, rep := checkDemo(t, data, filepath.Join("../../../demo", truth.Submission))
	// The declaration in both the library and the repository is one source, with its page and its DOI.
	if i := slices.IndexFunc(rep.Sources, func(s demoSource) bool { return s.Work != nil }); i < 0 {
		t.Errorf("no source has a work: %+v", rep.Sources)
	} else if s := rep.Sources[i]; len(s.Also) != 1 || s.Library != "theses" || s.Also[0].Document != "universal-declaration-en.txt" ||
		!strings.HasSuffix(s.Work.Page, "/item/1") || len(s.Work.IDs) != 1 || s.Work.IDs[0].URL != "https://doi.org/10.5072/concordat.demo.1" {
		t.Errorf("the declaration: %+v", s)
	}
	asked, answered := 0, 0 // passages at partners, and the covered ones
	for _, p := range truth.Passages {
		span, ok := codePoints(text, p.Text)
		if !ok {
			t.Errorf("the submission does not hold %q", p.Text)
			continue
		}
		share, partner := rep.share(span, append(p.Also, p.Document)...), !strings.HasPrefix(p.Document, "commons/")
		if partner {
			asked++
			if share >= leastCovered {
				answered++
			}
		}
		switch {
		case span.Len() < leastFound, share >= leastCovered:
		case len(p.Also) > maxHolders:
			t.Logf("%s: wording of %d documents is covered to %.2f", p.Document, 1+len(p.Also), share)
		case partner && (p.Kind != "verbatim" || p.Quoted):
			// Partners nominate documents only by fingerprints. Fingerprints can miss a reworded sentence, or a quotation in the same
			// sentence as the words before it. The keys differ between runs, and so do the passages that are missed.
			t.Logf("%s: a %s passage at a partner is covered to %.2f", p.Document, p.Kind, share)
		default:
			t.Errorf("%s: a %s passage is covered to %.2f, want %.1f: %q", p.Document, p.Kind, share, leastCovered, p.Text)
		}
	}
	if 3*answered < 2*asked {
		t.Errorf("partners answered for %d of %d passages, want two thirds", answered, asked)
	}
	found, all := 0.0, 0
	for _, own := range truth.Own {
		if span, ok := codePoints(text, own); ok {
			found += rep.share(span) * float64(span.Len())
			all += span.Len()
		}
	}
	if all == 0 || found > 0.1*float64(all) {
		t.Errorf("%.0f of %d characters that were written for the submission are called reused, want at most a tenth", found, all)
	}
}

// TestDemoPortTaken: if another program uses the first port, the demonstration says what to do.
func TestDemoPortTaken(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "starts a site of the demonstration")
	bin, err := exec.LookPath("concordat")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()                        // nothing was sent on it
	_, port, _ := net.SplitHostPort(taken.Addr().String())      // in the form that Listen returned
	run := exec.Command("sh", "../../../demo/run.sh", bin, bin) // it ends before it serves a repository
	run.Env = append(os.Environ(), "XDG_CACHE_HOME="+scripttest.CacheDir(), "DEMO_SITE="+filepath.Join(t.TempDir(), "site"),
		"DEMO_ENCODER=off", "DEMO_PORT="+port)
	out, err := run.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "port "+port+" is taken; set DEMO_PORT to the first of five free ports") {
		t.Errorf("%v\n%s", err, out)
	}
}

// checkDemo returns the text of the submission and the report of the check in data.
func checkDemo(t *testing.T, data, submission string) (string, *demoReport) {
	t.Helper()
	out, _ := output(t, 0, data, "extract", "--json", submission)
	var file struct{ Text string }
	decode(t, out, &file)
	out, _ = output(t, 0, data, "report", "list", "--json")
	var task struct{ ID string }
	decode(t, out, &task)
	out, _ = output(t, 0, data, "report", "show", task.ID, "--json")
	var rep demoReport
	decode(t, out, &rep)
	return file.Text, &rep
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}

// codePoints returns the position of part in text, in code points.
func codePoints(text, part string) (concordat.Span, bool) {
	at := strings.Index(text, part)
	if at < 0 {
		return concordat.Span{}, false
	}
	start := utf8.RuneCountInString(text[:at])
	return concordat.Span{Start: start, End: start + utf8.RuneCountInString(part)}, true
}

// share returns the share of span found in the given documents, or in any document if none are given.
func (r *demoReport) share(span concordat.Span, documents ...string) float64 {
	held := make([]bool, span.Len())
	for _, e := range r.Evidence {
		for _, s := range e.Sources {
			if len(documents) > 0 && !r.isOneOf(demoPlace{s.Site, s.Library, s.Document}, documents) {
				continue
			}
			for i := max(span.Start, s.Here.Start); i < min(span.End, s.Here.End); i++ {
				held[i-span.Start] = true
			}
		}
	}
	n := 0
	for _, h := range held {
		if h {
			n++
		}
	}
	return float64(n) / float64(len(held))
}

// isOneOf reports whether any place of a source's work is among names.
func (r *demoReport) isOneOf(p demoPlace, names []string) bool {
	all := []demoPlace{p}
	for _, s := range r.Sources {
		if places := append(s.Also, s.demoPlace); slices.Contains(places, p) {
			all = places
		}
	}
	return slices.ContainsFunc(all, func(x demoPlace) bool { return isOneOf(x.Site, x.Library, x.Document, names) })
}

// isOneOf reports whether a document is among names, given as in truth.json: by path, with # and the row for tables. Partners show
// pseudonyms for their documents, so for these only the library must match.
func isOneOf(site, library, document string, names []string) bool {
	for _, name := range names {
		if path, row, ok := strings.Cut(name, "#"); ok {
			name = filepath.Dir(path) + "/" + row
		}
		if name == library+"/"+document || site != "university" && strings.HasPrefix(name, library+"/") {
			return true
		}
	}
	return false
}
