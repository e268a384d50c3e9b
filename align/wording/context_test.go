package wording_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestContext: the classifier and the form reader stop when their context ends.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	texts := []string{form + "\n\n" + strings.Repeat("Own words of the first stand here. ", 20), form}
	s, split := scopeOf(texts, nil)
	if _, err := s.Classify(ctx, 0, split[0], wording.NewReader(texts[0]), nil); !errors.Is(err, stopped) {
		t.Errorf("classify: %v, want %v", err, stopped)
	}
	if _, _, err := wording.NewReader(texts[0]).ReadsLikeForm(ctx, concordat.Span{End: 20}); !errors.Is(err, stopped) {
		t.Errorf("read: %v, want %v", err, stopped)
	}
}
