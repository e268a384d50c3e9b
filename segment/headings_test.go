package segment_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/segment"
)

func sectionNames(t *segment.Template, text string) string {
	var out []string
	for _, s := range t.Find(text) {
		out = append(out, s.Name)
	}
	return strings.Join(out, "|")
}

// TestFormTemplate: a form's headings become a template, in any script and with different numbers; its instructions do not.
func TestFormTemplate(t *testing.T) {
	for name, x := range map[string]struct{ form, text, want string }{
		"English": {"1. Aims of the project\nDescribe the aims on no more than two pages.\n2. Work plan\nGive a timetable.\n",
			"Aims of the project\nOurs are many.\n2) WORK  PLAN:\nWe begin in May.\n", "Aims of the project|Work plan"},
		"Chinese":  {"一、研究目标\n请说明。\n二、研究计划\n", "1、研究目标\n我们的目标很多。\n二、研究计划：\n五月开始。", "研究目标|研究计划"},
		"one line": {"Work plan\nDescribe it.\n", "Work plan\n", ""},
		"no form":  {"", "Work plan\n", ""},
	} {
		if got := sectionNames(segment.FormTemplate(x.form), x.text); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// TestHeadings: lines shared by half of the documents are headings; lines shared by only two, or found in only one, are not.
func TestHeadings(t *testing.T) {
	var h segment.Headings
	doc := func(i int) string {
		return fmt.Sprintf("Application %d\nAims\nOur own aims, number %d.\n\nWork plan\nThe same first sentence of all plans.\nOwn line %d", i*7, i, i)
	}
	for i := range 2 {
		h.Add(doc(i))
	}
	if got := h.Template(); got != nil {
		t.Errorf("two documents have a template of %d headings", len(got.Headings))
	}
	h.Add(doc(2))
	h.Add("Another kind of document\nwithout any of this")
	if got := sectionNames(h.Template(), doc(9)); got != "Aims|Work plan" {
		t.Errorf("sections %q", got)
	}
	for range 9 {
		h.Add("Another kind of document")
	}
	if got := h.Template(); got != nil {
		t.Errorf("what fewer than half have is a heading: %v", got.Headings)
	}
}

func FuzzHeadings(f *testing.F) {
	f.Add("1. Aims\nWork plan\n", "Aims\nx\n二、研究计划")
	f.Add("(?i)[\n\\Q\\E*\n", "\xff\n:\n")
	f.Fuzz(func(t *testing.T, form, text string) {
		end := 0
		for _, s := range segment.FormTemplate(form, text).Find(text) {
			if s.Span.Start < end || s.Span.End < s.Span.Start || s.Span.End > len(text) {
				t.Fatalf("section %v after %d of %d bytes", s.Span, end, len(text))
			}
			end = s.Span.End
		}
	})
}
