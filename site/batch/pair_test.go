package batch

import (
	"testing"

	"concordat"
	"concordat/report"
)

// TestOnlyPair: the report of a pair has what the other document holds, and no other document's words, libraries, partners or
// signatures: who may see the pair need not see the rest.
func TestOnlyPair(t *testing.T) {
	library := concordat.BatchLibrary("b")
	ref := func(lib concordat.LibraryID, doc concordat.DocumentID) concordat.Ref {
		return concordat.Ref{Site: "here", Library: lib, Document: doc}
	}
	other := ref(library, "y.txt")
	f := &report.Findings{}
	for _, r := range []concordat.Ref{other, ref(library, "z.txt"), ref("theses", "y.txt"), other} {
		f.Passages = append(f.Passages, concordat.Passage{Source: r, Text: string(r.Document)})
		f.SharedWorks = append(f.SharedWorks, report.SharedWorks{Source: r})
		f.Leads = append(f.Leads, report.Lead{Source: r, Text: string(r.Document)})
	}
	for _, lib := range []concordat.LibraryID{library, "theses"} {
		f.Consulted = append(f.Consulted, concordat.Consulted{Site: "here", Library: lib})
	}
	f.Partners = []report.PartnerSource{{Ref: ref("theses", "w")}}
	f.Short = &report.ShortFindings{}
	got := onlyPair(f, other)
	if len(got.Leads) != 2 {
		t.Errorf("leads %+v", got.Leads)
	}
	if len(got.Passages) != 2 || len(got.SharedWorks) != 2 || len(got.Consulted) != 1 || got.Consulted[0].Library != library ||
		got.Partners != nil || got.Short != nil {
		t.Errorf("got %+v", got)
	}
	for i, p := range got.Passages {
		if p.Source != other || got.Leads[i].Source != other || got.SharedWorks[i].Source != other {
			t.Errorf("passage %d is of %v, works %d are of %v", i, p.Source, i, got.SharedWorks[i].Source)
		}
	}
	if len(f.Passages) != 4 || len(f.Leads) != 4 || len(f.SharedWorks) != 4 || len(f.Consulted) != 2 {
		t.Error("the findings that were given are changed")
	}
}
