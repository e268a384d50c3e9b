package reports_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestReportCache: each reader gets the requested report, whatever is evicted in between and however many people read at the same time,
// and the cache stays within its limit.
func TestReportCache(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	const tasks, bound = 6, 300 << 10 // two or three reports
	for i := range tasks {
		f := webtest.Thesis(t, 20_000, 10+i, 5)
		f.Submission.Title = fmt.Sprintf("Thesis %d.", i)
		d.AddFinished(t, concordat.TaskID(fmt.Sprint("t", i)), "ada", f)
	}
	d.Web.Cache.Bound(bound)
	readers := make([]*webtest.Person, 4)
	for i := range readers {
		readers[i] = d.SignedIn(t, fmt.Sprint("reader", i), store.RoleAuditor)
	}
	var wait sync.WaitGroup
	for i, p := range readers {
		wait.Go(func() {
			for k := range 3 * tasks {
				n := (i*5 + k*7) % tasks
				page := p.Get(fmt.Sprintf("/checks/%s/passages/%d", concordat.TaskID(fmt.Sprint("t", n)), 1+k%10), http.StatusOK)
				if !strings.Contains(page, fmt.Sprintf("Thesis %d.", n)) || !strings.Contains(page, fmt.Sprintf("of %d</h1>", 10+n)) {
					t.Errorf("another report than that of task %d", n)
				}
				if kept := d.Web.Cache.Size(); kept < 0 || kept > bound {
					t.Errorf("%d bytes are kept, at most %d", kept, bound)
				}
			}
		})
	}
	wait.Wait()
}
