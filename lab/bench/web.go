package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
)

// WebOptions describe the load on the pages of a serving process. All but Seed are required.
type WebOptions struct {
	Base     string // address of the pages, without a trailing slash
	Process  int    // ID of the serving process
	Cookie   string // name of the session cookie
	Sessions []string
	Library  concordat.LibraryID // empty library to be filled
	// Documents is the size of the library, and Sentences the size of each document.
	Documents, Sentences int
	Checks               int // number of checks completed before measuring, and then read
	Rounds               int // requests for each page by each session
	Uploaders, Uploads   int // number of concurrent uploads, and of files in each
	Seed                 uint64
	// Open returns the number of waiting and running checks.
	Open func(ctx context.Context) (int, error)
}

// WebResult is the cost of one kind of request to the serving process.
type WebResult struct {
	Page     string  `json:"page"`
	Requests int     `json:"requests"`
	Errors   int     `json:"errors"`
	First    string  `json:"first_error,omitempty"`
	CPU      float64 `json:"cpu_ms"` // processor time of the serving process per request
	P50      float64 `json:"p50_ms"` // time as experienced by the caller
	P99      float64 `json:"p99_ms"`
	Bytes    int64   `json:"bytes"`      // total of all answers
	Open     int     `json:"most_open"`  // maximum number of checks waiting or running at the same time
	Events   int64   `json:"events"`     // number of events reported by streams
	Uploads  int     `json:"uploads"`    // number of files accepted in the meantime
	Memory   float64 `json:"memory_mb"`  // resident size at the end
	Peak     float64 `json:"peak_mb"`    // maximum resident size since the process began
	Took     float64 `json:"took_s"`     // elapsed time
	Checked  int     `json:"checked"`    // number of checks that ended in the meantime
	Total    float64 `json:"cpu_used_s"` // processor time of the whole run
}

