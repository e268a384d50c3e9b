package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
)

// described describes an API with one call of each kind.
const described = `{"paths": {"/api/v1/things/{id}": {
	"get": {"x-concordat-roles": ["administrator"], "x-concordat-scope": "read"},
	"put": {"x-concordat-roles": ["administrator"], "x-concordat-scope": "check", "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}},
	"components": {"schemas": {"Thing": {"properties": {"words": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}}}}}}`

// against returns a target whose API answers calls about things with h, and which otherwise behaves like a site.
func against(t *testing.T, h http.HandlerFunc) *target {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, described) })
	mux.HandleFunc("POST /api/v1/tokens", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"secret":"reader"}`) })
	mux.HandleFunc("GET /api/v1/tokens", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"tokens":[]}`) })
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/api/v1/things/{id}", h)
	mux.HandleFunc("POST /api/v1/webhooks", h)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("admin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := newTarget(t.Context(), options{site: s.URL, tokenFile: path})
	if err != nil {
		t.Fatal(err)
	}
	x.random, x.end = rand.New(rand.NewPCG(1, 2)), time.Now().Add(time.Minute)
	return x
}

func faultsOf(t *testing.T, x *target, f func(context.Context, *target, *result) error) *result {
	t.Helper()
	var r result
	if err := f(t.Context(), x, &r); err != nil {
		t.Fatal(err)
	}
	if r.tries == 0 {
		t.Error("nothing was tried")
	}
	return &r
}

// TestBodies: a site passes if it quickly refuses bodies, but not if it echoes them, accepts them, breaks or is slow.
func TestBodies(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusUnprocessableEntity) }
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, body []byte)
		want   string
	}{
		"refuses": {refuse, ""},
		"echoes": {func(w http.ResponseWriter, b []byte) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(b)
		}, "response has"},
		"takes": {func(w http.ResponseWriter, _ []byte) {}, "accepted with status"},
		"breaks": {func(w http.ResponseWriter, b []byte) {
			if bytes.Contains(b, []byte("1e999")) {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			refuse(w, b)
		}, "500"},
		"closes": {func(w http.ResponseWriter, b []byte) {
			if len(b) > 1<<20 {
				panic(http.ErrAbortHandler)
			}
			refuse(w, b)
		}, "request failed"},
	} {
		x := against(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			c.answer(w, b)
		})
		r := faultsOf(t, x, attackBodies)
		if c.want == "" && len(r.faults) > 0 || c.want != "" && !strings.Contains(strings.Join(r.faults, "\n"), c.want) {
			t.Errorf("a site that %s: faults %q, want %q", name, r.faults, c.want)
		}
	}
}

// TestTimeOver: an attack that hangs is interrupted, is not a finding, and is not reported as withstood; later attacks keep their time.
// None of this applies to an attack that ends, or that has already found something.
func TestTimeOver(t *testing.T) {
	for _, c := range []struct {
		name    string
		hangs   func(r *http.Request) bool
		answers int
		words   []string // how the lines on rights, hooks and bodies start
		want    error
	}{
		{"nothing hangs", func(*http.Request) bool { return false }, 401, []string{"held", "held", "held"}, nil},
		{"rights hang", func(r *http.Request) bool { return r.Header.Get("Authorization") != "Bearer admin" }, 401,
			[]string{"cut short", "held", "held"}, errTime},
		{"hooks hang", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "webhooks") }, 401,
			[]string{"held", "cut short", "held"}, errTime},
		{"bodies take long", func(r *http.Request) bool {
			if r.Method == http.MethodPut && r.Header.Get("Authorization") == "Bearer admin" {
				time.Sleep(200 * time.Millisecond)
			}
			return false
		}, 401, []string{"held", "held", "held so far"}, errTime},
		{"rights hang and bodies are taken", func(r *http.Request) bool { return r.Header.Get("Authorization") != "Bearer admin" }, 200,
			[]string{"cut short", "held", "NOT HELD"}, nil},
	} {
		x := against(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise, the server does not notice that the caller has disconnected
			if c.hangs(r) {
				<-r.Context().Done()
			}
			if strings.HasSuffix(r.URL.Path, "webhooks") {
				w.WriteHeader(http.StatusUnprocessableEntity)
				return
			}
			w.WriteHeader(c.answers)
		})
		token := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(token, []byte("admin"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		held, err := run(t.Context(), options{site: x.base, tokenFile: token, lasts: 3 * time.Second, grace: 3 * time.Second, seed: 1}, &out)
		if !errors.Is(err, c.want) || held != (err == nil && !strings.Contains(out.String(), "NOT HELD")) {
			t.Errorf("%s: held %v, %v\n%s", c.name, held, err, &out)
		}
		for i, name := range []string{"rights", "hooks", "bodies"} {
			m := regexp.MustCompile(`(?m)^(.*) ` + name + ` `).FindStringSubmatch(out.String())
			if m == nil || strings.TrimSpace(m[1]) != c.words[i] {
				t.Errorf("%s: %s is not %q:\n%s", c.name, name, c.words[i], &out)
			}
		}
	}
}

