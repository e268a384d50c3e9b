//go:build linux

package program

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/extract/sandbox"
	"concordat/store"
)

// TestMadePages: LibreOffice renders the pages of a submitted DOCX once, one of its passages is found on them, and deleting the check
// removes file and pages.
func TestMadePages(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.FindOffice(sandbox.OfficeOptions{}); err != nil {
		t.Skipf("%v: install libreoffice-writer-nogui", err)
	}
	p := newPlace(t, "site")
	p.command(cli.Done, "library", "create", "l")
	p.command(cli.Done, "add", "--library", "l", "../../../demo/library/calls")
	s := serveSite(t, p.dir)
	now := time.Now()
	const token = "token-of-one-who-reads-pages"
	if err := s.db.People.PutToken(t.Context(), token, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "pages",
		Scopes: []string{"read", "check", "erase"}, Made: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	essay, err := os.ReadFile("../../../demo/submission/shared-evidence-commons.docx")
	if err != nil {
		t.Fatal(err)
	}
	if code, answer := s.submit("once", "essay.docx", string(essay)); code != http.StatusAccepted {
		t.Fatal(code, answer)
	}
	task := s.only()
	ask := func(method, path string, body []byte) []byte {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+"/api/v1"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v\n%s", method, path, resp.StatusCode, b, err, s.log)
		}
		return b
	}
	for range 2 {
		var page struct {
			Page, Pages int
			Sure        bool
			Marks       []any
			Image       []byte
		}
		if err := json.Unmarshal(ask(http.MethodGet, "/checks/"+string(task.ID)+"/pages/0?passage=1", nil), &page); err != nil {
			t.Fatal(err)
		}
		if page.Pages < 3 || !page.Sure || len(page.Marks) == 0 || !bytes.HasPrefix(page.Image, []byte("\x89PNG")) {
			t.Errorf("page %d of %d, sure %v, %d marks, %d bytes", page.Page, page.Pages, page.Sure, len(page.Marks), len(page.Image))
		}
		if kept := s.originals(); len(kept) != 2 || !strings.HasSuffix(kept[0]+kept[1], ".pdf") {
			t.Errorf("kept are %v", kept)
		}
	}
	erase, err := json.Marshal(map[string]any{"tasks": []string{string(task.ID)}, "reason": "a test"})
	if err != nil {
		t.Fatal(err)
	}
	ask(http.MethodPost, "/deletions", erase)
	for end := time.Now().Add(time.Minute); len(s.originals()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left is %v", s.originals())
		}
	}
}
