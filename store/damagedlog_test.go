package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/store"
)

// TestDamagedLog flips bytes in a killed process's database log, and truncates it. Either every acknowledged change is there, or the
// store names the damage.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "site.db")
	db := open(t, path, store.Options{})
	must(t, db.Close()) // the log starts empty
	db = open(t, path, store.Options{})
	defer db.Close()
	const documents = 12
	for i := range documents {
		must(t, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{document(fmt.Sprint(i))}))
	}
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(path + suffix)
		must(t, err)
		files[suffix] = b
	}
	wal := files["-wal"]
	if len(wal) < documents*4096 {
		t.Fatalf("the log has %d bytes", len(wal))
	}
	// reopen returns the number of documents in a copy with the given log.
	reopen := func(log []byte) (int, error) {
		t.Helper()
		at := filepath.Join(t.TempDir(), "site.db")
		must(t, os.WriteFile(at, files[""], 0o600))
		if log != nil {
			must(t, os.WriteFile(at+"-wal", log, 0o600))
		}
		must(t, os.WriteFile(at+"-shm", files["-shm"], 0o600))
		db, err := store.Open(t.Context(), at)
		if err != nil {
			return 0, err
		}
		defer db.Close()
		rows, err := db.Catalogue.Documents(t.Context(), document("0").Library, "", 100)
		return len(rows), err
	}
	if n, err := reopen(wal); err != nil || n != documents {
		t.Fatalf("undamaged: %d documents, %v", n, err)
	}
	named := 0
	try := func(what string, log []byte) {
		t.Helper()
		switch n, err := reopen(log); {
		case errors.Is(err, concordat.ErrCorrupt):
			named++
		case err != nil || n != documents:
			t.Errorf("%s: %d of %d documents, %v", what, n, documents, err)
		}
	}
	step := max(1, len(wal)/60)
	if testing.Short() {
		step = len(wal) / 12
	}
	for at := 3; at < len(wal); at += step {
		flipped := append([]byte{}, wal...)
		flipped[at] ^= 0x10
		try(fmt.Sprint("byte ", at), flipped)
		try(fmt.Sprint("cut at ", at), wal[:at])
		try(fmt.Sprint("cut before the frame at ", at), wal[:32+(at-3)/4120*4120])
	}
	try("an empty log", []byte{})
	if named == 0 {
		t.Error("nothing was named")
	}
	if n, err := reopen(nil); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("no log: %d documents, %v, want ErrCorrupt", n, err)
	}
}
