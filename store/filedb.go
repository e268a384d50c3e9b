package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Files returns the files that the database stores for all processes that have it open. dir is this process's folder for copies of
// recently stored or fetched files; it is created with the first file.
func (db *DB) Files(dir string) *Files { return &Files{dir: filepath.Clean(dir), db: db} }

const (
	partBytes = 256 << 10 // size of the part of a file in one row
	putParts  = 4         // parts per transaction, so that other writers get their turns
)

// Fetch returns the path of a read-only copy, on this machine, of the file with the given hash, or concordat.ErrNotFound. The first call
// copies the file from the database, with one part in memory at a time. If the bytes do not match the hash, it fails with
// concordat.ErrCorrupt. The copy can be removed a day later.
func (f *Files) Fetch(ctx context.Context, hash string) (string, error) {
	if f.db == nil {
		return f.Path(hash)
	}
	path, err := f.path(hash)
	if err != nil {
		return "", err
	}
	var size int64
	err = f.db.read().Row(ctx, `SELECT size FROM file WHERE hash = ?`, hash).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		_ = os.Remove(path) // deleted by someone else; Tidy tries again
		_ = os.Remove(path + madeSuffix)
	}
	if err != nil {
		return "", f.db.fail(err, "file %s", hash)
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err == nil {
		return path, nil
	}
	tmp, err := f.incoming()
	if err != nil {
		return "", fmt.Errorf("fetch file %s: %w", hash, err)
	}
	defer tmp.discard()
	if err := f.db.fetchFile(ctx, hash, size, tmp); err != nil {
		return "", f.db.fail(engine.NoSpace(err), "fetch file %s", hash)
	}
	return path, f.keep(tmp, path)
}

// fetchFile writes the content of a file to w.
func (db *DB) fetchFile(ctx context.Context, hash string, size int64, w io.Writer) error {
	h := sha256.New()
	to := io.MultiWriter(w, h)
	for n, got := int64(0), int64(0); got < size; n++ {
		var data []byte
		err := db.read().Row(ctx, `SELECT data FROM file_part WHERE hash = ? AND n = ?`, hash, n).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			if held, err := db.held(ctx, hash); err != nil || !held {
				return cmp.Or(err, sql.ErrNoRows) // deleted in the meantime
			}
			return fmt.Errorf("%w: part %d is missing", concordat.ErrCorrupt, n)
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(data); err != nil {
			return err
		}
		if got += int64(len(data)); len(data) == 0 || got > size {
			return fmt.Errorf("%w: the length of part %d is wrong (%d bytes)", concordat.ErrCorrupt, n, len(data))
		}
	}
	if hex.EncodeToString(h.Sum(nil)) != hash {
		return fmt.Errorf("%w: the content does not match its hash", concordat.ErrCorrupt)
	}
	return nil
}

// putFile stores the content of r, which has the given hash and size. Parts are named by the hash of the whole file, so that two
// processes that store the same file write the same rows, and the next call completes an interrupted one.
func (db *DB) putFile(ctx context.Context, hash string, size int64, r io.ReaderAt) error {
	for range 3 { // an Erase can come in between
		n, err := int64(0), error(nil)
		err = db.write(ctx, func(c engine.Conn) error {
			n, err = c.Exec(ctx, `UPDATE file SET stored = ? WHERE hash = ?`, stamp(db.now()), hash)
			return err
		})
		if err != nil || n > 0 {
			return err
		}
		for from := int64(0); from*partBytes < size; from += putParts {
			if err := db.putParts(ctx, hash, size, from, r); err != nil {
				return err
			}
		}
		whole := false
		err = db.write(ctx, func(c engine.Conn) error {
			var got int64
			if err := c.Row(ctx, `SELECT COALESCE(sum(length(data)), 0) FROM file_part WHERE hash = ?`, hash).Scan(&got); err != nil {
				return err
			}
			if whole = got == size; !whole {
				return nil
			}
			_, err := c.Exec(ctx, `INSERT INTO file (hash, size, stored) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET stored = excluded.stored`,
				hash, size, stamp(db.now()))
			return err
		})
		if err != nil || whole {
			return err
		}
	}
	return fmt.Errorf("%w: the file was deleted while being stored", concordat.ErrChanged)
}

func (db *DB) putParts(ctx context.Context, hash string, size, from int64, r io.ReaderAt) error {
	return db.write(ctx, func(c engine.Conn) error {
		for n := from; n < from+putParts && n*partBytes < size; n++ {
			data := make([]byte, min(partBytes, size-n*partBytes))
			if _, err := r.ReadAt(data, n*partBytes); err != nil {
				return err
			}
			if _, err := c.Exec(ctx, `INSERT INTO file_part (hash, n, stored, data) VALUES (?, ?, ?, ?)
				ON CONFLICT (hash, n) DO UPDATE SET stored = excluded.stored`, hash, n, stamp(db.now()), data); err != nil {
				return err
			}
		}
		return nil
	})
}

// eraseFile deletes a file and its parts, and reports whether it existed.
func (db *DB) eraseFile(ctx context.Context, hash string) (bool, error) {
	var n int64
	err := db.write(ctx, func(c engine.Conn) (err error) {
		if n, err = c.Exec(ctx, `DELETE FROM file WHERE hash = ?`, hash); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `DELETE FROM file_part WHERE hash = ?`, hash)
		return err
	})
	return n > 0, db.fail(err, "erase file %s", hash)
}

