package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"concordat/site/retain"
)

// TestSweptIsToldInWords: the log states what the site's rules deleted, and has no line if they deleted nothing.
func TestSweptIsToldInWords(t *testing.T) {
	var log bytes.Buffer
	s := &Daemon{log: slog.New(slog.NewTextHandler(&log, nil))}
	s.tellSwept(nil)
	s.tellSwept(&retain.Swept{})
	if log.Len() != 0 {
		t.Errorf("nothing was deleted, and the log says\n%s", log.String())
	}
	s.tellSwept(&retain.Swept{Texts: 3, Accounts: 1})
	if got := log.String(); !strings.Contains(got, "msg=retention") || !strings.Contains(got, "texts=3") ||
		!strings.Contains(got, "accounts=1") || strings.Contains(got, "{") {
		t.Errorf("the log says\n%s", got)
	}
}
