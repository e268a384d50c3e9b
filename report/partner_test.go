package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

const partnerText = "Bakers of the lower town petitioned the magistrate against millers who mixed chalk into flour. Nobody answered them at all."

// partnerFindings returns findings with a source here, a source at a partner that disclosed words in common, and lines of every kind.
func partnerFindings() *report.Findings {
	day := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	ref := concordat.Ref{Site: "north", Library: "theses", Document: "00112233445566778899aabbccddeeff"}
	at := concordat.Span{End: 95}
	return &report.Findings{
		Version: report.Version, Submission: concordat.Document{ID: "s", Title: "Bread", Text: partnerText}, Made: day, Forward: "all",
		Passages: []concordat.Passage{
			{Span: at, Source: ref, Title: "Millers", SourceSpan: concordat.Span{Start: 10, End: 120}, Kind: concordat.KindNear, Similarity: 0.9,
				Shared: []concordat.Span{{Start: 0, End: 24}, {Start: 40, End: 58}}},
			{Span: concordat.Span{End: 60}, Source: concordat.Ref{Site: "here", Library: "a", Document: "d"}, Title: "Towns",
				Kind:       concordat.KindVerbatim,
				Similarity: 1, SourceSpan: concordat.Span{End: 60}, Text: partnerText[:60]},
		},
		Partners: []report.PartnerSource{{Ref: ref, Title: "Millers", Author: "A. Writer", Contact: "library@north", Date: day,
			Level: concordat.ShowOverlap,
			Job:   "00000000000000000000000000000001", Epoch: concordat.Epoch{Federation: "f", Number: 3}, Outline: concordat.OutlineWords,
			Matches: 2}},
		Disclosures: []report.Disclosure{{Source: ref, Level: concordat.ShowOverlap, State: concordat.DisclosureGranted, Asked: day, Changed: day,
			Passages: []concordat.SpanPair{{Span: at}}}},
		Statements: []concordat.Statement{{Site: "north", Kind: "answer", KeyEpoch: 2, At: day, Request: []byte{1}, Payload: []byte{2},
			Signature: []byte{3}}},
		Consulted: []concordat.Consulted{
			{Site: "here", Library: "a", Asked: 2, Answered: 2},
			{Site: "north", Library: "theses", Asked: 2, Answered: 2, Level: concordat.ShowOverlap, Epoch: "f/3", Unready: 0.25, Standing: true,
				Exposed: concordat.Exposed{Sentences: 2, Cells: 3, Passages: 1, Letters: 80},
				Shown:   concordat.Shown{Exists: true, Documents: 1, Sentences: 2, Leads: 1, Outlines: 1, Units: 12, Words: 40, Overlaps: 1},
				Leads:   concordat.LeadsAsked, LeadsMissing: 1, LeadsUnasked: 1200},
			{Site: "south", Library: "grants", Asked: 2, Level: concordat.ShowNothing, Err: "the library is under embargo",
				Reason:  concordat.ReasonEmbargo,
				Exposed: concordat.Exposed{Sentences: 2}},
			{Site: "west", Library: "laws", Asked: 2, Answered: 2, Level: concordat.ShowMetadata, Mirror: day},
			{Site: "west", Library: "few", Asked: 2, Answered: 2, Level: concordat.ShowCounts,
				Shown: concordat.Shown{Exists: true, Documents: 2, Sentences: 2}},
		},
	}
}

// TestPartnersInWords: for each library, the statement names what each side learned.
func TestPartnersInWords(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteText(&b, report.Build(partnerFindings(), report.Rules{})); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"north/theses: answered 2 sentences. Not measured: 25% of its documents have no fingerprints of this key period. " +
			"They learned: 2 sentences as keyed fingerprints, 3 sentences as meaning codes, which are not keyed, the wording of 1 passage (80 letters). " +
			"Known here: the titles of 1 document that matches, outlines of 1 document (12 sentences), the order of 40 words, as one byte for each, the words in common with 1 passage. " +
			"Leads were looked for there, using meaning codes. Not searched for leads: 1 part of its index, which did not answer. " +
			"Not asked about leads: 1,200 sentences at the end of the text, because the text is too long. It will report later documents that match.",
		"south/grants: did not answer (the library is under embargo). 2 sentences were not measured there. They learned: 2 sentences as keyed fingerprints.",
		"west/laws: answered 2 sentences. From a mirror of 2026-05-04; nothing was asked or shown there. Known here: that nothing matches, as far as it may disclose.",
		"west/few: answered 2 sentences. Known here: that few documents match with few sentences of those asked, and no more.",
		"by A. Writer; of 2026-05-04; contact library@north",
		"words in common: Bakers of the lower town ▁▁▁ magistrate against ▁▁▁",
		"The words in common with 1 passage of north/theses/00112233445566778899aabbccddeeff: shown on 2026-05-04.",
		"Signed by north: its answer of 2026-05-04 00:00, signing key 2.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

// TestPartnersInJSON: the JSON format follows its schema and contains the signed bytes.
func TestPartnersInJSON(t *testing.T) {
	j := parse(t, report.Build(partnerFindings(), report.Rules{}))
	root := schema(t)
	if err := check(root, root, j, ""); err != nil {
		t.Error(err)
	}
	st := j["statements"].([]any)[0].(map[string]any)
	if st["payload"] != "Ag==" || st["signature"] != "Aw==" || st["request"] != "AQ==" {
		t.Errorf("statement %v", st)
	}
	src := j["evidence"].([]any)[0].(map[string]any)["sources"].([]any)
	if len(src) != 2 || src[0].(map[string]any)["shared"] == nil && src[1].(map[string]any)["shared"] == nil {
		t.Errorf("sources %v", src)
	}
}

// TestNextBest: if the best source is excluded, the passage goes to the next best source at any site.
func TestNextBest(t *testing.T) {
	f := partnerFindings()
	best := report.Build(f, report.Rules{}).Evidence[0].Sources[0]
	next := report.Build(f, report.Rules{ExcludeSources: []concordat.Ref{best.Ref}})
	if got := next.Evidence[0].Sources; best.Site != "north" || len(got) != 1 || got[0].Site != "here" || next.Scores.Covered == 0 {
		t.Errorf("best %v, then %+v", best.Ref, got)
	}
}
