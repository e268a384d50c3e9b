package intake_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// TestUploadBombs: the site rejects too many parts, overlong fields and overlong headers, and stores nothing from them.
func TestUploadBombs(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "olga", store.RoleOfficer)
	form := func(fill func(*multipart.Writer)) *http.Request {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		fill(m)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		r := p.Request(http.MethodPost, "/checks", &b)
		r.Header.Set("Content-Type", m.FormDataContentType())
		return r
	}
	p.Send(form(func(m *multipart.Writer) {
		for i := range 10_000 {
			w, err := m.CreateFormFile("file", fmt.Sprint(i, ".txt"))
			if err == nil {
				_, err = io.WriteString(w, "x")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}), http.StatusBadRequest)
	p.Send(form(func(m *multipart.Writer) {
		for range 100_000 {
			if err := m.WriteField("library", "x"); err != nil {
				t.Fatal(err)
			}
		}
	}), http.StatusBadRequest)
	p.Send(form(func(m *multipart.Writer) {
		if err := m.WriteField("text", strings.Repeat("x", 5<<20)); err != nil {
			t.Fatal(err)
		}
	}), http.StatusBadRequest)
	p.Send(form(func(m *multipart.Writer) {
		h := map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + strings.Repeat("x", 1<<20) + `"`}}
		w, err := m.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(w, "x")
		}
		if err != nil {
			t.Fatal(err)
		}
	}), http.StatusOK) // the name is truncated
	r := p.Request(http.MethodGet, "/checks", nil)
	r.Header.Set("X-Long", strings.Repeat("x", 2<<20))
	resp, err := p.Do(r)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 2 MiB: %d", resp.StatusCode)
		}
	}
	r = p.Request(http.MethodPost, "/checks", strings.NewReader("--x\r\nnonsense"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	p.Send(r, http.StatusBadRequest)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) > 1 {
		t.Errorf("%d checks came of it, %v", len(tasks), err)
	}
}

// TestCharacters: a text is charged when it has been read, and a check beyond the quota ends with an explanation.
func TestCharacters(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, false, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Characters: 200}}}
	})
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	p.Upload(http.StatusOK, nil, "one.txt", webtest.Folios)
	p.Upload(http.StatusOK, nil, "two.txt", webtest.Folios)
	ids := d.Await(t)
	if page := p.Get("/checks/"+string(ids["two.txt"]), http.StatusOK); !strings.Contains(page,
		"Quota of characters in 24 hours: 56 of 200 left; try again at 2") {
		t.Errorf("no words about the quota:\n%s", page)
	}
}

// TestLostUploads: an upload that is rejected after it was read is still charged, so rejected uploads cannot fill the disk.
func TestLostUploads(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Bytes: 100_000}}}
	})
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	for i := range 2 {
		p.Upload(http.StatusBadRequest, url.Values{"template": {"none such"}}, "one.txt", strings.Repeat(strconv.Itoa(i), 50_000))
	}
	p.Upload(http.StatusTooManyRequests, nil, "one.txt", "one")
	d.SignedIn(t, "bo", store.RoleSubmitter).Upload(http.StatusOK, nil, "one.txt", "one")
}

// TestArchives: the members of an archive are charged, and an archive with more members than may be queued is rejected.
func TestArchives(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, false, func(o *web.Options) {
		o.Policy = web.Policy{Accounts: people.Policy{Quota: people.Quota{Documents: 4, Open: 3}}}
	})
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	p.Upload(http.StatusOK, nil, "five.many", "a b c d e")
	if page := p.Get("/checks/"+string(d.Await(t)["five.many"]), http.StatusOK); !strings.Contains(page, "3 checks are allowed at once") {
		t.Errorf("five members:\n%s", page)
	}
	p.Upload(http.StatusOK, nil, "three.many", "a b c")
	d.Await(t)
	d.Await(t) // wait for the members
	p.Upload(http.StatusTooManyRequests, nil, "one.txt", "one")
}
