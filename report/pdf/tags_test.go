package pdf_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"concordat/report"
	"concordat/report/pdf"
)

// node is a line of the structure that another program lists, depth first.
type node struct {
	depth int
	kind  string // empty for text
	text  string
}

var nodeLine = regexp.MustCompile(`^( *)(?:"(.*)"|(\w+)(?: ".*")?(?: \((?:block|inline|table)\))?:?)$`)

// structure returns the elements and text of a file in reading order.
func structure(t *testing.T, b []byte) []node {
	t.Helper()
	var out []node
	for line := range strings.Lines(string(tool(t, b, "pdfinfo", "-struct-text", "FILE"))) {
		line = strings.TrimRight(line, "\n")
		m := nodeLine.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) == "" || strings.Contains(line, "/") || strings.Contains(line, ":") {
				continue
			}
			t.Fatalf("no line of a structure: %q", line)
		}
		out = append(out, node{len(m[1]) / 2, m[3], m[2]})
	}
	return out
}

// TestStructure: a screen reader reads everything on the pages, except headers and footers, in the order of the text, under headings that
// skip no level.
func TestStructure(t *testing.T) {
	for _, name := range []string{"english", "chinese"} {
		t.Run(name, func(t *testing.T) {
			rep := report.Build(findings(t, name), report.Rules{})
			b := write(t, rep)
			if info := string(tool(t, b, "pdfinfo", "FILE")); !regexp.MustCompile(`(?m)^Tagged: +yes$`).MatchString(info) {
				t.Errorf("not tagged: %s", info)
			}
			level, heads := 0, 0
			var said strings.Builder
			kinds := map[string]int{}
			for _, n := range structure(t, b) {
				kinds[n.kind]++
				said.WriteString(solid(n.text))
				if h, ok := strings.CutPrefix(n.kind, "H"); ok {
					k, err := strconv.Atoi(h)
					if err != nil || k > level+1 {
						t.Errorf("heading %s behind level %d", n.kind, level)
					}
					level, heads = k, heads+1
				}
			}
			if heads < 5 || kinds["Table"] < 3 || kinds["TH"] < 2 || kinds["LBody"] < 5 {
				t.Errorf("elements %v", kinds)
			}
			read := said.String()
			if foot, _, _ := strings.Cut(solid(rep.Language.Say("Page %d of %d", 1, 999)), "999"); strings.Contains(read, foot) {
				t.Error("the number of a page is read as text")
			}
			for _, e := range rep.Evidence {
				for _, s := range e.Sources[:min(len(e.Sources), 1)] {
					for _, p := range s.Parts {
						here := solid(p.Span.In(rep.Submission.Text))
						first := []rune(here)
						if !strings.Contains(read, string(first[:min(len(first), 12)])) {
							t.Errorf("passage %.40q is not in the structure", here)
						}
					}
				}
			}
		})
	}
}

// TestSealKeepsStructure: adding files and a signature preserves the structure.
func TestSealKeepsStructure(t *testing.T) {
	b := write(t, report.Build(findings(t, "english"), report.Rules{}))
	sealed, err := pdf.Seal(b, []pdf.File{{Name: "report.json", Type: "application/json", About: "the report", Content: []byte("{}")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(structure(t, b), structure(t, sealed)) {
		t.Error("the structure is another one")
	}
}
