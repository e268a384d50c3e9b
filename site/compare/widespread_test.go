package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
	"concordat/report"
)

// TestWidespread: a short stretch that a fifth of the documents contain with small differences is common. A stretch that a few copiers
// reworded is not common, nor is part of a page from one source, or a whole page.
func TestWidespread(t *testing.T) {
	const clause = "Whoever keeps a boat on the river shall carry a light by night, and answers for what is broken in the dark. "
	filler := strings.Repeat("The fishermen moved to the southern shore when the bridge was built by others. ", 8)
	page := strings.Repeat(clause, 4)
	for _, c := range []struct {
		name        string
		of, holders int
		text        string
		parts       int // consecutive passages of each source
		common      bool
	}{
		{"a clause that 9 of 40 hold", 40, 9, clause, 1, true},
		{"a clause that all of 12 hold", 12, 11, clause, 1, true},
		{"a clause that 6 of 40 hold", 40, 6, clause, 1, false},
		{"a clause that 9 of 400 hold", 400, 9, clause, 1, false},
		{"a clause that both of 2 hold", 2, 1, clause, 1, false},
		{"a clause that 4 of 5 hold", 5, 4, clause, 1, false},
		{"a page that 9 of 40 hold", 40, 9, page, 1, false},
		{"a page in four passages that 9 of 40 hold", 40, 9, page, 4, false},
	} {
		text := filler + c.text + filler
		w := Shareable(text, nil, nil)
		if err := w.Decide(t.Context(), &wording.Scope{Held: &wording.Common{}, Of: c.of}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		var passages []concordat.Passage
		size := len(c.text) / c.parts
		for k := range c.holders {
			for i := range c.parts {
				at := len(filler) + i*size
				passages = append(passages, concordat.Passage{Kind: concordat.KindParaphrase, Source: refOf(k),
					Span: concordat.Span{Start: at, End: at + size}, SourceSpan: concordat.Span{Start: i * size, End: (i + 1) * size}})
			}
		}
		w.Settle(passages)
		for _, p := range passages {
			if (p.Wording == concordat.KindCommon) != c.common {
				t.Errorf("%s: marked %q, want common: %v", c.name, p.Wording, c.common)
				break
			}
		}
	}
}

// TestSkeletonOnBothSides: if code that two documents share ends at a mark that tells both to continue, the code up to the mark was
// handed out to them. Code written after or above it was not handed out, and no code was if only one document has the mark.
func TestSkeletonOnBothSides(t *testing.T) {
	const handed = "int main(int argc, char **argv) {\n    struct options o = read_options(argc, argv);\n    FILE *in = fopen(o.path, \"r\");\n" +
		"    // TODO: your code begins here\n"
	const solution = "    while (fgets(line, sizeof line, in)) {\n        count += words(line, o.separator);\n        longest = max(longest, strlen(line));\n    }\n" +
		"    printf(\"%d %d\\n\", count, longest);\n    return 0;\n}\n"
	const helper = "static int words(const char *line, char separator) {\n    int n = 0;\n    for (; *line; line++)\n        n += *line == separator;\n    return n;\n}\n"
	const own = "    return run(in);\n}\n"
	for _, c := range []struct {
		a, b string
		told string // how the code's legitimate quotation ends; empty for none
	}{
		{handed + own, handed + "    loop(in, o);\n}\n", "begins here"},
		{handed + solution, handed + solution, "begins here"},
		{helper + "\n" + handed + own, helper + "\n" + handed + "}\n", "begins here"},
		{helper + "    // TODO: your code begins here\n", helper, ""},
		{helper, helper, ""},
	} {
		text, other := quoting+"\n\n"+c.a, "Nobody saw the boat leave.\n\n"+c.b
		w, words := Shareable(text, nil, nil), wording.Split(other)
		held, quoted := wording.CounterOf(w.Words), wording.CounterOf(QuotedWords(text, w.Words))
		held.Add(1, words)
		quoted.Add(1, QuotedWords(other, words))
		if err := w.Decide(t.Context(), &wording.Scope{Held: held.Common(2), Of: 2, Quoted: quoted.Common(2)}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(w.Found, func(f report.Wording) bool { return f.Why == string(report.AsSkeleton) })
		told := ""
		if i >= 0 {
			told = w.Found[i].In(text)
		}
		if told == "" != (c.told == "") || !strings.HasSuffix(told, c.told) || strings.Contains(told, "separator") {
			t.Errorf("beside %q: %s", c.b, fmt.Sprint(w.Found))
		}
	}
}

// TestTitles: a title that two documents have above different texts is not evidence. Above shared text it was copied with the text, and a
// faculty's title page is never evidence.
func TestTitles(t *testing.T) {
	const title, page = "On the boats of the eastern shore and those who kept them", "UNIVERSITY OF THE SHORE\nFaculty of Boats\n\nMaster's Thesis\n\n2021"
	own := "Somebody else wrote of the lamps that burned all night, and of nothing that has to do with boats or with a quay, or a census. "
	for _, c := range []struct {
		head, under string
		explained   bool
	}{{title, own, true}, {title, quoting, false},
		{title + "\n\nAna Costa, Shore Institute", quoting, false}, {page, own, true}, {page, quoting, true}} {
		w := Shareable(c.head+"\n\n"+quoting, nil, nil)
		counter := wording.CounterOf(w.Words)
		counter.Add(1, wording.Split(c.head+"\n\n"+c.under))
		if err := w.Decide(t.Context(), &wording.Scope{Held: counter.Common(2), Of: 10}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(w.Found, func(f report.Wording) bool { return f.Why == string(report.AsTitle) })
		if got != c.explained || got != (ShareOf(report.NewCounter(w.Text), concordat.Span{End: len(c.head)}, w.Walls) > 0.9) {
			t.Errorf("%q over %q: explained %v, want %v", c.head, c.under[:20], got, c.explained)
		}
	}
}

// TestTextOnTitlePages: a copied page in short lines is evidence, although it looks like a title page. A title page shared with another
// document of the same author or kind is not.
func TestTextOnTitlePages(t *testing.T) {
	own := strings.Repeat("Somebody else wrote of lamps that burned all night, and of nothing that has to do with a quay or a census. ", 3)
	var lines, front, laws []string
	for i := range 16 {
		lines = append(lines, fmt.Sprintf("What wheel%c turned the miller sold", 'a'+i))
		front = append(front, fmt.Sprintf("Ana Costa%c and Bo Vik%c, Institute of Lamps", 'a'+i, 'a'+i))
		laws = append(laws, fmt.Sprintf("Amended on %d May %d by the Council", 1+i, 1950+i))
	}
	thesis := "UNIVERSITY OF THE SHORE\n\nOn boats\n\nA thesis submitted in partial fulfilment of the requirements for the degree of Master of Arts in the " +
		"Faculty of Boats\n\nAccepted as conforming to the required standard\n\n%s\n\nNorstad 2021"
	changed := slices.Clone(lines)
	changed[14] = "Nobody sold what this one turned"
	for _, c := range []struct {
		name, a, b string
		counts     float64 // minimum share of the page that is compared if text, maximum 0 if a title page
	}{
		{"text", strings.Join(lines, "\n"), strings.Join(lines, "\n"), 0.99},
		{"text in paragraphs", strings.Join(lines, "\n\n"), strings.Join(lines, "\n\n"), 0.99},
		{"text with a changed line", strings.Join(lines, "\n"), strings.Join(changed, "\n"), 0.8},
		{"text below a title", "On boats\nAna Costa\n2021\n" + strings.Join(lines[:12], "\n"), strings.Join(lines[:12], "\n"), 0.8},
		{"authors", strings.Join(front[:14], "\n"), strings.Join(front[:14], "\n"), 0},
		{"dates", strings.Join(laws[:15], "\n"), strings.Join(laws[:15], "\n"), 0},
		{"a thesis", fmt.Sprintf(thesis, "Ana Costa"), fmt.Sprintf(thesis, "Bo Vik"), 0},
	} {
		for _, of := range []int{2, 5, 12, 40, 400} {
			w := Shareable(c.a+"\n\n"+quoting, nil, nil)
			if !slices.ContainsFunc(w.Explained, func(x report.Wording) bool { return x.Why == string(report.AsTitle) }) {
				t.Fatalf("%s: no title page", c.name)
			}
			counter := wording.CounterOf(w.Words)
			counter.Add(1, wording.Split(c.b+"\n\n"+own))
			if err := w.Decide(t.Context(), &wording.Scope{Held: counter.Common(2), Of: of}, 0, refOf); err != nil {
				t.Fatal(err)
			}
			compared := 1 - ShareOf(report.NewCounter(w.Text), concordat.Span{End: len(c.a)}, w.Walls)
			if compared < c.counts || c.counts == 0 && compared > 0.05 {
				t.Errorf("%s among %d: %.2f of the page compared, walls %v", c.name, of, compared, w.Found)
			}
		}
	}
}