// tidyFiles deletes unneeded files stored before the given time, and orphaned parts.
func (db *DB) tidyFiles(ctx context.Context, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	for after := ""; ; {
		hashes, err := engine.Collect(ctx, db.read(), scanString, `SELECT hash FROM file WHERE stored < ? AND hash > ? ORDER BY hash LIMIT ?`,
			stamp(before), after, MaxPage)
		if err != nil {
			return n, db.fail(err, "list files")
		}
		for _, hash := range hashes {
			keep, err := needed(hash)
			if err == nil && !keep {
				_, err = db.eraseFile(ctx, hash)
				n++
			}
			if err != nil {
				return n, err
			}
		}
		if len(hashes) < MaxPage {
			break
		}
		after = hashes[len(hashes)-1]
	}
	err = db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM file_part WHERE stored < ? AND NOT EXISTS (SELECT 1 FROM file f WHERE f.hash = file_part.hash)`,
			stamp(before))
		return err
	})
	return n, db.fail(err, "delete unused parts of files")
}

// held reports whether the database has the file.
func (db *DB) held(ctx context.Context, hash string) (bool, error) {
	var held bool
	err := db.read().Row(ctx, `SELECT EXISTS (SELECT 1 FROM file WHERE hash = ?)`, hash).Scan(&held)
	return held, db.fail(err, "file %s", hash)
}

// All calls each with the hash of every file, in no particular order, until each returns an error.
func (f *Files) All(ctx context.Context, each func(hash string) error) error {
	if f.db == nil {
		err := filepath.WalkDir(f.dir, func(_ string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case ctx.Err() != nil:
				return ctx.Err()
			case d.IsDir() || !fileName.MatchString(d.Name()):
				return nil
			}
			return each(d.Name())
		})
		if errors.Is(err, os.ErrNotExist) { // no file was ever stored
			return nil
		}
		return err
	}
	for after := ""; ; {
		hashes, err := engine.Collect(ctx, f.db.read(), scanString, `SELECT hash FROM file WHERE hash > ? ORDER BY hash LIMIT ?`, after, MaxPage)
		if err != nil {
			return f.db.fail(err, "list files")
		}
		for _, hash := range hashes {
			if err := each(hash); err != nil {
				return err
			}
		}
		if len(hashes) < MaxPage {
			return nil
		}
		after = hashes[len(hashes)-1]
	}
}

// Name returns the name of the files in a deletion receipt.
func (*Files) Name() string { return "originals" }

// Erase deletes the originals of a task and returns their number. On return, their names are gone from disk. Other machines remove their
// copies of files in the database at their next Tidy.
func (f *Files) Erase(ctx context.Context, _ concordat.TaskID, originals []string) (n int, err error) {
	for _, hash := range originals {
		path, err := f.path(hash)
		if err != nil {
			return n, err
		}
		there := false
		if f.db != nil {
			if there, err = f.db.eraseFile(ctx, hash); err != nil {
				return n, err
			}
		}
		err = os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		if there || err == nil {
			n++
		}
		// Also remove any PDF made from it, because an earlier call may have been interrupted in between.
		if err := os.Remove(path + madeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		// Do this even if there was nothing to remove, because an interrupted call can have removed the file only in memory.
		if err := syncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
	}
	return n, nil
}

// Tidy deletes unneeded files stored before the given time, and whatever interrupted Puts left behind, and returns the number deleted. If
// the files are in the database, it also removes copies in the folder that have not been used since then or belong to deleted files.
func (f *Files) Tidy(ctx context.Context, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	return f.Forget(ctx, time.Time{}, before, needed)
}

// Forget is like Tidy, for files stored in the folder at or after since.
func (f *Files) Forget(ctx context.Context, since, before time.Time, needed func(hash string) (bool, error)) (n int, err error) {
	if f.db != nil {
		if n, err = f.db.tidyFiles(ctx, before, needed); err != nil {
			return n, err
		}
	}
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no file was ever stored, or it was deleted in the meantime
		case err != nil:
			return err
		case d.IsDir() && !strings.HasPrefix(d.Name(), "incoming-"):
			return ctx.Err()
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.ModTime().Before(since) {
			return nil
		}
		young := !info.ModTime().Before(before)
		if of, made := strings.CutSuffix(d.Name(), madeSuffix); made && fileName.MatchString(of) {
			if _, err := os.Stat(strings.TrimSuffix(path, madeSuffix)); !errors.Is(err, fs.ErrNotExist) {
				return err // it is deleted with the file
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
		if d.IsDir() { // a folder created by Workplace
			if young {
				return fs.SkipDir
			}
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return fs.SkipDir
		}
		keep, err := f.keeps(ctx, d.Name(), young, needed)
		if keep || err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Remove(path + madeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if f.db == nil {
			n++
		}
		return nil
	})
	return n, err
}

// keeps reports whether a file in the folder is kept.
func (f *Files) keeps(ctx context.Context, name string, young bool, needed func(hash string) (bool, error)) (bool, error) {
	switch {
	case strings.HasPrefix(name, "incoming-"):
		return young, nil
	case !fileName.MatchString(name):
		return true, nil // not ours
	case f.db != nil:
		held, err := f.db.held(ctx, name)
		return held && young, err
	case young:
		return true, nil
	}
	return needed(name)
}
