package wording_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestGroups: six texts answer one form, and only three of them share a block.
func TestGroups(t *testing.T) {
	const form = "Describe the aims of your project in no more than two hundred words of plain language for the panel."
	block := strings.Repeat("The merchants counted barrels of salted fish beside the frozen harbour while the council fixed the price of bread. ", 1) +
		"Nobody had asked the keeper of the lighthouse what he thought about the timetable of the ferries that crossed the sound."
	var texts []string
	for i := range 6 {
		own := fmt.Sprintf("Text number %d speaks of subject%da and subject%db with words%dc of its own%dd that stand nowhere%de else.", i, i,
			i, i, i, i)
		text := form + "\n\n" + own
		if i >= 3 {
			text += "\n\n" + block
		}
		texts = append(texts, text)
	}
	counter := &wording.Counter{}
	for i, text := range texts {
		counter.Add(i, wording.Split(text))
	}
	all, held := counter.Common(5), counter.Common(3)
	var many, few wording.Groups
	for i, text := range texts {
		w := wording.Split(text)
		for _, s := range all.In(w) {
			many.Add(i, w, s.Span)
		}
		for _, s := range held.In(w) {
			if s.Documents < 5 {
				few.Add(i, w, s.Span)
			}
		}
	}
	if got := many.Held(3, 10); len(got) != 1 || got[0].Texts != 6 || len(got[0].Places) != 6 ||
		!strings.HasPrefix(got[0].Places[0].In(texts[got[0].Places[0].Text]), "Describe") {
		t.Errorf("what all hold: %+v", got)
	}
	got := few.Held(3, 10)
	if len(got) != 1 || got[0].Texts != 3 {
		t.Fatalf("what three hold: %+v", got)
	}
	for _, p := range got[0].Places {
		if s := p.In(texts[p.Text]); p.Text < 3 || !strings.HasPrefix(s, "The merchants") || !strings.Contains(s, "ferries") {
			t.Errorf("text %d holds %q", p.Text, s)
		}
	}
	if few.Held(4, 10) != nil && len(few.Held(4, 10)) > 0 || len(many.Held(3, 0)) > 0 {
		t.Error("more than was asked for")
	}
	var none wording.Groups
	none.Add(0, wording.Split(""), concordat.Span{})
	if len(none.Held(0, 5)) != 0 {
		t.Error("a group of nothing")
	}
}
