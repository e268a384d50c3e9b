package inbox

import (
	"encoding/json"
	"errors"
	"testing"

	"concordat"
)

// TestBelow: an origin covers the addresses below it by whole path segments, with the same scheme, host and port.
func TestBelow(t *testing.T) {
	origins := []string{"https://repo.example.edu", "https://shared.example.edu/journal"}
	for address, want := range map[string]bool{
		"https://repo.example.edu": true, "https://REPO.example.edu/": true, "https://repo.example.edu/server/ldn/inbox": true,
		"https://repo.example.edu?x=1": true, "http://repo.example.edu": false, "https://repo.example.edu:8443": false,
		"https://repo.example.edu.evil.example": false, "https://evil.example/https://repo.example.edu": false,
		"https://repo.example.edu@evil.example": false, "https://x@repo.example.edu": false,
		"https://shared.example.edu/journal/inbox": true, "https://shared.example.edu/journal": true,
		"https://shared.example.edu/journals": false, "https://shared.example.edu": false,
		"https://shared.example.edu/journal/../other": false, "https://shared.example.edu/journal/%2e%2e/other": false,
		"https://shared.example.edu/journal/%2e%2e": false, "": false, "%": false,
	} {
		if got := below(address, origins); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// TestTypes: a type is recognised by its name and by its address, but not if it only looks similar.
func TestTypes(t *testing.T) {
	for text, want := range map[string]bool{`"coar-notify:ReviewAction"`: true, `["x", "coar-notify:ReviewAction"]`: true,
		`"https://coar-notify.net/specification/vocabulary/ReviewAction"`: true, `"https://purl.org/coar/notify_vocabulary/ReviewAction"`: true,
		`"ReviewAction"`: false, `"https://evil.example/ReviewAction"`: false, `7`: false, `null`: false, `[[]]`: false} {
		var l list
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := l.has(actionReview); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzParse: no notification makes the parser panic, and an accepted notification contains everything that answers need.
func FuzzParse(f *testing.F) {
	for _, s := range []string{``, `{}`, `[]`, `{"@context": ["https://www.w3.org/ns/activitystreams", "https://purl.org/coar/notify"],
		"id": "urn:uuid:1", "type": ["Offer", "coar-notify:ReviewAction"], "origin": {"id": "https://a.example", "inbox": "https://a.example/i"},
		"target": {"id": "https://b.example"}, "object": {"id": "https://a.example/1", "ietf:item": [{"id": "https://a.example/1.pdf"}, "x"]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parse(b)
		if err != nil {
			if !errors.Is(err, concordat.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		if a.ID == "" || a.Origin.Inbox == "" || a.Object.ID == "" || len(a.Type) == 0 {
			t.Errorf("taken: %+v", a)
		}
		if !json.Valid(without(b)) {
			t.Error("what answers repeat is not JSON")
		}
		textsOf(a)
		below(a.Origin.ID, []string{"https://a.example"})
	})
}
