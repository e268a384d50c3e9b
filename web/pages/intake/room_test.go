package intake_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// bytesBelow returns the total size of the files in a folder.
func bytesBelow(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // a file removed in the meantime has no size
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// smallDisk is a disk for most bytes of originals. The site is set before its first file.
type smallDisk struct {
	site **webtest.Site
	most int64
}

// CheckDisk implements intake.Disk.
func (s smallDisk) CheckDisk() error {
	if bytesBelow(filepath.Join((*s.site).Dir, "originals")) >= s.most {
		return concordat.ErrDiskFull
	}
	return nil
}

// TestRoomWhileFilesCome: free space is checked for every file and every MiB, so that simultaneous uploads do not fill the disk.
func TestRoomWhileFilesCome(t *testing.T) {
	t.Parallel()
	const most, senders = 4 << 20, 6
	var d *webtest.Site
	d = webtest.NewWith(t, true, func(o *web.Options) {
		o.MaxUpload = 8 << 20
		o.Disk = smallDisk{&d, most}
	})
	p := d.SignedIn(t, "olga", store.RoleOfficer).Program(people.Scopes...)
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{} // guarded by mu
	for i := range senders {
		all.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Base+"/api/v1/checks", nil)
			if err != nil {
				t.Error(err)
				return
			}
			webtest.WithFiles("", "a.txt", strings.Repeat(fmt.Sprint(i, "a "), 1<<20), "b.txt", strings.Repeat(fmt.Sprint(i, "b "), 1<<20))(r)
			r.Header.Set("Authorization", "Bearer "+p.Token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			codes[resp.StatusCode]++
		})
	}
	all.Wait()
	if n := bytesBelow(filepath.Join(d.Dir, "originals")); n > most+senders<<20 {
		t.Errorf("%d bytes on a disk that takes %d (%v)", n, most, codes)
	}
	if codes[http.StatusInsufficientStorage] < senders-2 || codes[http.StatusInsufficientStorage]+codes[http.StatusAccepted] != senders {
		t.Errorf("answers %v", codes)
	}
}
