package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat/store"
)

// TestCause: causes as tasks of all versions keep them are read into data, and written as they were.
func TestCause(t *testing.T) {
	for s, want := range map[string]store.Cause{
		"": {},
		"added: 3 new, 2 replaced, 1 unchanged, 0 not readable": {Code: store.CauseAdded, Numbers: []int{3, 2, 1, 0}},
		"split into 12 checks":                     {Code: store.CauseSplit, Numbers: []int{12}},
		"cancelled by ada: (b)":                    {Code: store.CauseCancelled, Who: "ada: (b)"},
		"given up: stopped without a word 3 times": {Code: store.CauseGivenUp, Detail: "stopped without a word 3 times"},
		"limit: 5 pages (at most 3 (or 4))":        {Code: "limit", Detail: "5 pages", Advice: "at most 3 (or 4)"},
		"empty":                                    {Code: "empty"},
		"added: some new":                          {Code: "added", Detail: "some new"},
		"split into pieces":                        {Code: "split into pieces"},
		"something else)":                          {Code: "something else)"},
		"damaged: it ends (in time)":               {Code: "damaged", Detail: "it ends", Advice: "in time"},
	} {
		got := store.ReadCause(s)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", s, d)
		}
		if got.String() != s {
			t.Errorf("%q is written as %q", s, got.String())
		}
	}
}
