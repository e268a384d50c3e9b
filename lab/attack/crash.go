package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// addDocuments adds files to the library and returns the outcome for each added file.
func (t *target) addDocuments(ctx context.Context, files map[string][]byte) (map[string]string, error) {
	body, kind, err := multipartOf(files)
	if err != nil {
		return nil, err
	}
	a, err := t.raw(ctx, t.admin, "POST", "/api/v1/libraries/attacked/documents", kind, body)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, fmt.Errorf("add documents: status %d: %.200s", a.status, a.body)
	}
	var in struct {
		Documents []struct{ File, ID, Outcome string }
	}
	if err := json.Unmarshal(a.body, &in); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range in.Documents {
		if d.Outcome != "failed" {
			out[d.ID] = d.Outcome
		}
	}
	return out, nil
}

func multipartOf(files map[string][]byte) ([]byte, string, error) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, name := range sortedKeys(files) {
		f, err := m.CreateFormFile("file", name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return nil, "", err
		}
	}
	err := m.Close()
	return b.Bytes(), m.FormDataContentType(), err
}

// word returns a word that occurs nowhere else.
func (t *target) word() string {
	b := []byte("mk")
	for range 22 {
		b = append(b, 'a'+byte(t.random.IntN(26)))
	}
	return string(b)
}

// marked returns a text that repeats the mark many times among other words.
func (t *target) marked(mark string) []byte {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "Sentence number %d of this text names %s and the price of %d barrels in the %s of the harbour. ", i, mark,
			t.random.IntN(1000), t.word()[2:9])
	}
	return []byte(b.String())
}

// attackCrash kills the site repeatedly while documents are added and checks are submitted. After each start, it repeats the calls that
// were not acknowledged, as a client does; everything acknowledged must be there. Then it deletes all documents and searches every byte
// of the folder for their text.
func attackCrash(ctx context.Context, t *target, r *result) error {
	for round := 0; round == 0 || time.Now().Before(t.end); round++ {
		if err := t.crashRound(ctx, r, round); err != nil {
			return err
		}
		r.count("rounds", 1)
	}
	return nil
}

func (t *target) crashRound(ctx context.Context, r *result, round int) error {
	files, marks := map[string][]byte{}, map[string]string{}
	for i := range 6 {
		name := fmt.Sprintf("crash-%d-%d.txt", round, i)
		marks[name] = t.word()
		files[name] = t.marked(marks[name])
	}
	in := t.killWhileAdding(ctx, r, files)
	if _, err := t.start(ctx, false); err != nil {
		r.fault("round %d: cannot restart after kill -9: %v", round, err)
		return err
	}
	for name := range in {
		if !t.has(ctx, name) {
			r.fault("round %d: %s was acknowledged, but is missing after the restart", round, name)
		}
	}
	again := map[string][]byte{}
	for name, b := range files {
		if !in[name] {
			again[name] = b
		}
	}
	if len(again) > 0 {
		if _, err := t.addDocuments(ctx, again); err != nil {
			r.fault("round %d: cannot add the interrupted documents again: %v", round, err)
		}
	}
	if err := t.eraseAll(ctx, sortedKeys(files)); err != nil {
		return err
	}
	var words [][]byte
	for _, m := range marks {
		words = append(words, []byte(m))
	}
	found, err := search(ctx, filepath.Join(t.dir, "site"), words)
	if err != nil {
		return err
	}
	r.count("texts deleted", len(marks))
	for name, m := range marks {
		if places := found[m]; len(places) > 0 {
			r.fault("round %d: %s was deleted, but its text is still in %s", round, name, strings.Join(places, ", "))
		}
	}
	return nil
}

// killWhileAdding adds the files one by one, submits one of them as a check in the meantime, and kills the site halfway through. It
// returns the acknowledged calls.
func (t *target) killWhileAdding(ctx context.Context, r *result, files map[string][]byte) map[string]bool {
	var mu sync.Mutex
	in := map[string]bool{}
	var adding sync.WaitGroup
	for name, b := range files {
		adding.Go(func() {
			got, err := t.addDocuments(ctx, map[string][]byte{name: b})
			mu.Lock()
			defer mu.Unlock()
			r.tries++
			if err == nil && got[name] != "" {
				in[name] = true
			}
		})
	}
	select {
	case <-time.After(time.Duration(t.random.IntN(1200)) * time.Millisecond):
	case <-ctx.Done():
	}
	t.kill()
	adding.Wait()
	t.http.CloseIdleConnections()
	r.count("acknowledged before the kill", len(in))
	return in
}

func (t *target) has(ctx context.Context, id string) bool {
	for cursor := ""; ; {
		list, err := t.api(ctx, t.admin, "GET", "/libraries/attacked/documents?limit=100&cursor="+url.QueryEscape(cursor), nil)
		if err != nil {
			return false
		}
		for _, x := range asList(list["documents"]) {
			if d, _ := x.(map[string]any); d["id"] == id {
				return true
			}
		}
		if cursor, _ = list["next"].(string); cursor == "" {
			return false
		}
	}
}

// eraseAll deletes documents and waits until the deletion is complete.
func (t *target) eraseAll(ctx context.Context, ids []string) error {
	got, err := t.api(ctx, t.admin, "POST", "/deletions", map[string]any{"library": "attacked", "documents": ids, "reason": "attack"})
	if err != nil {
		return err
	}
	end := time.Now().Add(2 * time.Minute)
	for got["state"] != "done" {
		if time.Now().After(end) {
			return fmt.Errorf("deletion %v is still %v after two minutes: %w", got["id"], got["state"], errAnswer)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if got, err = t.api(ctx, t.admin, "GET", "/deletions/"+url.PathEscape(fmt.Sprint(got["id"])), nil); err != nil {
			return err
		}
	}
	return nil
}
