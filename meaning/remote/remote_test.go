package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat/meaning/remote"
)

// serve answers like an embedding server. Each vector has two numbers derived from a text's length, with the last text first.
func serve(t *testing.T, seen func(*http.Request, []string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		seen(r, append([]string{q.Model}, q.Input...))
		var data []string
		for i := len(q.Input) - 1; i >= 0; i-- {
			data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,4]}`, i, len(q.Input[i])))
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// answer serves the same body for every request and counts the requests.
func answer(t *testing.T, status int, body string) (string, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, &n
}

func encoder(t *testing.T, o remote.Options) *remote.Encoder {
	t.Helper()
	e, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEncode: texts are sent in batches with their prefix, equal ones only once; vectors are returned in order, with length 1.
func TestEncode(t *testing.T) {
	var mu sync.Mutex
	var asked [][]string
	url := serve(t, func(r *http.Request, q []string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/v1/embeddings" {
			t.Errorf("request %s %v", r.URL, r.Header)
		}
	})
	e := encoder(t, remote.Options{URL: url, Model: "m", Key: "secret", Prefix: "q: ", Batch: 2, Dimensions: 2})
	got, sent, err := e.Encode(context.Background(), []string{"", "abc", "", "abcdef"})
	if err != nil {
		t.Fatal(err)
	}
	for i, first := range []float64{3. / 5, 6 / math.Hypot(6, 4), 3. / 5, 9 / math.Hypot(9, 4)} {
		if math.Abs(float64(got[i][0])-first) > 1e-6 {
			t.Errorf("vector %d: %v, want first %v", i, got[i], first)
		}
	}
	if fmt.Sprint(asked) != "[[m q:  q: abc] [m q: abcdef]]" {
		t.Errorf("asked %q", asked)
	}
	if s := e.Spent(); sent != 3 || s.Texts != 3 || s.Requests != 2 || s.Failures != 0 {
		t.Errorf("spent %+v", s)
	}
}

// TestNonsense: any answer without vectors for the texts is an error.
func TestNonsense(t *testing.T) {
	vector := func(s string) string { return `{"data":[` + s + `]}` }
	for name, body := range map[string]string{
		"none": vector(""), "no JSON": "<html>", "too many": vector(`{"embedding":[1,2]},{"embedding":[1,2]},{"embedding":[1,2]}`),
		"lengths": vector(`{"embedding":[1,2]},{"embedding":[1]}`), "empty": vector(`{"embedding":[]},{"embedding":[]}`),
		"zero": vector(`{"embedding":[0,0]},{"embedding":[1,1]}`), "huge": vector(`{"embedding":[1e300,1e300]},{"embedding":[1,1]}`),
		"index": vector(`{"index":2,"embedding":[1,2]},{"embedding":[1,2]}`), "twice": vector(`{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}`),
		"words": vector(`{"embedding":["a"]},{"embedding":[1]}`), "long": strings.Repeat(" ", 2<<20),
	} {
		url, _ := answer(t, 200, body)
		v, _, err := encoder(t, remote.Options{URL: url}).Encode(context.Background(), []string{"a", "b"})
		if !errors.Is(err, remote.ErrNonsense) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// TestDimensions: a server whose vectors change in length is not trusted.
func TestDimensions(t *testing.T) {
	n := 2
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"embedding":[1%s]}]}`, strings.Repeat(",1", n-1))
		n++
	}))
	defer s.Close()
	e := encoder(t, remote.Options{URL: s.URL})
	if _, _, err := e.Encode(context.Background(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Encode(context.Background(), []string{"b"}); !errors.Is(err, remote.ErrNonsense) {
		t.Errorf("got %v", err)
	}
}

// TestRest: after a failure, no request is sent for a while, longer each time; a successful answer ends the pauses.
func TestRest(t *testing.T) {
	url, asked := answer(t, 503, `{"error":{"message":"model is loading"}}`)
	now := time.Now()
	e := encoder(t, remote.Options{URL: url, Now: func() time.Time { return now }})
	once := func() error { _, _, err := e.Encode(context.Background(), []string{"a"}); return err }
	for i, rest := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		if err := once(); !errors.Is(err, remote.ErrUnavailable) || !strings.Contains(err.Error(), "model is loading") {
			t.Fatal(err)
		}
		now = now.Add(rest*time.Second - 1)
		if err := once(); !errors.Is(err, remote.ErrPaused) {
			t.Fatal(i, err)
		}
		if now = now.Add(1); asked.Load() != int64(i+1) {
			t.Fatalf("%d questions after %d", asked.Load(), i+1)
		}
	}
}

