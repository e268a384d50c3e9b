package limit

import (
	"fmt"
	"testing"
	"time"
)

// TestKeysAreBounded: who comes from ever new addresses costs no more memory than the bound, and only who was idle longest
// is forgotten.
func TestKeysAreBounded(t *testing.T) {
	now := time.Unix(1_780_000_000, 0)
	l := &Limiter{Now: func() time.Time { return now }, Window: time.Hour, keys: 3}
	count := func(key string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count(key)
	}
	for _, key := range []string{"a", "b", "c", "a", "d"} {
		count(key)
	}
	for key, want := range map[string]int{"a": 2, "b": 0, "c": 1, "d": 1} {
		n := 0
		if c := l.by[key]; c != nil {
			n = c.Value.(*counted).n
		}
		if n != want {
			t.Errorf("%s is counted %d times, want %d", key, n, want)
		}
	}
	l.keys = 0
	for i := range mostKeys + 50 {
		count(fmt.Sprint(i))
	}
	if len(l.by) != mostKeys || l.order.Len() != mostKeys {
		t.Errorf("%d keys, %d in order, want %d", len(l.by), l.order.Len(), mostKeys)
	}
}
