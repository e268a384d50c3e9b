package align_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align"
)

const (
	first  = "The committee found that merchants counted barrels of salted fish beside the frozen harbour throughout the long winter."
	second = "A small botanical garden behind the hospital supplied physicians with foxglove, chamomile and a pale variety of valerian."
	mine   = "My colleagues and I disagree, because our interviews with retired archivists suggested quite different motives entirely."
)

func passages(a, b string) []align.Passage {
	return align.Pair(align.Prepare(a), align.Prepare(b), align.Options{})
}

// TestPeopleSeeWhatIsShared: passages shown to people contain neither headings nor the writer's own words between two quotations.
func TestPeopleSeeWhatIsShared(t *testing.T) {
	source := first + " " + second + " The council met again in spring and decided nothing at all about bread prices."
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"heading above", "Own heading about memory\n\n" + first, []string{first}},
		{"own words between", first + " " + mine + " " + second, []string{first, second}},
		{"own words after", second + " " + mine, []string{second}},
		{"both sentences together", first + " " + second, []string{first + " " + second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range passages(c.text, source) {
				got = append(got, strings.TrimRight(p.A.In(c.text), "."))
				if p.Kind != concordat.KindVerbatim {
					t.Errorf("%q is %s, want verbatim", p.A.In(c.text), p.Kind)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != strings.TrimRight(c.want[i], ".") {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

// TestLongChineseTextIsNoSummary: a long regulation contains nearly every common word of a short text on a similar subject, which is not
// reuse.
func TestLongChineseTextIsNoSummary(t *testing.T) {
	own := "诚信是合作的前提，各个单位在项目开始以前要说明怎样保存数据，也要说明由谁负责管理。"
	law := strings.Repeat("单位应当建立管理制度，明确负责人员。项目承担者按照规定保存有关资料。主管部门对数据的使用进行监督检查。合作各方应当事先约定权利义务。申请单位对材料的真实性负责，以前的成果应当说明来源。", 4)
	for _, p := range passages(own, law) {
		t.Errorf("found %s passage %q in %q", p.Kind, p.A.In(own), p.B.In(law))
	}
}

// TestSentencesFromFarApart: neighbouring sentences that come from distant places in the source are two passages.
func TestSentencesFromFarApart(t *testing.T) {
	var between strings.Builder
	for i := range 30 {
		between.WriteString(strings.Repeat("Nothing of interest happened on day "+string(rune('a'+i%26))+" of that year. ", 1))
	}
	source := second + " " + between.String() + first
	text := first + " " + second
	got := passages(text, source)
	if len(got) != 2 {
		t.Fatalf("%d passages, want 2: %+v", len(got), got)
	}
	for _, p := range got {
		if p.B.Len() > p.A.Len()+20 {
			t.Errorf("source side of %d bytes for %d", p.B.Len(), p.A.Len())
		}
	}
}

// TestOwnSentenceBetweenReworded: each writer has a sentence of their own between two reworded sentences. The two sentences share common
// words in the same order, which must not bridge the gap.
func TestOwnSentenceBetweenReworded(t *testing.T) {
	here := []string{
		"The committee found that traders counted barrels of salted fish beside the frozen harbour all through the long winter.",
		"Most families of our valley bought new ploughs, because the price of strong horses fell by half that summer.",
		"A small botanical garden behind the hospital gave physicians foxglove, chamomile and a pale kind of valerian."}
	there := []string{first,
		"Young teachers sent new letters to newspapers, although no answer by the ministry of schools came within weeks.", second}
	text := strings.Join(here, " ")
	reworded := 0
	for _, p := range passages(text, strings.Join(there, " ")) {
		if own := strings.Index(text, here[1]); p.A.Start < own+len(here[1])-20 && p.A.End > own+20 {
			t.Errorf("%q is of a passage, beside %q", p.A.In(text), p.B.In(strings.Join(there, " ")))
		}
		reworded += p.A.Len()
	}
	if want := (len(here[0]) + len(here[2])) * 9 / 10; reworded < want {
		t.Errorf("passages have %d letters, want %d at least", reworded, want)
	}
}
