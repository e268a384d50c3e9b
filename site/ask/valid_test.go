package ask

import (
	"errors"
	"math"
	"testing"

	"concordat"
)

// TestValidAnswer: each number in a partner's answer is accepted from its lowest to its highest valid value and not beyond, because the
// report uses it as an index and in counts.
func TestValidAnswer(t *testing.T) {
	ask := &concordat.Ask{Libraries: []concordat.LibraryID{"a", "b"}, Sentences: make([]concordat.AskedSentence, 3)}
	whole := func() *concordat.SiteAnswer {
		return &concordat.SiteAnswer{
			Libraries: []concordat.LibraryAnswer{{Library: "a", Level: concordat.ShowMetadata, Ready: 1, Documents: 1},
				{Library: "b", Level: concordat.ShowExists}},
			Documents: []concordat.DocumentAnswer{{Library: 0, Matches: 1}, {Library: 1}},
			Hits:      []concordat.Hit{{Sentence: 2, Document: 1, Ordinal: 7, Closeness: concordat.CloseNear, Documents: 1}},
		}
	}
	for name, c := range map[string]struct {
		edit func(x *concordat.SiteAnswer)
		good bool
	}{
		"as it is":                {func(*concordat.SiteAnswer) {}, true},
		"another library":         {func(x *concordat.SiteAnswer) { x.Libraries[0].Library = "b" }, false},
		"a level to come":         {func(x *concordat.SiteAnswer) { x.Libraries[0].Level = "all" }, false},
		"no level":                {func(x *concordat.SiteAnswer) { x.Libraries[0].Level = "" }, false},
		"no level, refused":       {func(x *concordat.SiteAnswer) { x.Libraries[0].Level, x.Libraries[0].Refusal = "", &concordat.Refusal{} }, true},
		"not ready":               {func(x *concordat.SiteAnswer) { x.Libraries[0].Ready = 0 }, true},
		"less than not ready":     {func(x *concordat.SiteAnswer) { x.Libraries[0].Ready = -0.1 }, false},
		"more than ready":         {func(x *concordat.SiteAnswer) { x.Libraries[0].Ready = 1.1 }, false},
		"ready is no number":      {func(x *concordat.SiteAnswer) { x.Libraries[0].Ready = math.NaN() }, false},
		"documents below 0":       {func(x *concordat.SiteAnswer) { x.Libraries[0].Documents = -1 }, false},
		"sentences below 0":       {func(x *concordat.SiteAnswer) { x.Libraries[0].Sentences = -1 }, false},
		"missing below 0":         {func(x *concordat.SiteAnswer) { x.Libraries[0].Missing = -1 }, false},
		"capped below 0":          {func(x *concordat.SiteAnswer) { x.Libraries[0].Capped = -1 }, false},
		"document of no library":  {func(x *concordat.SiteAnswer) { x.Documents[0].Library = 2 }, false},
		"document before all":     {func(x *concordat.SiteAnswer) { x.Documents[0].Library = -1 }, false},
		"document of the last":    {func(x *concordat.SiteAnswer) { x.Documents[0].Library = 1 }, true},
		"matches below 0":         {func(x *concordat.SiteAnswer) { x.Documents[0].Matches = -1 }, false},
		"sentence before all":     {func(x *concordat.SiteAnswer) { x.Hits[0].Sentence = -1 }, false},
		"the first sentence":      {func(x *concordat.SiteAnswer) { x.Hits[0].Sentence = 0 }, true},
		"sentence behind all":     {func(x *concordat.SiteAnswer) { x.Hits[0].Sentence = 3 }, false},
		"hit before all":          {func(x *concordat.SiteAnswer) { x.Hits[0].Document = -1 }, false},
		"hit in the first":        {func(x *concordat.SiteAnswer) { x.Hits[0].Document = 0 }, true},
		"hit behind all":          {func(x *concordat.SiteAnswer) { x.Hits[0].Document = 2 }, false},
		"ordinal below 0":         {func(x *concordat.SiteAnswer) { x.Hits[0].Ordinal = -1 }, false},
		"ordinal 0":               {func(x *concordat.SiteAnswer) { x.Hits[0].Ordinal = 0 }, true},
		"the last ordinal":        {func(x *concordat.SiteAnswer) { x.Hits[0].Ordinal = math.MaxInt32 }, true},
		"one behind it":           {func(x *concordat.SiteAnswer) { x.Hits[0].Ordinal = math.MaxInt32 + 1 }, false},
		"the same":                {func(x *concordat.SiteAnswer) { x.Hits[0].Closeness = concordat.CloseSame }, true},
		"closer than the same":    {func(x *concordat.SiteAnswer) { x.Hits[0].Closeness = concordat.CloseSame + 1 }, false},
		"held by fewer than none": {func(x *concordat.SiteAnswer) { x.Hits[0].Documents = -1 }, false},
		"held by none":            {func(x *concordat.SiteAnswer) { x.Hits[0].Documents = 0 }, true},
	} {
		x := whole()
		c.edit(x)
		if err := validAnswer(ask, x); (err == nil) != c.good || err != nil && !errors.Is(err, errGarbage) {
			t.Errorf("%s: error %v, is to be taken: %v", name, err, c.good)
		}
	}
	less := whole()
	less.Libraries, less.Documents, less.Hits = less.Libraries[:1], nil, nil
	for name, x := range map[string]*concordat.SiteAnswer{"nothing": nil, "a library less": less} {
		if err := validAnswer(ask, x); !errors.Is(err, errGarbage) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestHandles: only the name of a partner's document yields a handle.
func TestHandles(t *testing.T) {
	h := concordat.Handle{1, 2, 255}
	name := HandleName(h)
	if got, err := handleOf(name); err != nil || got != h {
		t.Errorf("%s: %v, error %v", name, got, err)
	}
	for _, bad := range []concordat.DocumentID{"", "thesis.pdf", name[2:], name + "00", "x" + name[1:]} {
		if _, err := handleOf(bad); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: error %v, want ErrInvalid", bad, err)
		}
	}
}

// TestTakeLibrary: a library's results for the parts of a question add up, including sentences, missing parts, and whether any part is
// standing. A refusal does not cancel earlier answers.
func TestTakeLibrary(t *testing.T) {
	var c concordat.Consulted
	r := &round{}
	r.takeLibrary(&c, &concordat.LibraryAnswer{Level: concordat.ShowCounts, Ready: 0.5, Standing: true, Documents: 3, Sentences: 4,
		Missing: 2, Capped: 1}, 10)
	r.takeLibrary(&c, &concordat.LibraryAnswer{Level: concordat.ShowCounts, Ready: 0.75, Documents: 2, Sentences: 5, Missing: 1, Capped: 2}, 7)
	r.takeLibrary(&c, &concordat.LibraryAnswer{Ready: 0.75, Documents: 90, Refusal: &concordat.Refusal{Reason: concordat.ReasonBudget}}, 9)
	if !c.Standing || c.Answered != 17 || c.Capped != 3 || len(c.Missing) != 2 || c.Unready != 0.25 || c.Level != concordat.ShowCounts {
		t.Errorf("got %+v", c)
	}
	if c.Shown.Documents != 3 || c.Shown.Sentences != 9 || !c.Shown.Exists {
		t.Errorf("shown %+v", c.Shown)
	}
	if c.Reason != concordat.ReasonBudget || c.Err == "" {
		t.Errorf("refused for %q, %q", c.Reason, c.Err)
	}
}

// TestSteps: a similarity computed from sketches is reported as the lower end of its step.
func TestSteps(t *testing.T) {
	for similarity, want := range map[float64]float64{1: 1, 0.999: 0.9, 0.9: 0.9, 0.899: 0.74, 0.74: 0.74, 0.739: 0.5, 0.5: 0.5, 0.1: 0.5} {
		if got := steps(similarity); got != want {
			t.Errorf("%v: %v, want %v", similarity, got, want)
		}
	}
}
