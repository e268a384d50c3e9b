package cluster

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"concordat"
	"concordat/index"
)

// TestNodePanics: if a question or document triggers a program fault, only its own call fails, the cause is not revealed, and the fault
// is logged once with its stack. The node does not count as absent, so the next node is not asked.
func TestNodePanics(t *testing.T) {
	var told []string
	c := &Copy{o: CopyOptions{Panicked: func(value any, stack []byte) { told = append(told, string(stack)) }}} // without an index
	a := shardAnswer{Shard: "00"}
	hs := &hosting{log: slog.New(slog.DiscardHandler)}
	hs.answerFrom(t.Context(), c, &a, &question{Ref: &concordat.Ref{}})
	if a.Status != shardRefused || !strings.HasPrefix(a.Words, "fault: ") || strings.Contains(a.Words, "nil pointer") {
		t.Errorf("a question that panics is answered by %+v", a)
	}
	_, err := c.operate(t.Context(), callWrite, operation{Sender: "s", Number: 1, Done: 1}, []index.Change{{Put: &concordat.Profile{}}})
	if !errors.Is(err, errFault) || repeatable(err) {
		t.Errorf("a document that panics: %v", err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "answerFrom") || !strings.Contains(told[1], "writeIn") {
		t.Errorf("%d panics were told, want 2 with their stacks: %s", len(told), told)
	}
	// Without a function that records a panic, the caller gets the panic.
	defer func() {
		if recover() == nil {
			t.Error("a panic was lost")
		}
	}()
	_, _ = (&Copy{}).writeIn(context.Background(), operation{}, []index.Change{{Put: &concordat.Profile{}}})
}
