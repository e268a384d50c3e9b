package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// target is the site under attack.
type target struct {
	base   string
	made   bool // whether this program created it
	admin  string
	http   *http.Client
	end    time.Time  // end of the current attack
	random *rand.Rand // for the current attack
	doc    *document  // description of the API

	// These fields are for a site created by this program.
	dir, bin, listen string
	people           map[string]*person // by role
	process          *exec.Cmd
	ended            chan struct{} // closed when the process has ended
	logs             *logs
}

// person is a person with an account.
type person struct {
	name, role, password, token string
	browser                     *http.Client // signed-in client
}

// logs holds the last bytes printed by the site.
type logs struct {
	mu   sync.Mutex
	last []byte
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last = append(l.last, p...); len(l.last) > 1<<16 {
		l.last = slices.Clone(l.last[len(l.last)-1<<15:])
	}
	return len(p), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var scopes = []string{"read", "check", "review", "documents", "people", "erase", "tokens", "hooks"}

func newTarget(ctx context.Context, o options) (*target, error) {
	t := &target{http: &http.Client{Timeout: 2 * time.Minute, CheckRedirect: noRedirect}, people: map[string]*person{}}
	var err error
	if o.site == "" {
		err = t.make(ctx, o)
	} else {
		err = t.use(o)
	}
	if err == nil {
		t.doc, err = t.readDocument(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (t *target) use(o options) error {
	var err error
	if t.base, err = checkSite(o.site); err != nil {
		return err
	}
	b, err := os.ReadFile(o.tokenFile)
	if err != nil {
		return fmt.Errorf("read an administrator's token from -token-file: %w", err)
	}
	t.admin = strings.TrimSpace(string(b))
	return nil
}

// make creates a site with one account of each role.
func (t *target) make(ctx context.Context, o options) error {
	t.made = true
	var err error
	if t.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if _, err := os.Stat(t.bin); err != nil {
		return fmt.Errorf("cannot find the concordat program: %w; run make build to create it", err)
	}
	if t.dir, err = os.MkdirTemp("", "concordat-attack-"); err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "the site is in", t.dir)
	}
	t.listen = "127.0.0.1:0"
	first, err := t.start(ctx, o.keep)
	if err != nil {
		return err
	}
	t.listen = strings.TrimPrefix(t.base, "http://")
	key := first[strings.Index(first, "key=")+len("key="):]
	for _, role := range []string{"administrator", "officer", "submitter", "auditor"} {
		if err := t.makePerson(ctx, role, key); err != nil {
			return fmt.Errorf("create the %s account: %w", role, err)
		}
	}
	t.admin = t.people["administrator"].token
	_, err = t.api(ctx, t.admin, "POST", "/admin/libraries", map[string]any{"id": "attacked", "title": "Attacked"})
	return err
}

var firstLink = regexp.MustCompile(`(http://[^/\s]+)(/first\?key=\S+)`)
var servingAt = regexp.MustCompile(`serving site \S+ at (http://[^/\s]+)/`)

// start serves the site and waits until it answers. It returns the path of the page for creating the first administrator, if there is
// none yet.
func (t *target) start(ctx context.Context, _ bool) (first string, err error) {
	c := exec.Command(t.bin, "--data", filepath.Join(t.dir, "site"), "serve", "--listen", t.listen, "--title", "Attacked")
	c.Env = append(os.Environ(), "CONCORDAT_SERVE_API_CALLS=1000000", "TMPDIR="+filepath.Join(t.dir, "tmp"))
	if err := os.MkdirAll(filepath.Join(t.dir, "tmp"), 0o700); err != nil {
		return "", err
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		return "", errors.Join(err, out.Close())
	}
	t.process, t.ended, t.logs = c, make(chan struct{}), &logs{}
	lines := make(chan string, 16)
	go func() {
		defer func() { close(lines); _ = out.Close() }()
		s := bufio.NewReader(io.TeeReader(out, t.logs))
		for {
			line, err := s.ReadString('\n')
			select {
			case lines <- line:
			default: // no caller waits for more lines
			}
			if err != nil {
				return
			}
		}
	}()
	ended := t.ended
	go func() { _ = c.Wait(); close(ended) }()
	late := time.After(2 * time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return "", fmt.Errorf("the server exited: %s", t.logs)
			}
			if m := firstLink.FindStringSubmatch(line); m != nil {
				t.base, first = m[1], m[2]
			}
			if m := servingAt.FindStringSubmatch(line); m != nil {
				t.base = m[1]
			}
			if t.base != "" && t.alive(ctx) == nil && (first != "" || t.people["administrator"] != nil) {
				return first, nil
			}
		case <-late:
			return "", fmt.Errorf("the server is not responding: %s", t.logs)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// revive serves the created site again if an attack was interrupted while the site was down.
func (t *target) revive(ctx context.Context) error {
	if t.process == nil {
		return nil
	}
	select {
	case <-t.ended:
	default:
		if t.alive(ctx) == nil {
			return nil
		}
		t.kill() // it ended during startup
	}
	_, err := t.start(ctx, false)
	return err
}

// kill ends the site with all its child processes, like a crash.
func (t *target) kill() {
	_ = syscall.Kill(-t.process.Process.Pid, syscall.SIGKILL)
	<-t.ended
}

// close stops the created site and removes it.
func (t *target) close() error {
	if t.process != nil {
		_ = t.process.Process.Signal(syscall.SIGTERM)
		select {
		case <-t.ended:
		case <-time.After(30 * time.Second):
		}
		t.kill()
	}
	if t.dir == "" {
		return nil
	}
	return os.RemoveAll(t.dir)
}

// alive reports whether the site answers on a separate connection.
func (t *target) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	t.http.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz returned status %d", resp.StatusCode)
	}
	return nil
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

// most is the maximum number of bytes to read from an answer.
const most = 64 << 20

func (t *target) do(c *http.Client, r *http.Request) (answer, error) {
	began := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return answer{resp.StatusCode, resp.Header, b, time.Since(began)}, err
}

// raw calls the API. It repeats a rate-limited call when permitted.
func (t *target) raw(ctx context.Context, token, method, path, contentType string, body []byte) (answer, error) {
	for try := 0; ; try++ {
		r, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(body))
		if err != nil {
			return answer{}, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		a, err := t.do(t.http, r)
		if err != nil || a.status != http.StatusTooManyRequests || try == 3 || token == "" {
			return a, err
		}
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil {
			wait = 1
		}
		select {
		case <-time.After(time.Duration(min(wait, 60)) * time.Second):
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// api makes a call that must succeed.
func (t *target) api(ctx context.Context, token, method, path string, in any) (map[string]any, error) {
	var body []byte
	contentType := ""
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		contentType = "application/json"
	}
	a, err := t.raw(ctx, token, method, "/api/v1"+path, contentType, body)
	if err != nil {
		return nil, err
	}
	if a.status >= 300 {
		return nil, fmt.Errorf("%s %s: status %d: %.300s", method, path, a.status, a.body)
	}
	out := map[string]any{}
	if len(a.body) > 0 {
		err = json.Unmarshal(a.body, &out)
	}
	return out, err
}

// makePerson creates an account with a token for all scopes; the first account uses the site's link.
func (t *target) makePerson(ctx context.Context, role, key string) error {
	p := &person{name: "attack-" + role, role: role, password: "a long passphrase of the " + role + " 7431"}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	p.browser = &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: noRedirect}
	form := url.Values{"key": {key}, "name": {p.name}, "title": {role}, "password": {p.password}, "again": {p.password}}
	path := "/first"
	if role != "administrator" {
		path = "/join"
		made, err := t.api(ctx, t.people["administrator"].token, "POST", "/people", map[string]any{"name": p.name, "role": role})
		if err != nil {
			return err
		}
		link, _ := made["link"].(string)
		form.Set("key", link[strings.Index(link, "key=")+len("key="):])
	}
	if a, err := t.post(ctx, p.browser, path, form); err != nil || a.status != http.StatusSeeOther {
		return fmt.Errorf("%s: status %d: %.200s: %w", path, a.status, a.body, errors.Join(err, errAnswer))
	}
	a, err := t.post(ctx, p.browser, "/account/tokens", url.Values{"name": {"attack"}, "scope": scopes})
	if err != nil {
		return err
	}
	if p.token = tokenIn.FindString(string(a.body)); p.token == "" {
		return fmt.Errorf("no token was issued: status %d: %w", a.status, errAnswer)
	}
	t.people[role] = p
	return nil
}

var tokenIn = regexp.MustCompile(`concordat_[A-Z2-7]+`)

var errAnswer = errors.New("unexpected response")

// post sends a form.
func (t *target) post(ctx context.Context, c *http.Client, path string, form url.Values, change ...func(*http.Request)) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, f := range change {
		f(r)
	}
	return t.do(c, r)
}
