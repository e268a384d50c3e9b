//go:build linux

package program

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/store"
	"concordat/view"
)

// archive returns a ZIP file made from alternating names and contents.
func archive(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for pair := range slices.Chunk(pairs, 2) {
		f, err := z.Create(pair[0])
		must(t, err)
		_, err = io.WriteString(f, pair[1])
		must(t, err)
	}
	must(t, z.Close())
	return b.String()
}

// docx returns a DOCX file with one paragraph.
func docx(t *testing.T, text string) string {
	t.Helper()
	return archive(t, "[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`+
		`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" `+
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>`+
			text+`</w:t></w:r></w:p></w:body></w:document>`)
}

// TestFilesLeftOut submits archives with lock and system files through the pages and the API, which both list those files. It also
// submits Moodle's download of all submissions, which becomes one submission per person.
func TestFilesLeftOut(t *testing.T) {
	t.Parallel()
	s := serveSite(t, newSite(t))
	const adding, joining, password = "another-token-of-a-test", "link-secret-of-a-test", "correct horse battery staple"
	now := time.Now()
	must(t, s.db.People.PutToken(t.Context(), adding, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "adding",
		Scopes: []string{"read", "check", "documents"}, Made: now, Expires: now.Add(time.Hour)}))
	must(t, s.db.People.CreateAccount(t.Context(), store.Account{Name: "bea", Role: store.RoleOfficer, Created: now}))
	must(t, s.db.People.PutToken(t.Context(), joining, store.Token{Purpose: store.PurposeJoin, Account: "bea", Made: now,
		Expires: now.Add(time.Hour)}))
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar}
	do := func(method, path, contentType string, body []byte, header ...string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+path, bytes.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", contentType)
		for pair := range slices.Chunk(header, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		resp, err := client.Do(r)
		must(t, err)
		defer func() { _ = resp.Body.Close() }() // the body was read to its end
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s\n%s", method, path, resp.Status, b)
		}
		return string(b)
	}
	api := func(method, path, name, content string, out any) {
		t.Helper()
		body, contentType := submission(t, name, content)
		if method == http.MethodGet {
			body, contentType = nil, ""
		}
		must(t, json.Unmarshal([]byte(do(method, "/api/v1"+path, contentType, body, "Authorization", "Bearer "+adding)), out))
	}
	ended := func(state concordat.State) bool {
		if state == concordat.TaskQueued || state == concordat.TaskRunning {
			time.Sleep(50 * time.Millisecond)
			return false
		}
		return true
	}
	clutter := []string{".DS_Store", "__MACOSX/._essay.txt", "~$x.docx", "Thumbs.db"}
	withClutter := func(pairs ...string) string {
		for _, name := range clutter {
			pairs = append(pairs, name, "\x00\x05\x16")
		}
		return archive(t, pairs...)
	}
	is := func(what string, got *concordat.LeftOut) {
		t.Helper()
		if got == nil || got.Count != len(clutter) || !slices.Equal(got.Names, clutter) {
			t.Errorf("%s: left out %v, want %q", what, got, clutter)
		}
	}
	one, two := withClutter("essay.txt", prose(3000)), withClutter("essay.txt", prose(3000), "notes.txt", prose(2000))

	for name, content := range map[string]string{"one.zip": one, "two.zip": two} {
		var submitted struct{ Checks []view.Check }
		api(http.MethodPost, "/checks", name, content, &submitted)
		check := submitted.Checks[0]
		for !ended(check.State) {
			api(http.MethodGet, "/checks/"+string(check.ID), "", "", &check)
		}
		is("API, check of "+name, check.LeftOut)
	}
	var plain struct{ Checks []view.Check }
	api(http.MethodPost, "/checks", "plain.zip", archive(t, "essay.txt", prose(3000)), &plain)
	check := plain.Checks[0]
	for !ended(check.State) {
		api(http.MethodGet, "/checks/"+string(check.ID), "", "", &check)
	}
	if check.LeftOut != nil {
		t.Errorf("an archive of one essay: left out %v", check.LeftOut)
	}

	var added struct {
		Documents []struct{ Outcome string }
		LeftOut   *concordat.LeftOut `json:"left_out"`
	}
	api(http.MethodPost, "/libraries/l/documents", "two.zip", two, &added)
	is("API, addition", added.LeftOut)
	if len(added.Documents) != 2 {
		t.Errorf("added %v, want two documents", added.Documents)
	}

	var batch struct {
		view.Batch
		Documents []struct{ Document, Group, Error string }
	}
	copied := strings.TrimSpace(prose(3000))
	api(http.MethodPost, "/batches", "all.zip", withClutter("Ada Lovelace_123_assignsubmission_file_/essay.docx", docx(t, copied),
		"Ada Lovelace_123_assignsubmission_file_/draft.docx", docx(t, copied),
		"Alan Turing_124_assignsubmission_file_/essay.docx", docx(t, copied)), &batch)
	for !ended(batch.State) {
		api(http.MethodGet, "/batches/"+batch.ID, "", "", &batch)
	}
	is("API, batch", batch.LeftOut)
	people := map[string]int{}
	for _, d := range batch.Documents {
		if d.Error != "" {
			t.Errorf("%s: %s", d.Document, d.Error)
		}
		people[d.Group]++
	}
	if len(people) != 2 || people["Ada Lovelace_123"] != 2 || people["Alan Turing_124"] != 1 {
		t.Errorf("documents by submitter: %v", people)
	}

	do(http.MethodPost, "/join", "application/x-www-form-urlencoded",
		[]byte(url.Values{"key": {joining}, "password": {password}, "again": {password}}.Encode()))
	said := map[string]string{"en": "4 hidden, lock or system files were left out: .DS_Store, __MACOSX/._essay.txt, ~$x.docx, Thumbs.db.",
		"de": "4 Dateien (versteckte, Sperr- oder Systemdateien) wurden ausgelassen: .DS_Store, __MACOSX/._essay.txt, ~$x.docx, Thumbs.db.",
		"zh": "已略过 4 个隐藏、锁定或系统文件：.DS_Store，__MACOSX/._essay.txt，~$x.docx，Thumbs.db。"}
	pages := []string{"/batches/" + batch.ID}
	for _, name := range []string{"one.zip", "two.zip"} {
		content := map[string]string{"one.zip": one, "two.zip": two}[name]
		body, contentType := submission(t, name, content)
		var answer struct{ Checks []struct{ Path string } }
		must(t, json.Unmarshal([]byte(do(http.MethodPost, "/checks", contentType, body, "Accept", "application/json")), &answer))
		path := answer.Checks[0].Path
		now := view.Check{State: concordat.TaskQueued}
		for !ended(now.State) {
			api(http.MethodGet, "/checks"+strings.TrimPrefix(path, "/checks"), "", "", &now)
			if now.State == "" {
				t.Fatalf("no check at %s", path)
			}
		}
		pages = append(pages, path)
		if name == "two.zip" {
			pages = append(pages, "/checks?in="+strings.TrimPrefix(path, "/checks/"))
		}
	}
	body, contentType := submission(t, "two.zip", two)
	do(http.MethodPost, "/libraries/l/documents", contentType, body)
	for tasks := 0; tasks == 0; {
		ts, err := s.db.Checks.FilterTasks(t.Context(), store.TaskFilter{Batch: store.AddingBatch + "l"}, 0, 10)
		must(t, err)
		if len(ts) != 1 {
			t.Fatalf("additions %v", ts)
		}
		if ended(ts[0].State) {
			tasks++
		}
	}
	for _, path := range append(pages, "/libraries/l/additions") {
		for language, want := range said {
			if page := do(http.MethodGet, path, "", nil, "Accept-Language", language); !strings.Contains(page, want) {
				t.Errorf("%s in %s does not say %q", path, language, want)
			}
		}
	}
}