// TestPlan: each attack has its share of the time regardless of earlier ones, and more if they used less.
func TestPlan(t *testing.T) {
	p := plan{lasts: 100 * time.Second, shares: []float64{0.1, 0.2, 0.1, 0.1}} // half of the total, as with -only
	for i, step := range []struct{ has, took time.Duration }{{20, 50}, {40, 10}, {35, 35}, {35, 0}} {
		if got := p.next(); got != step.has*time.Second {
			t.Errorf("attack %d has %s, want %d s", i, got, step.has)
		}
		p.took(step.took * time.Second)
	}
}

// TestRights: a site that allows a read-only token to write does not pass.
func TestRights(t *testing.T) {
	for name, c := range map[string]struct {
		lets func(r *http.Request) bool
		want int
	}{
		"asks for the token":      {func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer admin" }, 0},
		"does not ask for scopes": {func(r *http.Request) bool { return strings.HasSuffix(r.Header.Get("Authorization"), "r") }, 1},
		"lets strangers read":     {func(r *http.Request) bool { return r.Method == http.MethodGet }, 3},
	} {
		x := against(t, func(w http.ResponseWriter, r *http.Request) {
			if !c.lets(r) {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
		if r := faultsOf(t, x, attackRights); len(r.faults) != c.want {
			t.Errorf("a site that %s: faults %q, want %d", name, r.faults, c.want)
		}
	}
}

// TestSearch finds a word in plain bytes, in a zstd frame and in a snappy block surrounded by other bytes, and no other
// word.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	text := func(w string) []byte { return bytes.Repeat([]byte("The harbour of "+w+" was frozen. "), 30) }
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	around := func(b []byte) []byte { return append(append([]byte{7, 0, 255, 3}, b...), 1, 2, 3) }
	for name, b := range map[string][]byte{
		"plain": around(text("mkplain")), "frame": around(e.EncodeAll(text("mkframe"), nil)),
		"block": around(snappy.Encode(nil, text("mkblock"))),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := search(t.Context(), dir, [][]byte{[]byte("mkplain"), []byte("mkframe"), []byte("mkblock"), []byte("mkother")})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 3 || len(found["mkplain"]) == 0 || len(found["mkframe"]) == 0 || len(found["mkblock"]) == 0 {
		t.Errorf("found %v", found)
	}
}

// TestUnsnap reads every block that snappy writes, and does not fail on any bytes.
func TestUnsnap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := make([]byte, 10+r.IntN(70_000))
		for i := range b {
			b[i] = byte('a' + r.IntN(3)*r.IntN(9))
		}
		packed := snappy.Encode(nil, b)
		if got := unsnap(append(packed, 9, 9, 9), 10); !bytes.Equal(got[:min(len(got), len(b))], b) {
			t.Fatalf("%d bytes come out as %d others", len(b), len(got))
		}
		packed[r.IntN(len(packed))] ^= 1 << r.IntN(8)
		unsnap(packed[:r.IntN(len(packed))], 10)
	}
}

// TestFilesAreFiles: the submitted archives and documents are readable, so the attacks test their contents.
func TestFilesAreFiles(t *testing.T) {
	b, err := nested(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil || len(z.File) != 3 {
			t.Fatalf("an archive of three: %v", err)
		}
		f, err := z.File[2].Open()
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(string(b), "A text") {
		t.Errorf("within stands %q", b)
	}
	x := &target{random: rand.New(rand.NewPCG(5, 6))}
	for n := range 60 {
		if name, b, err := x.mutated(n); err != nil || len(b) == 0 && !strings.Contains(name, ".") {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// TestCheckSite: only the address of a site is accepted.
func TestCheckSite(t *testing.T) {
	for s, good := range map[string]bool{
		"https://check.example.edu": true, "http://127.0.0.1:8420/": true, "": false, "check.example.edu": false, "ftp://x": false,
		"https://a:b@x": false, "https://x/?q": false, "https://": false,
	} {
		if _, err := checkSite(s); (err == nil) != good {
			t.Errorf("%q: %v", s, err)
		}
	}
	if _, err := run(t.Context(), options{site: "https://127.0.0.1:1", tokenFile: filepath.Join(t.TempDir(), "none")},
		io.Discard); err == nil {
		t.Error("attacked without a token")
	}
}
