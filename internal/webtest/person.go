package webtest

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat/store"
)

// HandBatch submits a batch of files, given as alternating names and contents, and returns the path of its page.
func (p *Person) HandBatch(want int, fields url.Values, files ...string) string {
	p.T.Helper()
	r := p.Form("/batches", fields, files...)
	resp, err := p.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		page, _ := io.ReadAll(resp.Body) // for the error message only
		p.T.Fatalf("a batch: %d, want %d\n%s", resp.StatusCode, want, page)
	}
	return resp.Request.URL.Path
}

func (p *Person) Wants(page string, parts ...string) {
	p.T.Helper()
	for _, want := range parts {
		if !strings.Contains(page, want) {
			p.T.Errorf("the page does not contain %q:\n%s", want, page)
		}
	}
}

// SendScript submits one file or text with a key, as upload.js does.
func (p *Person) SendScript(path, key string, want int, fields url.Values, files ...string) (out struct {
	Checks   []struct{ Title, Path string }
	Rejected []struct{ Name, Why string }
	Problem  string
	Retry    bool
}) {
	p.T.Helper()
	r := p.Form(path, fields, files...)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Idempotency-Key", key)
	if err := json.Unmarshal([]byte(p.Send(r, want)), &out); err != nil {
		p.T.Fatal(err)
	}
	return out
}

// misformatted matches fmt's output for a value that does not fit its message.
var misformatted = regexp.MustCompile(`%!([a-zA-Z]\(|\(EXTRA)[^<]{0,40}`)

// Person is a browser without JavaScript.
type Person struct {
	T *testing.T
	*http.Client
	Base string
}

func (d *Site) Visitor(t *testing.T) *Person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Person{t, &http.Client{Jar: jar}, d.URL}
}

// SignedIn makes an account with the role and signs it in.
func (d *Site) SignedIn(t *testing.T, name string, role store.Role) *Person {
	t.Helper()
	p := d.Visitor(t)
	ctx := t.Context()
	secret := "secret-of-" + name
	if err := d.Store.People.CreateAccount(ctx, store.Account{Name: name, Role: role, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := d.Store.People.PutToken(ctx, secret, store.Token{Purpose: store.PurposeSession, Account: name, Made: time.Now(),
		Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: secret, Path: "/"}})
	return p
}

// Get reads a page and expects a status.
func (p *Person) Get(path string, want int) string {
	p.T.Helper()
	return p.Send(p.Request(http.MethodGet, path, nil), want)
}

func (p *Person) Request(method, path string, body io.Reader) *http.Request {
	p.T.Helper()
	r, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+path, body)
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}

func (p *Person) Send(r *http.Request, want int) string {
	p.T.Helper()
	resp, err := p.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	if resp.StatusCode != want {
		p.T.Errorf("%s %s: %d, want %d\n%s", r.Method, r.URL.Path, resp.StatusCode, want, b)
	}
	if fault := misformatted.Find(b); fault != nil {
		p.T.Errorf("%s %s: the values of a message differ from those it shows: %s", r.Method, r.URL.Path, fault)
	}
	return string(b)
}

// Post sends a form.
func (p *Person) Post(path string, want int, fields url.Values) string {
	p.T.Helper()
	r := p.Request(http.MethodPost, path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.Send(r, want)
}

// Form returns a request with fields and files, given as alternating names and contents.
func (p *Person) Form(path string, fields url.Values, files ...string) *http.Request {
	p.T.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, values := range fields {
		for _, v := range values {
			if err := m.WriteField(name, v); err != nil {
				p.T.Fatal(err)
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		f, err := m.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(f, files[i+1])
		}
		if err != nil {
			p.T.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		p.T.Fatal(err)
	}
	r := p.Request(http.MethodPost, path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return r
}

// Upload submits files, given as alternating names and contents.
func (p *Person) Upload(want int, fields url.Values, files ...string) string {
	p.T.Helper()
	return p.Send(p.Form("/checks", fields, files...), want)
}