// TestGivingUp: a request cancelled by the caller does not count as a failure of the server.
func TestGivingUp(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		stop()
		<-r.Context().Done()
	}))
	defer s.Close()
	e := encoder(t, remote.Options{URL: s.URL})
	if _, _, err := e.Encode(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if s := e.Spent(); s.Failures != 0 {
		t.Errorf("spent %+v", s)
	}
}

// TestSlow: a server that is too slow is unavailable.
func TestSlow(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer s.Close()
	e := encoder(t, remote.Options{URL: s.URL, Timeout: 20 * time.Millisecond})
	if _, _, err := e.Encode(context.Background(), []string{"a"}); !errors.Is(err, remote.ErrUnavailable) {
		t.Error(err)
	}
}

// TestSent: texts count as sent once a server has received them, whatever it does with them, but not if no server accepted them or no
// request was made.
func TestSent(t *testing.T) {
	now := time.Now()
	nonsense, _ := answer(t, 200, "{}")
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for url, want := range map[string]int{nonsense: 2, down.URL: 0} {
		e := encoder(t, remote.Options{URL: url, Now: func() time.Time { return now }})
		for _, want := range []int{want, 0} { // paused the second time
			if _, sent, err := e.Encode(context.Background(), []string{"a", "b", "a"}); err == nil || sent != want {
				t.Errorf("%s: %d went out, want %d: %v", url, sent, want, err)
			}
		}
	}
	url, _ := answer(t, 200, `{"data":[{"embedding":[1]}]}`)
	e := encoder(t, remote.Options{URL: url, Batch: 1})
	if _, sent, err := e.Encode(context.Background(), []string{"a", "b"}); err != nil || sent != 2 {
		t.Errorf("%d went out: %v", sent, err)
	}
	if a, b := e.Recipe(), encoder(t, remote.Options{URL: url, Prefix: "q: "}).Recipe(); a == b {
		t.Errorf("two recipes are %s", a)
	}
}

// TestRedirection: texts are not sent to the target of a redirect.
func TestRedirection(t *testing.T) {
	other, asked := answer(t, 200, "")
	s := httptest.NewServer(http.RedirectHandler(other, http.StatusTemporaryRedirect))
	defer s.Close()
	if _, _, err := encoder(t, remote.Options{URL: s.URL}).Encode(context.Background(), []string{"a"}); !errors.Is(err, remote.ErrRefused) {
		t.Error(err)
	}
	if asked.Load() != 0 {
		t.Error("the other place was asked")
	}
}

// TestOptions: invalid options are reported before anything is sent.
func TestOptions(t *testing.T) {
	for url, want := range map[string]string{
		"": "want an address", "ftp://localhost": "want an address", "http://localhost:1/v1": "", "http://127.0.0.1:1": "", "http://[::1]:1": "",
		"https://encoder.example.edu/v1": "allow_text_to_leave", "http://10.0.0.7:8080": "allow_text_to_leave",
		"http://u:p@localhost": "a password", "http://localhost/?key=x": "a query",
	} {
		check(t, remote.Options{URL: url}, want)
	}
	for url, want := range map[string]string{"https://encoder.example.edu/v1": "", "http://10.0.0.7:8080": "",
		"http://encoder.example.edu/v1": "plain http", "http://8.8.8.8/v1": "plain http"} {
		check(t, remote.Options{URL: url, AllowTextToLeave: true}, want)
	}
	check(t, remote.Options{URL: "http://localhost", Batch: -1, Timeout: -1, Dimensions: 1 << 20, Key: "a\nb"}, "batch: -1")
}

func check(t *testing.T, o remote.Options, want string) {
	t.Helper()
	_, err := remote.New(o)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%q: %v, want %q", o.URL, err, want)
	}
}
