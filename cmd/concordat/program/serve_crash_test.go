//go:build linux

package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/internal/suite"
	"concordat/store"
)

// servedSite is a separate serving process, with an account that has all rights.
type servedSite struct {
	t       *testing.T
	data    string
	env     []string
	process *exec.Cmd
	log     *syncedLog
	address string
	db      *store.DB
	// descriptors is the limit on the process's open files and connections; 0 means the test's own limit.
	descriptors int
}

const servedToken = "token-of-a-test"

// serveSite serves the site in data until it is killed or the test ends.
func serveSite(t *testing.T, data string, env ...string) *servedSite {
	t.Helper()
	return (&servedSite{t: t, data: data, env: env}).serve()
}

// serve serves the site described by s.
func (s *servedSite) serve() *servedSite {
	t, data := s.t, s.data
	t.Helper()
	s.start()
	db, err := store.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	s.db = db
	t.Cleanup(func() {
		s.kill()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	now := time.Now()
	if err := db.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: now}); err != nil {
		t.Fatal(err)
	}
	if err := db.People.PutToken(t.Context(), servedToken, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "test",
		Scopes: []string{"read", "check"}, Made: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *servedSite) start() {
	s.t.Helper()
	s.log = &syncedLog{}
	s.process = program(s.t, s.data, "serve", "--listen", "127.0.0.1:0")
	if s.descriptors > 0 {
		s.process.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, s.descriptors), "sh", s.process.Path},
			s.process.Args[1:]...)
		s.process.Path = "/bin/sh"
	}
	s.process.Env = append(s.process.Env, s.env...)
	s.process.Stderr = s.log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for {
		st, err := instance.Serving(s.t.Context(), s.data)
		if err == nil && st.Process == s.process.Process.Pid {
			s.address = st.Listen
			return
		}
		if s.t.Context().Err() != nil {
			s.t.Fatal(err)
		}
		if syscall.Kill(s.process.Process.Pid, 0) != nil {
			s.t.Fatalf("serve has ended:\n%s", s.log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kill ends the process at once, like a power cut but without affecting the disk.
func (s *servedSite) kill() {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait() // it was killed
	}
}

// submission returns a form with one file, as browsers and programs send it.
func submission(t *testing.T, name, text string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	f, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m.FormDataContentType()
}

// submit submits a file under a key and returns the status and the body of the response.
func (s *servedSite) submit(key, name, text string) (int, string) {
	s.t.Helper()
	body, contentType := submission(s.t, name, text)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.address+"/api/v1/checks", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+servedToken)
	r.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// only waits until the single task has ended.
func (s *servedSite) only() store.Task {
	s.t.Helper()
	for {
		tasks, err := s.db.Checks.Tasks(s.t.Context(), 0, 0)
		if err != nil || len(tasks) != 1 {
			s.t.Fatalf("tasks %v, %v; want one", tasks, err)
		}
		if state := tasks[0].State; state != concordat.TaskQueued && state != concordat.TaskRunning {
			return tasks[0]
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// originals lists the stored files of submissions.
func (s *servedSite) originals() (names []string) {
	_ = filepath.WalkDir(filepath.Join(s.data, instance.OriginalsName), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return nil
	})
	return names
}

// prose returns about n bytes of sentences, always the same for the same n.
func prose(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "w%x q%x ", i*7919%65521, i*104729%65537)
		if i%12 == 11 {
			b.WriteString("end. ")
		}
	}
	return b.String()
}

// TestKilledServe: if a site is killed during an upload, no check and no partial file remains. If it is killed during a check, it runs
// the check again, once.
func TestKilledServe(t *testing.T) {
	t.Parallel()
	data := newSite(t)
	s := serveSite(t, data)
	body, contentType := submission(t, "essay.txt", prose(1<<20))

	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST /api/v1/checks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		s.address, servedToken, contentType, len(body))
	if _, err := c.Write(body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	for len(s.originals()) == 0 { // part of the upload has arrived
		time.Sleep(10 * time.Millisecond)
	}
	s.kill()
	_ = c.Close()
	s.start()
	if tasks, err := s.db.Checks.Tasks(t.Context(), 0, 0); err != nil || len(tasks) != 0 {
		t.Errorf("after half an upload: tasks %v, %v", tasks, err)
	}
	if left := s.originals(); len(left) != 0 {
		t.Errorf("after half an upload: files %v", left)
	}

	code, answer := s.submit("one", "essay.txt", prose(1<<20))
	if code != http.StatusAccepted {
		t.Fatalf("%d %s", code, answer)
	}
	s.kill() // the check is queued or running
	s.start()
	if code, again := s.submit("one", "essay.txt", prose(1<<20)); code != http.StatusAccepted || again != answer {
		t.Errorf("the same again: %d %s, first %s", code, again, answer)
	}
	task := s.only()
	if task.State != concordat.TaskDone || task.Attempts > 2 {
		t.Errorf("after the restart: %s %q, attempt %d", task.State, task.Cause, task.Attempts)
	}
	if f, err := s.db.Checks.Findings(t.Context(), task.ID); err != nil || !json.Valid(f) {
		t.Errorf("findings of %d bytes, %v", len(f), err)
	}
}

// smallDisk mounts a file system of the given size for a site.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestServeOnFullDisk: on a full disk, no partial work is kept or shown as done, and accepted files are checked; below the low-water
// mark, nothing is accepted.
func TestServeOnFullDisk(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "fills a disk")
	data := smallDisk(t, 48)
	output(t, 0, data, "init", "--site", "uni")
	output(t, 0, data, "library", "create", "l")
	s := serveSite(t, data, "CONCORDAT_SERVE_LOW_WATER=0B")
	if code, answer := s.submit("large", "large.txt", prose(60<<20)); code != http.StatusInsufficientStorage ||
		!strings.Contains(answer, "disk_full") {
		t.Errorf("a file larger than the disk: %d %.300s", code, answer)
	}
	if tasks, err := s.db.Checks.Tasks(t.Context(), 0, 0); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, %v", tasks, err)
	}
	if left := s.originals(); len(left) != 0 {
		t.Errorf("files %v", left)
	}
	if code, answer := s.submit("small", "small.txt", prose(2000)); code != http.StatusAccepted {
		t.Fatalf("a small file: %d %s", code, answer)
	}
	if task := s.only(); task.State != concordat.TaskDone {
		t.Errorf("a small file: %s %q", task.State, task.Cause)
	}

	s.kill()
	s.env = []string{"CONCORDAT_SERVE_LOW_WATER=1GiB"}
	s.start()
	if code, answer := s.submit("low", "other.txt", prose(2000)); code != http.StatusInsufficientStorage {
		t.Errorf("below the low water: %d %s", code, answer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("below the low water it is ready: %d", resp.StatusCode)
	}
}
