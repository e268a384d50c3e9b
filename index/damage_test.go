package index

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/internal/indextest"
)

// FuzzDamage changes eight bytes of one of a shard's files, or truncates it. Either the shard is refused, or it opens and every call
// returns, with or without an error. (It is undefined which documents are then present; Verify finds each changed byte of a segment.)
func FuzzDamage(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, warmOptions())
	if err != nil {
		f.Fatal(err)
	}
	g := indextest.NewGenerator(3, 30)
	for _, p := range []*concordat.Profile{g.Profile("l", "a", 70), g.Profile("l", "b", 20), g.Profile("m", "c", 3)} {
		err = errors.Join(err, s.Put(f.Context(), p))
	}
	err = errors.Join(err, s.Delete(f.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "b"}), s.Close())
	if err != nil {
		f.Fatal(err)
	}
	zaps, err := filepath.Glob(filepath.Join(dir, storeName, "*.zap"))
	if err != nil || len(zaps) == 0 {
		f.Fatal(zaps, err)
	}
	names := []string{headerName, tableName, filepath.Join(storeName, "root.bolt")}
	for _, z := range zaps {
		names = append(names, filepath.Join(storeName, filepath.Base(z)))
	}
	files := make([][]byte, len(names))
	for i, name := range names {
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(uint8(3), uint32(0), uint64(0), uint32(0))
	for i := range names {
		f.Add(uint8(i), uint32(len(files[i])/2), uint64(0x5a5a), uint32(0))
		f.Add(uint8(i), uint32(len(files[i])-30), uint64(1<<40), uint32(0)) // counts at the end of a segment
		f.Add(uint8(i), uint32(0), uint64(0), uint32(len(files[i])/3))
	}
	f.Fuzz(func(t *testing.T, file uint8, at uint32, x uint64, cut uint32) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, storeName), 0o700); err != nil {
			t.Fatal(err)
		}
		for i, b := range files {
			if i == int(file)%len(files) {
				b = append([]byte(nil), b[:len(b)-int(cut)%len(b)]...)
				if len(b) >= 8 {
					word := b[int(at)%(len(b)-7):]
					binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)^x)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, names[i]), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(dir, warmOptions())
		if x == 0 && cut == 0 && err != nil {
			t.Fatalf("undamaged: %v", err)
		}
		if err == nil {
			useDamaged(t, s)
		}
	})
}

// useDamaged calls everything that reads.
func useDamaged(t *testing.T, s *Shard) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // Merge retries as long as its context permits
	defer cancel()
	q := indextest.NewGenerator(3, 30).Query(5)
	_, _ = s.Match(ctx, q)
	_, _ = s.MatchStored(ctx, q)
	for range s.Documents(ctx) {
	}
	_, _ = s.TextStats(ctx, []concordat.Term{1, 2, 3})
	_ = s.Verify(ctx)
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_ = s.Merge(ctx)
	_ = s.Close()
}
