package batch

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"concordat/align"
	"concordat/align/wording"
	"concordat/internal/suite"
)

// TestPreparedTexts: cached texts equal the results of align.Prepare, and the cache is bounded.
func TestPreparedTexts(t *testing.T) {
	var p preparedTexts
	alone := &batchWording{scope: wording.Scope{Held: &wording.Common{}, Of: 1}}
	text := func(i int) string {
		return strings.Repeat(fmt.Sprintf("Sentence %d is about barrels of salted fish from harbour %d. ", i, 3*i), 1+i%7)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 40 {
				got := align.Pair(p.of(alone, fmt.Sprint(i), text(i)).prepared, align.Prepare(text(i)), align.Options{})
				if len(got) != 1 || got[0].Similarity < 0.999 {
					t.Errorf("text %d compared with itself: %+v", i, got)
				}
			}
		})
	}
	wg.Wait()
	if first := p.of(alone, "1", text(1)); first != p.of(alone, "1", text(1)) {
		t.Error("a text is prepared twice")
	}
	t.Run("large", func(t *testing.T) {
		suite.Rest(t, "prepares texts of many megabytes, in two gigabytes of memory")
		large := strings.Repeat("a ", maxPrepared/6)
		for i := range 5 {
			p.of(alone, fmt.Sprint("large", i), large)
			kept := 0
			for _, k := range p.texts {
				kept += k.size
			}
			if kept != p.size || kept > maxPrepared {
				t.Fatalf("%d bytes kept, counted as %d, at most %d", kept, p.size, maxPrepared)
			}
		}
		if p.of(alone, "too large", strings.Repeat("a ", maxPrepared)); p.texts["too large"].member != nil {
			t.Error("a text above the bound is kept")
		}
	})
}
