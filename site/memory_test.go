package site_test

import (
	"context"
	"runtime/metrics"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
)

// TestMemoryIsGivenBack: when a task with a large file has ended, its memory is returned to the system and not kept for the next task.
func TestMemoryIsGivenBack(t *testing.T) {
	const much = 400 << 20
	p, q := sitetest.NewQueue(t, func(context.Context, site.Job) ([]site.Item, error) {
		read := make([]byte, much)
		for i := 0; i < len(read); i += 4096 {
			read[i] = byte(i)
		}
		return []site.Item{{Submission: site.Submission{ID: "large.txt", Text: sitetest.Folios}}}, nil
	})
	large := sitetest.Submit(t, q, site.Job{Name: "large.txt", File: "large"})
	stop := sitetest.StartQueue(t, q)
	if state, cause := sitetest.Await(t, p, q, large); state != concordat.TaskDone {
		t.Fatalf("the check is %s: %s", state, cause)
	}
	stop() // waits for the worker, whose last action is to return the memory
	m := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(m)
	if held := m[0].Value.Uint64() + m[1].Value.Uint64(); held > much/2 {
		t.Errorf("the process holds %d MiB after a task that took %d", held>>20, much>>20)
	}
}
