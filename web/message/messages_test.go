package message

import (
	"strings"
	"testing"
)

// TestTable: each message has words in both languages, which take the same arguments.
func TestTable(t *testing.T) {
	for key, m := range messages {
		for _, verb := range []string{"%s", "%d"} {
			if strings.Count(m[0], verb) != strings.Count(m[1], verb) {
				t.Errorf("%s: %q and %q take other arguments", key, m[0], m[1])
			}
		}
		if m[0] == "" || m[1] == "" {
			t.Error(key + " is empty")
		}
	}
}
