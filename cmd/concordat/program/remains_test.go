package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
)

// left puts a file of the given age into the site's folder.
func (p place) left(name string, age time.Duration) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	at := time.Now().Add(-age)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("some text"), 0o600), os.Chtimes(path, at, at))
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// TestRemainsGo: the next process with exclusive use of the folder removes the leftovers of interrupted work, and keeps files of work
// that could be in progress.
func TestRemainsGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "uni")
	p.command(cli.Done, "library", "create", "l")
	doc := filepath.Join(t.TempDir(), "a.tsv")
	if err := os.WriteFile(doc, []byte("a\tA\t"+iceText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.command(cli.Done, "add", "-l", "l", doc)
	goes := []string{instance.AddingPrefix + "17/document.txt", "originals/incoming-17", instance.NewIndexName + "/00/store/part.zap",
		instance.OldIndexName + "/00/store/whole.zap"}
	for _, name := range goes {
		p.left(name, time.Second)
	}
	p.command(cli.Done, "library", "list") // this command does not need exclusive use
	for _, name := range goes {
		if !p.has(name) {
			t.Errorf("%s has gone while another process may be at it", name)
		}
	}
	p.command(cli.Done, "check", doc)
	for _, name := range goes {
		if p.has(name) {
			t.Errorf("%s is there still", name)
		}
	}
	p.left("originals/incoming-18", -time.Minute) // started after the file's time
	p.command(cli.Done, "check", doc)
	if !p.has("originals/incoming-18") {
		t.Error("an upload that is under way has gone")
	}
}

// TestForgottenUploads: a file that was submitted completely but never used is removed at the next start.
func TestForgottenUploads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "uni")
	a := &app{cli.Site{Data: p.dir}}
	o, err := a.Open(t.Context(), instance.WithIndex)
	if err != nil {
		t.Fatal(err)
	}
	files := instance.Originals(o.Dir, o.Config, o.Store)
	put := func(text string) string {
		hash, _, err := files.Put(t.Context(), strings.NewReader(text), 100)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	needed, forgotten := put("needed"), put("forgotten")
	if err := o.Store.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "t", Made: time.Now()}, File: needed}); err != nil {
		t.Fatal(err)
	}
	o.Since = time.Now().Add(time.Second) // as at the next start
	if err := o.ForgetUploads(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Path(needed); err != nil {
		t.Error(err)
	}
	if _, err := files.Path(forgotten); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the file that nothing needs: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// TestBatchFilesGo: deleting a batch or one of its documents also removes the submitted files and the files that a command wrote for it.
func TestBatchFilesGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "uni")
	a := &app{cli.Site{Data: p.dir}}
	o, err := a.Open(t.Context(), instance.WithIndex)
	if err != nil {
		t.Fatal(err)
	}
	files := instance.Originals(o.Dir, o.Config, o.Store)
	b, err := batch.New("Call", "ada", batch.Runner, batch.Job{NoLibraries: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var inputs []store.BatchInput
	for i, name := range []string{"x.txt", "y.zip", "z.txt"} {
		hash, _, err := files.Put(t.Context(), strings.NewReader("text of "+name), 100)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, store.BatchInput{Number: i, Name: name, Place: hash})
	}
	written := filepath.Join(instance.BatchesName, b.ID, instance.BatchOut, "index.html")
	p.left(written, 0)
	if err := o.Store.Batches.CreateBatch(t.Context(), b, inputs); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Store.Batches.NextBatch(t.Context(), batch.Runner); err != nil {
		t.Fatal(err)
	}
	for i, members := range [][]string{{"x.txt"}, {"y.zip!/1.txt", "y.zip!/2.txt"}} { // z has not been read yet
		var ms []store.BatchMember
		for _, name := range members {
			ms = append(ms, store.BatchMember{Name: name})
		}
		if err := o.Store.Batches.PutBatchMembers(t.Context(), b.ID, i, ms); err != nil {
			t.Fatal(err)
		}
	}
	there := func(i int) bool {
		_, err := files.Path(inputs[i].Place)
		return err == nil
	}
	e := instance.Eraser(o, a.Signatures().Receipt, nil)
	one := retain.Target{Library: concordat.BatchLibrary(b.ID), Documents: []concordat.DocumentID{"y.zip!/2.txt"}}
	if _, err := e.Erase(context.Background(), "ada", "asked", one); err != nil {
		t.Fatal(err)
	}
	if !there(0) || there(1) || !there(2) || p.has(written) {
		t.Errorf("after a document of an archive: files %v %v %v, pages %v", there(0), there(1), there(2), p.has(written))
	}
	if _, err := e.Erase(context.Background(), "ada", "asked", retain.Target{Batches: []string{b.ID}}); err != nil {
		t.Fatal(err)
	}
	if there(0) || there(2) {
		t.Errorf("after the batch: files %v %v", there(0), there(2))
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// leftOriginal stores a file that a check needs and the pages made from it, both with the given time, and returns the file's hash.
func (p *place) leftOriginal(text string, at time.Time) string {
	p.t.Helper()
	a := &app{cli.Site{Data: p.dir}}
	o, err := a.Open(p.t.Context(), instance.StoreOnly)
	if err != nil {
		p.t.Fatal(err)
	}
	files := instance.Originals(o.Dir, o.Config, o.Store)
	hash, _, err := files.Put(p.t.Context(), strings.NewReader(text), 100)
	if err == nil {
		err = o.Store.Checks.CreateTask(p.t.Context(), store.Task{Task: concordat.Task{ID: "t", Made: time.Now()}, File: hash})
	}
	dir, remove, failed := files.Workplace()
	made := filepath.Join(dir, "made.pdf")
	err = errors.Join(err, failed, os.WriteFile(made, []byte("%PDF-"), 0o600))
	var kept string
	if err == nil {
		kept, err = files.PutMade(hash, made)
	}
	if err == nil {
		err = errors.Join(remove(), os.Chtimes(kept, at, at), os.Chtimes(strings.TrimSuffix(kept, ".pdf"), at, at), o.Close())
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return hash
}

// TestDoctorNamesTheUnexplained: doctor names exactly the files that the site does not know.
func TestDoctorNamesTheUnexplained(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "uni")
	p.command(cli.Done, "library", "create", "l")
	doc := filepath.Join(t.TempDir(), "a.tsv")
	if err := os.WriteFile(doc, []byte("a\tA\t"+iceText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.command(cli.Done, "add", "-l", "l", doc)
	if got := p.command(cli.Done, "doctor", "--quick", "--offline"); !strings.Contains(got, "ok       contents") {
		t.Errorf("a new site: %s", got)
	}
	sum := sha256.Sum256([]byte("some text")) // the hash that left puts into the file's name
	hash := hex.EncodeToString(sum[:])
	pages := strings.Repeat("5", len(hash)) // pages of a deleted file
	odd := []string{"thesis.txt", "originals/note.txt", "batches/nobody/index/x", "epochs/health-1/x", "mirrors/health-1/x", "index/01/x",
		"index/00/odd"}
	for _, name := range append(odd, instance.KeystoreName+".new-17", "screen/17/texts", "originals/"+hash, "originals/"+pages+".pdf") {
		p.left(name, 3*24*time.Hour)
	}
	old := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(filepath.Join(p.dir, "screen/17"), old, old); err != nil {
		t.Fatal(err)
	}
	needed := p.leftOriginal("needed", old)
	p.left(instance.EncoderName+"/x", 3*24*time.Hour)
	p.left(instance.VectorsName+"/x", 3*24*time.Hour)
	got := p.command(cli.Done, "doctor", "--offline")
	if i := strings.Index(got, "unexplained files or folders"); i < 0 || strings.Contains(strings.SplitN(got[i:], "\n", 2)[0], "encoder") {
		t.Errorf("doctor does not know the folders of the encoder:\n%s", got)
	}
	if strings.Contains(got, needed) {
		t.Errorf("doctor names a file of a check, or the pages made from it:\n%s", got)
	}
	for _, want := range []string{"thesis.txt", "originals/note.txt", "batches/nobody", "epochs/health-1", "mirrors/health-1", "index/01",
		"index/00/odd", hash, pages + ".pdf", ".new-17", "screen/17"} {
		if !strings.Contains(got, want) {
			t.Errorf("doctor does not name %s:\n%s", want, got)
		}
	}
	p.command(cli.Done, "doctor", "--quick", "--offline", "--fix", "--yes")
	if p.has(instance.KeystoreName+".new-17") || !p.has("thesis.txt") {
		t.Error("it mends what it may not, or not what it may")
	}
}
