//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

const (
	servedWriters = 3
	servedThink   = 120 * time.Millisecond
	servedWrite   = 30 * time.Second
	servedRead    = 60 * time.Second
	servedDocs    = 12 // once a writer has this many documents, only one operation in four creates another
)

// users write, delete and check documents through a site's API until they are stopped.
type users struct {
	s    *served
	stop chan struct{}
	wg   sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	known []string   // all documents, in the order of their first write
	rest  map[coord.NodeID]bool
	open  map[coord.NodeID]int // requests that change something and are not answered
	fewer *sync.Cond           // signals that one was answered
}

func (s *served) load(seed uint64) *users {
	u := &users{s: s, stop: make(chan struct{}), rest: map[coord.NodeID]bool{}, open: map[coord.NodeID]int{}}
	u.fewer = sync.NewCond(&u.mu)
	for i := range servedWriters {
		u.wg.Go(func() { u.write(i, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	for i, n := range s.names {
		u.wg.Go(func() { u.read(n, rand.New(rand.NewPCG(seed, uint64(200+i)))) })
	}
	return u
}

func (u *users) end() {
	close(u.stop)
	u.wg.Wait()
}

func (u *users) pause(d time.Duration) bool {
	select {
	case <-u.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// If away is set, spare keeps new requests from a node and waits until the open ones are answered, as a load balancer does before a node
// is stopped; otherwise, it sends requests there again. Checks that were submitted there may still be running.
func (u *users) spare(n coord.NodeID, away bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rest[n] = away
	for away && u.open[n] > 0 {
		u.fewer.Wait()
	}
}

// begin reports whether requests go to the node, and if so counts one. answered must be called once it is answered.
func (u *users) begin(n coord.NodeID) bool {
	down := u.s.down(n)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rest[n] || down {
		return false
	}
	u.open[n]++
	return true
}

func (u *users) answered(n coord.NodeID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open[n]--
	u.fewer.Broadcast()
}

// pick begins a request at a random node.
func (u *users) pick(r *rand.Rand) (coord.NodeID, bool) {
	for range 20 {
		if n := u.s.names[r.IntN(len(u.s.names))]; u.begin(n) {
			return n, true
		}
	}
	return "", false
}

func (u *users) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.known)
}

// write writes and deletes its own documents. It does not touch a document with an operation of unknown outcome.
func (u *users) write(number int, r *rand.Rand) {
	var docs []string
	revs := map[string]int{}
	for next := 0; u.pause(servedThink); {
		node, ok := u.pick(r)
		if !ok {
			continue
		}
		doc := ""
		if len(docs) < servedDocs || r.IntN(4) == 0 {
			doc = fmt.Sprintf("%d-%d.txt", number, next)
			next++
			docs = append(docs, doc)
			u.mu.Lock()
			u.known = append(u.known, doc)
			u.mu.Unlock()
		} else {
			doc = docs[r.IntN(len(docs))]
		}
		revs[doc]++
		e := entry{Kind: "write", Node: node, Doc: doc, Rev: revs[doc], Delete: revs[doc] > 1 && r.IntN(4) == 0, At: u.s.h.now()}
		var err error
		if e.Delete {
			err = u.s.erase(node, doc)
		} else {
			err = u.s.put(node, doc, e.Rev)
		}
		e.End = u.s.h.now()
		u.answered(node)
		if e.OK = err == nil; err != nil {
			e.Err = err.Error()
		}
		if err != nil || e.Delete { // the ID of a deleted document is not reused
			docs = slices.DeleteFunc(docs, func(d string) bool { return d == doc })
		}
		u.s.h.add(e)
		if err != nil {
			u.pause(10 * servedThink) // the node might be down
		}
	}
}

// read checks some documents at one node while its process is running.
func (u *users) read(n coord.NodeID, r *rand.Rand) {
	for u.pause(2 * servedThink) {
		all := u.all()
		var some []string
		for range min(len(all), 4) {
			i := r.IntN(len(all))
			if r.IntN(2) == 0 {
				i = max(0, len(all)-1-r.IntN(10))
			}
			if !slices.Contains(some, all[i]) {
				some = append(some, all[i])
			}
		}
		if len(some) == 0 || !u.begin(n) {
			continue
		}
		e := entry{Kind: "read", Node: n, At: u.s.h.now()}
		end := time.Now().Add(servedRead)
		var f found
		at, err := u.s.submit(n, some, end)
		if u.answered(n); err == nil {
			f, err = u.s.await(n, at, some, end)
		}
		if e.End, e.Complete = u.s.h.now(), f.Complete; err != nil {
			e.Err = err.Error()
		}
		for _, doc := range some {
			e.Doc, e.Docs = doc, map[string]int{}
			if rev, ok := f.Docs[doc]; ok {
				e.Docs[doc] = rev
			}
			u.s.h.add(e)
		}
	}
}

// put adds a revision of a document. An error means that the outcome is unknown.
func (s *served) put(n coord.NodeID, doc string, rev int) error {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	f, err := writeFields(m, map[string]string{"id": doc, "title": strconv.Itoa(rev)}, doc)
	if err == nil {
		_, err = io.WriteString(f, paragraph(doc)+sentence(fmt.Sprintf("%s %d", doc, rev)))
	}
	if err := errors.Join(err, m.Close()); err != nil {
		return err
	}
	code, said, err := s.call(n, http.MethodPost, "/api/v1/libraries/"+string(library)+"/documents", m.FormDataContentType(), &b, servedWrite)
	var out struct{ Failed int }
	switch {
	case err != nil:
		return err
	case code != http.StatusOK:
		return fmt.Errorf("%d: %s", code, said)
	}
	if err := json.Unmarshal(said, &out); err != nil || out.Failed > 0 {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

func writeFields(m *multipart.Writer, fields map[string]string, file string) (io.Writer, error) {
	for k, v := range fields {
		if err := m.WriteField(k, v); err != nil {
			return nil, err
		}
	}
	return m.CreateFormFile("file", file)
}

// erase deletes a document.
func (s *served) erase(n coord.NodeID, doc string) error {
	body := fmt.Sprintf(`{"library":%q,"documents":[%q],"reason":"withdrawn"}`, library, doc)
	code, said, err := s.call(n, http.MethodPost, "/api/v1/deletions", "application/json", strings.NewReader(body), servedWrite)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d: %s", code, said)
	}
	return err
}

// check submits a text of the given documents, waits for the check and returns which revisions are in the report.
func (s *served) check(n coord.NodeID, docs []string, wait time.Duration) (found, error) {
	end := time.Now().Add(wait)
	at, err := s.submit(n, docs, end)
	if err != nil {
		return found{}, err
	}
	return s.await(n, at, docs, end)
}

// submit submits a text of the named documents and returns the path of the check.
func (s *served) submit(n coord.NodeID, docs []string, end time.Time) (at string, err error) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	f, err := m.CreateFormFile("file", "essay.txt")
	for _, doc := range docs {
		if err == nil {
			_, err = io.WriteString(f, paragraph(doc)+"\n\n")
		}
	}
	if err := errors.Join(err, m.Close()); err != nil {
		return "", err
	}
	var made struct{ Checks []struct{ ID string } }
	if err := s.answer(n, http.MethodPost, "/api/v1/checks", m.FormDataContentType(), &b, end, &made); err != nil || len(made.Checks) != 1 {
		return "", fmt.Errorf("submit: %w", err)
	}
	return "/api/v1/checks/" + made.Checks[0].ID, nil
}

// await waits for a check and returns which revisions the report names.
func (s *served) await(n coord.NodeID, at string, docs []string, end time.Time) (found, error) {
	for {
		var c struct {
			State concordat.State
			Cause string
		}
		switch err := s.anywhere(n, at, end, &c); {
		case err != nil && (time.Now().After(end) || s.down(n)):
			return found{}, fmt.Errorf("state: %w", err)
		case c.State == concordat.TaskDone:
			return s.sources(n, at, docs, end)
		case err == nil && c.State != concordat.TaskQueued && c.State != concordat.TaskRunning:
			return found{}, fmt.Errorf("the check ended %s: %s", c.State, c.Cause)
		case time.Now().After(end):
			return found{}, fmt.Errorf("the check is %s at its end", c.State)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// sources reads a report.
func (s *served) sources(n coord.NodeID, at string, docs []string, end time.Time) (found, error) {
	var rep struct {
		Sources   []struct{ Document, Title string }
		Consulted []struct {
			Missing []concordat.ShardID
			Capped  int
			Error   string
		}
	}
	if err := s.anywhere(n, at+"/report?format=json", end, &rep); err != nil {
		return found{}, fmt.Errorf("report: %w", err)
	}
	out := found{Docs: map[string]int{}, Complete: len(rep.Consulted) > 0}
	for _, c := range rep.Consulted {
		if out.Missing = append(out.Missing, c.Missing...); len(c.Missing) > 0 || c.Capped > 0 || c.Error != "" {
			out.Complete = false
		}
	}
	for _, x := range rep.Sources {
		rev, err := strconv.Atoi(x.Title)
		if err != nil || !slices.Contains(docs, x.Document) {
			return out, fmt.Errorf("the report names %+v", x)
		}
		out.Docs[x.Document] = rev
	}
	return out, nil
}

// anywhere reads at the node or, if it is unreachable, at another, like callers behind a load balancer.
func (s *served) anywhere(n coord.NodeID, path string, end time.Time, out any) error {
	err := s.answer(n, http.MethodGet, path, "", nil, end, out)
	for _, m := range s.names {
		var refused *url.Error
		if m == n || !errors.As(err, &refused) || s.down(m) {
			continue
		}
		err = s.answer(m, http.MethodGet, path, "", nil, end, out)
	}
	return err
}

// answer makes a call that must succeed.
func (s *served) answer(n coord.NodeID, method, path, media string, body io.Reader, end time.Time, out any) error {
	code, said, err := s.call(n, method, path, media, body, max(time.Second, min(servedWrite, time.Until(end))))
	switch {
	case err != nil:
		return err
	case code < 200 || code > 299:
		return fmt.Errorf("%d: %s", code, said)
	}
	return json.Unmarshal(said, out)
}

// paragraph returns the sentences that all revisions of a document share and that no other document has.
func paragraph(doc string) string {
	var b strings.Builder
	for i := range 6 {
		b.WriteString(sentence(fmt.Sprintf("%s/%d", doc, i)))
	}
	return b.String()
}

// sentence generates a sentence of about 150 characters from a seed.
func sentence(seed string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, seed)
	r := rand.New(rand.NewPCG(h.Sum64(), 5))
	var b strings.Builder
	for i := range 20 {
		word := ""
		for range 2 + r.IntN(2) {
			word += string("bdfgklmnprstvz"[r.IntN(14)]) + string("aeiou"[r.IntN(5)])
		}
		if i == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String() + ". "
}
