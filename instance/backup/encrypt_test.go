package backup_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"concordat"
	"concordat/crypto"
	"concordat/instance/backup"
)

// recipient creates an identity, and returns its recipient and the opener of its files.
func recipient(t *testing.T) (crypto.Recipients, crypto.Opener) {
	t.Helper()
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	r, err := crypto.ParseRecipients([]string{id.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	o, err := crypto.ParseIdentities([]byte(id.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, o
}

// makeEncrypted makes an encrypted backup of a state of one file and the originals.
func makeEncrypted(t *testing.T, dir, originals, state string, to crypto.Recipients, damaged int) *backup.Manifest {
	t.Helper()
	stage := filepath.Join(t.TempDir(), "stage")
	m, err := backup.BeginEncrypted(dir, time.Now(), backup.Encrypt{Recipients: to, Names: [32]byte{7}, Stage: stage})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.State(), "index", "00", "a"), state)
	if got, err := m.AddOriginals(t.Context(), originals); err != nil || len(got) != damaged {
		t.Fatal(got, err)
	}
	man, err := m.Finish(t.Context(), backup.Manifest{Made: time.Now(), Site: "uni", Keys: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stage); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the stage is still there: %v", err)
	}
	return man
}

func unlocked(t *testing.T, dir string, o crypto.Opener) *backup.Backup {
	t.Helper()
	b, err := backup.Open(dir)
	if err == nil {
		err = b.Unlock(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files returns the bytes of all files below dir by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all[path] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An encrypted backup shows neither the content nor the names of originals. A second backup copies only new files. The identity is needed
// to restore a backup, but not to verify it.
func TestEncrypted(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	to, opens := recipient(t)
	texts := []string{"the first original", "the second original", "the third original"}
	one, two := original(t, from, texts[0]), original(t, from, texts[1])
	makeEncrypted(t, dir, from, "the first state", to, 0)
	before, err := filepath.Glob(filepath.Join(dir, backup.Originals, "*", "*", "*"))
	if err != nil || len(before) != 2 {
		t.Fatalf("%v, %v", before, err)
	}
	stats := map[string]os.FileInfo{}
	for _, path := range before {
		if stats[path], err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(from, two[:2], two[2:4], two)); err != nil {
		t.Fatal(err)
	}
	three := original(t, from, texts[2])
	m := makeEncrypted(t, dir, from, "the second state", to, 0)
	kept, after := 0, 0
	for path := range files(t, filepath.Join(dir, backup.Originals)) {
		if after++; stats[path] != nil {
			if now, err := os.Stat(path); err == nil && os.SameFile(now, stats[path]) {
				kept++
			}
		}
	}
	if kept != 1 || after != 2 {
		t.Errorf("%d of %d originals are those of before, want 1 of 2", kept, after)
	}
	for path, content := range files(t, dir) {
		for _, secret := range append(texts, "second state", one, three) {
			if strings.Contains(content, secret) || strings.Contains(filepath.Base(path), secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}

	b, err := backup.Open(dir)
	if err != nil || b.Unlocked() || b.Manifest.Format != backup.FormatEncrypted || b.Manifest.Encryption.Recipients[0] != to.Names()[0] {
		t.Fatalf("%+v, %v", b, err)
	}
	if m.Files != 4 { // the state, two originals, and the list of contents
		t.Errorf("%d files, want 4", m.Files)
	}
	read := 0
	if faults, err := b.Verify(func(n int) error { read += n; return nil }); err != nil || len(faults) > 0 || read == 0 {
		t.Errorf("without the identity: %v, %v, %d bytes read", faults, err, read)
	}
	if err := b.Restore(t.TempDir(), everything, nil); !errors.Is(err, backup.ErrLocked) {
		t.Errorf("restored without the identity: %v", err)
	}
	_, other := recipient(t)
	if err := b.Unlock(other); !errors.Is(err, backup.ErrRecipient) || b.Unlocked() {
		t.Errorf("another identity: %v", err)
	}
	b = unlocked(t, dir, opens)
	if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	site := t.TempDir()
	if err := b.Restore(site, everything, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{filepath.Join(site, "index", "00", "a"): "the second state"}
	for i, hash := range []string{one, three} {
		want[filepath.Join(site, backup.Originals, hash[:2], hash[2:4], hash)] = texts[2*i]
	}
	got := files(t, site)
	for path, content := range want {
		if got[path] != content {
			t.Errorf("%s holds %q, want %q", path, got[path], content)
		}
	}
	if len(got) != len(want) {
		t.Errorf("restored %d files, want %d", len(got), len(want))
	}
}

// TestEncryptionChanges goes from a plain backup to an encrypted one, to other recipients and back. Each backup replaces the previous one
// completely.
func TestEncryptionChanges(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	original(t, from, "the original")
	one, opensOne := recipient(t)
	two, opensTwo := recipient(t)
	for i, to := range []*crypto.Recipients{nil, &one, &two, &one, nil} {
		if to == nil {
			makeBackup(t, dir, from, "state")
		} else {
			makeEncrypted(t, dir, from, "state", *to, 0)
		}
		b, err := backup.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if to != nil {
			b = unlocked(t, dir, map[*crypto.Recipients]crypto.Opener{&one: opensOne, &two: opensTwo}[to])
		}
		if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
			t.Errorf("step %d: %v, %v", i, faults, err)
		}
		if err := b.Restore(t.TempDir(), everything, nil); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		all := files(t, dir)
		if want := map[bool]int{true: 4, false: 5}[to == nil]; len(all) != want {
			t.Errorf("step %d: %d files, want %d", i, len(all), want)
		}
		for path, content := range all {
			if to != nil && content == "the original" {
				t.Errorf("step %d: %s is not encrypted", i, path)
			}
		}
	}
}

// TestEncryptedDamage: Verify reports any damage to a file, with and without the identity, and Restore never puts a damaged file in
// place.
func TestEncryptedDamage(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	hash := original(t, from, strings.Repeat("an original of some length ", 10_000)) // several chunks
	to, opens := recipient(t)
	m := makeEncrypted(t, dir, from, "state", to, 0)
	var path string
	for path = range files(t, filepath.Join(dir, backup.Originals)) {
	}
	list, contents := filepath.Join(dir, m.State, "files.sha256"), filepath.Join(dir, m.State, "contents.age")
	for name, c := range map[string]struct {
		path   string
		change func(string) string // the file is removed if the result is empty
		wholly bool                // no file can be trusted
		opens  bool                // whether the list of contents is readable
	}{
		"flipped":         {path, func(s string) string { return s[:5000] + string(s[5000]^1) + s[5001:] }, false, true},
		"header flipped":  {path, func(s string) string { return s[:50] + string(s[50]^1) + s[51:] }, false, true},
		"cut at a chunk":  {path, func(s string) string { return s[:len(s)-len(s)%(64<<10)] }, false, true},
		"cut":             {path, func(s string) string { return s[:len(s)-1] }, false, true},
		"extended":        {path, func(s string) string { return s + "x" }, false, true},
		"empty":           {path, func(s string) string { return " " }, false, true},
		"missing":         {path, func(string) string { return "" }, false, true},
		"list":            {list, func(s string) string { return strings.Replace(s, "a", "b", 1) }, true, false},
		"list cut":        {list, func(s string) string { return s[:len(s)-len("x\n")] + "\n" }, true, false},
		"contents":        {contents, func(s string) string { return s[:len(s)-1] + string(s[len(s)-1]^1) }, false, false},
		"contents cut":    {contents, func(s string) string { return s[:len(s)-20] }, false, false},
		"contents gone":   {contents, func(string) string { return "" }, false, false},
		"contents others": {contents, func(string) string { return contentsOf(t, to, "{\"file\":\"x\",\"name\":\"../x\",\"sha256\":\"\"}\n") }, false, false},
		"contents climb": {contents, func(string) string {
			stored := filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
			return contentsOf(t, to, `{"file":"`+stored+`","name":"../x","sha256":"`+hash+`"}`+"\n")
		}, false, false},
		"contents none": {contents, func(string) string { return contentsOf(t, to, "") }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			whole := read(t, c.path)
			defer write(t, c.path, whole)
			if s := c.change(whole); s != "" {
				write(t, c.path, s)
			} else if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
			b, err := backup.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			faults, err := b.Verify(nil)
			if c.wholly != (err != nil) || !c.wholly && len(faults) != 1 {
				t.Errorf("without the identity: faults %v, %v", faults, err)
			}
			if err := b.Unlock(opens); c.opens != (err == nil) || err != nil && !errors.Is(err, concordat.ErrCorrupt) {
				t.Errorf("unlocked: %v", err)
			}
			if c.opens {
				if faults, err := b.Verify(nil); err != nil || len(faults) != 1 {
					t.Errorf("faults %v, %v", faults, err)
				}
			}
			site := t.TempDir()
			if err := b.Restore(site, everything, nil); err == nil {
				t.Error("restored without an error")
			}
			if _, err := os.Stat(filepath.Join(site, backup.Originals, hash[:2], hash[2:4], hash)); err == nil && c.path == path {
				t.Error("a damaged file was restored")
			}
		})
	}
}

// contentsOf encrypts a list of contents.
func contentsOf(t *testing.T, to crypto.Recipients, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := to.Encrypt(&b)
	if err == nil {
		_, err = w.Write([]byte(text))
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDamagedOriginal: an original damaged on the site's disk is backed up unchanged, reported by name, and never mistaken later for the
// intact one.
func TestDamagedOriginal(t *testing.T) {
	to, opens := recipient(t)
	for _, encrypted := range []bool{false, true} {
		dir, from := t.TempDir(), t.TempDir()
		hash := original(t, from, "whole")
		path := filepath.Join(from, hash[:2], hash[2:4], hash)
		for i, content := range []string{"whale", "whale", "whole"} {
			write(t, path, content)
			damaged := map[bool]int{true: 0, false: 1}[content == "whole"]
			if encrypted {
				makeEncrypted(t, dir, from, "state", to, damaged)
			} else {
				makePlain(t, dir, from, damaged)
			}
			b, err := backup.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if encrypted {
				b = unlocked(t, dir, opens)
			}
			if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
				t.Errorf("encrypted %v, backup %d: %v, %v", encrypted, i, faults, err)
			}
			site := t.TempDir()
			if err := b.Restore(site, everything, nil); err != nil {
				t.Fatal(err)
			}
			if got := read(t, filepath.Join(site, backup.Originals, hash[:2], hash[2:4], hash)); got != content {
				t.Errorf("encrypted %v, backup %d: restored %q, want %q", encrypted, i, got, content)
			}
		}
	}
}

func makePlain(t *testing.T, dir, originals string, damaged int) {
	t.Helper()
	m, err := backup.Begin(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.AddOriginals(t.Context(), originals); err != nil || len(got) != damaged {
		t.Fatal(got, err)
	}
	if _, err := m.Finish(t.Context(), backup.Manifest{Made: time.Now(), Site: "uni"}); err != nil {
		t.Fatal(err)
	}
}
