package daemon

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat/instance"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/settings"
)

// staleDocument matches the beginning of the metadata of a document of the library theses, by the present definition of cells.
var staleDocument = regexp.MustCompile(`(?s)\x04(\x01\x01[\x00-\x7f].{2,12}\x06theses)`)

// makeStale makes all documents of a closed site look as if an earlier version had indexed them.
func makeStale(t *testing.T, dir string, documents int) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, instance.IndexName, "00", "store", "*.zap"))
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, path := range segments {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		body := b[:len(b)-crc32.Size]
		made += len(staleDocument.FindAll(body, -1))
		body = staleDocument.ReplaceAll(body, []byte("\x03$1"))
		b = binary.BigEndian.AppendUint32(body, crc32.ChecksumIEEE(body))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if made != documents {
		t.Fatalf("%d documents look stale, want %d", made, documents)
	}
}

// TestStaleRenewed: after an upgrade that changes the definition of cells, the settings and the API count the documents of the earlier
// version, and a button renews them in the background.
func TestStaleRenewed(t *testing.T) {
	o := openTestSite(t, instance.WithIndex)
	addTheses(t, o, 7)
	dir := o.Dir
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	makeStale(t, dir, 7)
	o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(o, Options{}).meaning
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &webtest.Settable{Values: map[string]string{"meaning.leads": "on"}}
	d := webtest.NewWith(t, true, func(wo *web.Options) {
		s.Use(wo)
		wo.Meaning = m
	})
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	const button, notice = `value="index"`, "Documents indexed by an earlier version: 7."
	shown := func() (page string, index settings.MeaningIndex) {
		t.Helper()
		var got settings.Meaning
		ada.Program("read").Call("GET", "/api/v1/admin/meaning", http.StatusOK, &got)
		return ada.Get("/admin/settings", http.StatusOK), got.Index
	}
	page, index := shown()
	ada.Wants(page, notice, button, "Renew the index", "The index contains all documents (7).")
	if index.Stale != 7 || index.Lacking != 0 || index.Documents != 7 {
		t.Errorf("all documents are stale: %+v", index)
	}
	st, err := o.CheckIndex(t.Context(), false)
	if err != nil || st.Stale != 7 || st.Lacking+st.MayLack+st.Superfluous > 0 || st.Fault != "" {
		t.Errorf("the check of the index: %+v, %v", st, err)
	}
	ada.Post("/admin/meaning", http.StatusOK, url.Values{"action": {"index"}})
	for begun := time.Now(); index.Stale > 0 || index.Making; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("not renewed: %+v", index)
		}
		_, index = shown()
	}
	page, _ = shown()
	ada.Wants(page, "The index contains all documents (7).")
	if strings.Contains(page, button) || strings.Contains(page, "earlier version") {
		t.Error("renewed documents are offered for renewal")
	}
	if st, err := o.CheckIndex(t.Context(), false); err != nil || st.Stale+st.Lacking+st.MayLack+st.Superfluous > 0 {
		t.Errorf("the check of the renewed index: %+v, %v", st, err)
	}
}
