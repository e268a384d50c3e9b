package program

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
	"concordat/site/ask"
)

// TestVerifyAttribution: everything that a report attributes to a partner is covered by the partner's signature or is reported.
func TestVerifyAttribution(t *testing.T) {
	t.Parallel()
	north := newSigning(t, "north")
	handle := concordat.Handle{1, 2, 3}
	told, err := wire.AppendAnswer(nil, &wire.EpochAnswer{
		Epoch: concordat.Epoch{Federation: "health", Number: 1}, Scheme: "natural@0123456789abcdef",
		Answer: concordat.SiteAnswer{
			Libraries: []concordat.LibraryAnswer{{Library: "laws", Level: concordat.ShowMetadata, Exists: true, Documents: 1, Sentences: 2}},
			Documents: []concordat.DocumentAnswer{{Handle: handle, Matches: 2, Title: "On records: a \u202Etale"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	revealed, err := wire.AppendRevealed(nil, &concordat.Revealed{State: concordat.DisclosureGranted, Until: time.Now(),
		Passages: []concordat.RevealedPassage{{Text: "records shall be kept for ten years"}}})
	if err != nil {
		t.Fatal(err)
	}
	good := []concordat.Statement{{Site: north.site, Kind: "tell", Payload: told}, {Site: north.site, Kind: "revealed", Payload: revealed}}

	source := func(change map[string]any) []byte {
		s := map[string]any{"site": north.site, "library": "laws", "document": ask.HandleName(handle), "title": "On records: a ta…",
			"text": "records shall be kept\n[…]\nten years"}
		for k, v := range change {
			s[k] = v
		}
		b, err := json.Marshal(map[string]any{"evidence": []any{map[string]any{"sources": []any{s}}}, "consulted": []any{
			map[string]any{"site": north.site, "library": "laws"}, map[string]any{"site": north.site, "library": "mirrored",
				"mirror": "2026-01-01T00:00:00Z"}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, k := range map[string]struct {
		change map[string]any
		good   []concordat.Statement
		want   string
	}{
		"as it was said":        {nil, good, ""},
		"without text":          {map[string]any{"text": ""}, good[:1], ""},
		"own source":            {map[string]any{"site": "uni"}, nil, ""},
		"from a mirror":         {map[string]any{"library": "mirrored"}, nil, ""},
		"no signed answer":      {nil, nil, "signed no answers"},
		"another document":      {map[string]any{"document": ask.HandleName(concordat.Handle{9})}, good, "did not name this document"},
		"another title":         {map[string]any{"title": "On theft"}, good, "gave a different title"},
		"text that is made up":  {map[string]any{"text": "records shall be burnt"}, good, "did not reveal this text"},
		"text that was not yet": {nil, good[:1], "did not reveal this text"},
		"payload that is none": {nil, append(slices.Clone(good), concordat.Statement{Site: north.site, Kind: "tell", Payload: []byte("x")}),
			"answer (tell) from site"},
	} {
		got, err := verifyAttribution(source(k.change), k.good)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case k.want == "" && len(got) != 0, k.want != "" && (len(got) != 1 || !strings.Contains(got[0], k.want)):
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}

	asked := []byte("the ask")
	digest := crypto.DigestOf(asked)
	if err := askedFor(concordat.Statement{Request: digest[:], Asked: asked}); err != nil {
		t.Error(err)
	}
	if askedFor(concordat.Statement{Request: digest[:], Asked: []byte("another")}) == nil {
		t.Error("an answer to another request passed")
	}
}
