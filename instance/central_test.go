package instance

import (
	"testing"

	"concordat/cluster/coord"
)

// TestCentralOverlay: the shared settings override a node's file, and its environment overrides the settings.
func TestCentralOverlay(t *testing.T) {
	s := CentralSettings{Keys: map[string]string{"check.threshold": "0.25", "check.probe": "exact"}}
	look := s.Lookup(func(name string) (string, bool) { return "one", name == "CONCORDAT_CHECK_PROBE" })
	for name, want := range map[string]string{"CONCORDAT_CHECK_THRESHOLD": "0.25", "CONCORDAT_CHECK_PROBE": "one",
		"CONCORDAT_SERVE_LISTEN": ""} {
		if got, ok := look(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

func FuzzParseCentral(f *testing.F) {
	for _, seed := range []string{`{"format":1,"keys":{"check.threshold":"0.2"},"libraries":{"theses":{}}}`, `{"format":2}`,
		`{"keys":{"x":"y"}}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseCentral(coord.Config{Version: 1, Data: b})
		if err == nil && s.Validate() != nil {
			t.Errorf("%q is read and is not valid", b)
		}
	})
}