// Web fills the library, completes checks, and then puts the pages under load. First, all sessions request each page at once with an idle
// queue; then they request all pages at once, while every session follows a running check and files are submitted. It reports the cost of
// each kind of request. It requires the proc file system.
func Web(ctx context.Context, o WebOptions, report func(WebResult) error) error {
	if len(o.Sessions) == 0 || o.Documents < 1 || o.Checks < 1 || o.Rounds < 1 {
		return fmt.Errorf("%w: sessions, documents, checks and rounds must be at least 1", concordat.ErrInvalid)
	}
	l := &load{o: o, words: newWriter(o.Seed), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4 * len(o.Sessions),
		MaxConnsPerHost: 4 * len(o.Sessions)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	defer l.client.CloseIdleConnections()
	if _, err := usedBy(o.Process); err != nil {
		return err
	}
	paths, err := l.prepare(ctx)
	if err != nil {
		return err
	}
	pages := []struct {
		name string
		path func(n int) string
	}{
		{"checks", func(int) string { return "/checks" }},
		{"check", func(n int) string { return paths[n%len(paths)] }},
		{"passage", func(n int) string { return paths[n%len(paths)] + "/passages/1" }},
		{"report", func(n int) string { return paths[n%len(paths)] + "/report" }},
		{"library", func(int) string { return "/libraries/" + string(o.Library) }},
		{"batches", func(int) string { return "/batches" }},
	}
	for _, p := range pages {
		m, err := l.begin(p.name)
		if err != nil {
			return err
		}
		if err := l.poll(ctx, m, func(session, round int) string { return p.path(session*o.Rounds + round) }); err != nil {
			return err
		}
		if err := m.end(report); err != nil {
			return err
		}
	}
	return l.mixed(ctx, paths, report)
}

// load is one run of Web.
type load struct {
	o      WebOptions
	words  *writer
	client *http.Client
}

// prepare fills the library, completes checks, and returns their paths.
func (l *load) prepare(ctx context.Context) ([]string, error) {
	var texts []string
	for i := range l.o.Documents {
		texts = append(texts, strings.Join(l.words.document(i, l.o.Sentences), " "))
	}
	if _, err := l.hand(ctx, l.o.Sessions[0], "/libraries/"+string(l.o.Library)+"/documents", texts...); err != nil {
		return nil, fmt.Errorf("fill the library: %w", err)
	}
	if err := l.idle(ctx); err != nil {
		return nil, err
	}
	texts = nil
	for i := range l.o.Checks {
		texts = append(texts, l.submission(i))
	}
	paths, err := l.hand(ctx, l.o.Sessions[0], "/checks", texts...)
	if err != nil {
		return nil, fmt.Errorf("submit files: %w", err)
	}
	return paths, l.idle(ctx)
}

func (l *load) submission(n int) string {
	return l.words.submission(n, CheckOptions{Documents: l.o.Documents, PerDocument: l.o.Sentences, Submission: l.o.Sentences})
}

// idle waits until the queue is empty.
func (l *load) idle(ctx context.Context) error {
	for {
		if n, err := l.o.Open(ctx); err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// hand submits texts as files and returns the paths of their checks.
func (l *load) hand(ctx context.Context, session, path string, texts ...string) ([]string, error) {
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for i, text := range texts {
		f, err := m.CreateFormFile("file", fmt.Sprintf("text-%d.txt", i+1))
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.o.Base+path, &body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Accept", "application/json")
	r.AddCookie(&http.Cookie{Name: l.o.Cookie, Value: session})
	resp, err := l.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	var got struct {
		Checks []struct {
			Path string `json:"path"`
		} `json:"checks"`
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s returned %s", path, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return nil, err
	}
	var out []string
	for _, c := range got.Checks {
		out = append(out, c.Path)
	}
	if len(out) != len(texts) {
		return out, fmt.Errorf("%s accepted %d of %d files", path, len(out), len(texts))
	}
	return out, nil
}

// get reads one page and returns its length in bytes.
func (l *load) get(ctx context.Context, session, path string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.o.Base+path, nil)
	if err != nil {
		return 0, err
	}
	r.AddCookie(&http.Cookie{Name: l.o.Cookie, Value: session})
	resp, err := l.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s returned %s", path, resp.Status)
	}
	return n, err
}

// poll makes all sessions request Rounds pages each, at the same time.
func (l *load) poll(ctx context.Context, m *meter, path func(session, round int) string) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, session := range l.o.Sessions {
		g.Go(func() error {
			for round := range l.o.Rounds {
				began := time.Now()
				n, err := l.get(ctx, session, path(i, round))
				if ctx.Err() != nil {
					return ctx.Err()
				}
				m.count(time.Since(began), n, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// follow reads the events of a check until the check or ctx ends.
func (l *load) follow(ctx context.Context, session, path string, events *atomic.Int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.o.Base+path+"/events", nil)
	if err != nil {
		return err
	}
	r.AddCookie(&http.Cookie{Name: l.o.Cookie, Value: session})
	resp, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("event stream returned %s", resp.Status)
	}
	b := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(b)
		events.Add(int64(bytes.Count(b[:n], []byte("data: "))))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// mixed puts the site under all kinds of load at once.
func (l *load) mixed(ctx context.Context, done []string, report func(WebResult) error) error {
	// The first upload precedes all readers, so that there is a check to follow.
	first, err := l.hand(ctx, l.o.Sessions[0], "/checks", l.submission(l.o.Checks))
	if err != nil {
		return err
	}
	m, err := l.begin("all at once, with uploads")
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards going
	going := first
	latest := func(n int) string {
		mu.Lock()
		defer mu.Unlock()
		return going[len(going)-1-n%min(len(going), l.o.Uploaders+1)]
	}
	var events atomic.Int64
	streams, stop := context.WithCancel(ctx)
	defer stop()
	var followers sync.WaitGroup
	for i, session := range l.o.Sessions {
		followers.Go(func() {
			for streams.Err() == nil {
				began := time.Now()
				err := l.follow(streams, session, latest(i), &events)
				if streams.Err() == nil && err != nil {
					m.fail(err)
				}
				select { // the stream of an ended check ends at once
				case <-streams.Done():
				case <-time.After(max(0, time.Second-time.Since(began))):
				}
			}
		})
	}
	pages, uploads := errgroup.Group{}, errgroup.Group{}
	pages.Go(func() error {
		return l.poll(ctx, m, func(session, round int) string {
			switch (session + round) % 3 {
			case 0:
				return "/checks"
			case 1:
				return latest(session + round)
			}
			return done[(session+round)%len(done)]
		})
	})
	var taken atomic.Int64
	for i := range l.o.Uploaders {
		uploads.Go(func() error {
			for n := range l.o.Uploads {
				paths, err := l.hand(ctx, l.o.Sessions[i%len(l.o.Sessions)], "/checks", l.submission(l.o.Checks+1+i*l.o.Uploads+n))
				if err != nil {
					m.fail(err)
					continue
				}
				taken.Add(1)
				mu.Lock()
				going = append(going, paths...)
				mu.Unlock()
				open, err := l.o.Open(ctx)
				if err != nil {
					return err
				}
				m.waiting(open)
			}
			return nil
		})
	}
	err = errors.Join(pages.Wait(), uploads.Wait(), l.idle(ctx))
	stop()
	followers.Wait()
	m.r.Events, m.r.Uploads = events.Load(), int(taken.Load())
	m.r.Checked = m.r.Uploads + len(first)
	return errors.Join(err, m.end(report))
}

// meter counts one kind of request. Its methods are safe for concurrent use.
type meter struct {
	process int
	before  time.Duration // processor time
	began   time.Time

	mu   sync.Mutex // guards the fields below
	r    WebResult
	took []time.Duration
}

func (l *load) begin(page string) (*meter, error) {
	used, err := usedBy(l.o.Process)
	return &meter{process: l.o.Process, before: used, began: time.Now(), r: WebResult{Page: page}}, err
}

func (m *meter) count(took time.Duration, bytes int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.r.Requests++
	m.r.Bytes += bytes
	m.took = append(m.took, took)
	m.failed(err)
}

func (m *meter) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed(err)
}

// failed records an error. m.mu is held.
func (m *meter) failed(err error) {
	if err == nil {
		return
	}
	if m.r.Errors++; m.r.First == "" {
		m.r.First = err.Error()
	}
}

func (m *meter) waiting(open int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.r.Open = max(m.r.Open, open)
}

// end computes the result.
func (m *meter) end(report func(WebResult) error) error {
	used, err := usedBy(m.process)
	if err != nil {
		return err
	}
	m.r.Total, m.r.Took = (used - m.before).Seconds(), time.Since(m.began).Seconds()
	m.r.CPU = milli(used-m.before) / float64(max(m.r.Requests, 1))
	slices.Sort(m.took)
	if n := len(m.took); n > 0 {
		m.r.P50, m.r.P99 = milli(m.took[n/2]), milli(m.took[n*99/100])
	}
	process := strconv.Itoa(m.process)
	m.r.Memory, m.r.Peak = status(process, "VmRSS:"), status(process, "VmHWM:")
	if m.r.Peak == 0 {
		return fmt.Errorf("memory of process %d: %w", m.process, concordat.ErrUnavailable)
	}
	return report(m.r)
}

// userTick is the unit of processor time in the proc file system (proc_pid_stat(5)): USER_HZ is 100 on every architecture that Go
// supports.
const userTick = 10 * time.Millisecond

// usedBy returns the processor time used by a process. It fails with concordat.ErrUnavailable without a proc file system.
func usedBy(process int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w: %w", concordat.ErrUnavailable, err)
	}
	// The name in parentheses can contain spaces; utime and stime are the 14th and 15th fields.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("processor time: %w: %q", concordat.ErrInvalid, b)
	}
	user, err := strconv.Atoi(fields[11])
	kernel, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+kernel) * userTick, errors.Join(err, err2)
}
