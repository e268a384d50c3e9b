package site_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/suite"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
)

// TestOneFate: which matches count in a document does not depend on the site's key, the order in which documents are added, their
// distribution over libraries, or whether the document is checked alone or in a batch with the others.
func TestOneFate(t *testing.T) {
	const question = "Describe the aims of your project in no more than two hundred words of plain language for the panel of readers."
	const statute = "In Article 4 the Regulation says: “the term personal data means any information that relates to a person who is known”."
	quoted := strings.TrimSuffix(strings.TrimSpace(sitetest.Prose(400, 3)), ".")
	cited := strings.TrimSuffix(strings.TrimSpace(sitetest.Prose(401, 3)), ".")
	texts := map[string]string{}
	var names []string
	for i := range 24 {
		name := fmt.Sprintf("doc-%02d.txt", i)
		names = append(names, name)
		own := sitetest.Prose(uint64(300+i), 20)
		switch {
		case i == 20: // a block of another's text within the writer's own text
			own = own[:len(own)/2] + "\n\n" + sitetest.Prose(303, 8) + "\n\n" + own[len(own)/2:]
		case i < 2:
			own += "\n\n" + statute
		case i == 6: // one document quotes, and the next presents the quotation as its own text
			own += "\n\nIn Article 7 the Regulation says: “" + quoted + "”."
		case i == 7:
			own += "\n\n" + quoted + "."
		case i == 8: // one document quotes, and the next rewords the quotation, so only the later one took something
			own += "\n\nIn Article 9 the Regulation says: “" + cited + "”."
		case i == 9:
			own += "\n\n" + reworded(cited) + "."
		}
		texts[name] = question + "\n\n" + own + "\n\nI declare that this application is my own work and that nobody else wrote it.\n"
	}
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	fates := func(f *report.Findings) string {
		rep := report.Build(f, report.Rules{})
		var out []string
		for _, c := range rep.Covered {
			out = append(out, c.Span.In(f.Submission.Text))
		}
		return strings.Join(out, " | ")
	}
	want := map[string]string{}
	see := func(way, name string, f *report.Findings) {
		t.Helper()
		got := fates(f)
		first, known := want[name]
		switch {
		case !known:
			want[name] = got
		case got != first:
			t.Errorf("%s: of %s counts %q, before %q", way, name, got, first)
		}
	}
	checked := []string{"doc-00.txt", "doc-03.txt", "doc-05.txt", "doc-06.txt", "doc-07.txt", "doc-08.txt", "doc-09.txt",
		"doc-20.txt"}
	keys := []string{"", "a key of thirty-two bytes, number 1", "a key of thirty-two bytes, number 2"}
	keys = keys[:suite.Rounds(1, len(keys))]
	for _, key := range keys {
		for way, order := range map[string][]string{"in order": names, "backwards": reversed} {
			if testing.Short() && way == "backwards" {
				continue
			}
			for _, n := range []int{1, 3} {
				libraries := []concordat.LibraryID{"a", "b", "c"}[:n]
				p := sitetest.NewKeyedSite(t, []byte(key), libraries...)
				for i, name := range order {
					p.Add(t, libraries[i%n], site.Incoming{ID: concordat.DocumentID(name), Text: texts[name]})
				}
				for _, name := range checked {
					var o site.CheckOptions
					for _, l := range libraries {
						o.Exclude = append(o.Exclude, concordat.Ref{Site: "here", Library: l, Document: concordat.DocumentID(name)})
					}
					see(fmt.Sprintf("key %q, %s, %d libraries", key, way, n), name, p.Found(t, texts[name], o))
				}
			}
			b := sitetest.NewBatch(t, sitetest.NewKeyedSite(t, []byte(key)), texts, order, batch.Job{NoLibraries: true})
			for _, m := range b.Run(t).Members {
				if !slices.Contains(checked, m.Name) {
					continue
				}
				f, err := b.Findings(t.Context(), m.Task)
				if err != nil {
					t.Fatal(err)
				}
				see(fmt.Sprintf("key %q, %s, batch", key, way), m.Name, f)
			}
		}
	}
	if want["doc-00.txt"]+want["doc-05.txt"] != "" {
		t.Errorf("of documents that share a form and a quotation counts %q", want["doc-00.txt"]+want["doc-05.txt"])
	}
	if len(want["doc-07.txt"]) < len(quoted)*9/10 || want["doc-06.txt"] != "" {
		t.Errorf("of a quotation of %d bytes count %q without its marks, %q with them", len(quoted), want["doc-07.txt"], want["doc-06.txt"])
	}
	if len(want["doc-09.txt"]) < len(cited)/2 || want["doc-08.txt"] != "" {
		t.Errorf("of a reworded quotation of %d bytes count %q, of the quotation %q", len(cited), want["doc-09.txt"], want["doc-08.txt"])
	}
	if n := len(sitetest.Prose(303, 8)); len(want["doc-20.txt"]) < n*9/10 || len(want["doc-03.txt"]) < n*9/10 {
		t.Errorf("of the copied block of %d bytes count %d and %d", n, len(want["doc-20.txt"]), len(want["doc-03.txt"]))
	}
}

// reworded returns a text with every fourth word replaced, so that no five consecutive words are the same.
func reworded(text string) string {
	words := strings.Fields(text)
	for i := 3; i < len(words); i += 4 {
		words[i] = fmt.Sprintf("another%d", i)
	}
	return strings.Join(words, " ")
}
