package webtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/client"
	"concordat/people"
	"concordat/store"
)

// DescribedTransport is a transport that checks every answer against the OpenAPI document.
type DescribedTransport struct{ T *testing.T }

func (h DescribedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(b))
	if err == nil {
		described(h.T, "", r, resp, b)
	}
	return resp, err
}

// Client signs a person in and returns a client that has a token with all scopes.
func (d *Site) Client(t *testing.T, name string, role store.Role, scopes ...string) *client.Client {
	t.Helper()
	if scopes == nil {
		scopes = people.Scopes
	}
	token := d.SignedIn(t, name, role).Program(scopes...).Token
	c, err := client.New(client.Options{Address: d.URL, Token: token, HTTP: &http.Client{Transport: DescribedTransport{t}},
		Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Must fails the test on an error.
func Must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// WantKind expects a refusal of the given kind.
func WantKind(t *testing.T, err error, kind string) {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) || p.Kind() != kind {
		t.Errorf("got %v, want a problem of kind %s", err, kind)
	}
}

// Program makes a token on the account page and returns a program that uses it.
func (p *Person) Program(scopes ...string) *Program {
	p.T.Helper()
	fields := url.Values{"name": {"portal <1>"}, "scope": scopes}
	if slices.Contains(scopes, "inbox") {
		fields.Set("origins", "https://repository.example")
	}
	return p.ProgramOf(fields)
}

// ProgramOf makes a token from the fields of a form.
func (p *Person) ProgramOf(fields url.Values) *Program {
	p.T.Helper()
	page := p.Post("/account/tokens", http.StatusOK, fields)
	token := regexp.MustCompile(`concordat_[A-Z2-7]+`).FindString(page)
	if token == "" || strings.Contains(page, "<1>") {
		p.T.Fatalf("the token is missing or contains markup:\n%s", page)
	}
	return &Program{p.T, p.Base, token}
}

// Program is a client of the HTTP interface.
type Program struct {
	T           *testing.T
	Base, Token string
}

// Call sends a request, expects a status and decodes the answer into out.
func (p *Program) Call(method, path string, want int, out any, change ...func(*http.Request)) {
	p.T.Helper()
	r, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+path, nil)
	if err != nil {
		p.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	if resp.StatusCode != want {
		p.T.Errorf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, b)
	}
	described(p.T, p.Base, r, resp, b)
	if want >= 400 && resp.Header.Get("Content-Type") != "application/problem+json" {
		p.T.Errorf("%s %s: the problem has type %s", method, path, resp.Header.Get("Content-Type"))
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			p.T.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
}

type Check struct {
	ID     concordat.TaskID
	State  concordat.State
	Title  string
	Owner  string
	Batch  string
	Report string
	Ahead  *int
}

type Problem struct {
	Type, Detail string
	Status       int
}

// WithFiles makes a request submit files, given as alternating names and contents.
func WithFiles(key string, files ...string) func(*http.Request) {
	return func(r *http.Request) {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			f, err := m.CreateFormFile("file", files[i])
			if err == nil {
				_, err = io.WriteString(f, files[i+1])
			}
			if err != nil {
				panic(err) // writing to a buffer cannot fail
			}
		}
		if err := m.Close(); err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", m.FormDataContentType())
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		r.Body = io.NopCloser(&b)
	}
}

// Exchange sends a request with a body and returns the answer, if it has one.
func (p *Program) Exchange(method, path, body string, want int) map[string]any {
	p.T.Helper()
	r, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		p.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		p.T.Errorf("%s %s: %d, want %d\n%s", method, path, resp.StatusCode, want, text)
	}
	var out map[string]any
	if len(text) > 0 && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(text, &out); err != nil {
			p.T.Error(err)
		}
	}
	return out
}

// JSON is like call, with a body.
func (p *Program) JSON(method, path, body string, want int, out any) {
	p.T.Helper()
	if out == nil && want >= 400 {
		out = &Problem{}
	}
	p.Call(method, path, want, out, func(r *http.Request) {
		if body != "" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Type", "application/json")
		}
	})
}
