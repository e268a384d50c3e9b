package federation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/internal/powertest"
)

func diskOf(d *powertest.Disk) disk { return disk{sync: d.Sync, syncDir: d.SyncDir, rename: d.Rename} }

// afterPowerLoss returns what a site finds of the requests when its power is lost now.
func afterPowerLoss(t *testing.T, d *powertest.Disk, path string, now time.Time) *Replays {
	t.Helper()
	r, err := OpenReplays(filepath.Join(d.Lost(), filepath.Base(path)), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestReplaysPowerLoss takes the power away after each request that counts as run: it is not run again, though the file
// was rewritten many times meanwhile. Of a site that has just begun the file is there.
func TestReplaysPowerLoss(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	if _, found := afterPowerLoss(t, d, path, now).begin(verified(1, now), now); found != beginFresh {
		t.Fatalf("the file was lost as soon as it was made: the first request is found %d, want fresh", found)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	r.most = 40_000
	var run []*crypto.Verified
	for i := range 60 {
		v := verified(byte(i%4), now)
		e, found := r.begin(v, now)
		if found != beginFresh {
			t.Fatalf("request %d is found %d, want fresh", i, found)
		}
		if err := r.commit(e); err != nil {
			t.Fatal(err)
		}
		run = append(run, v)
		after := afterPowerLoss(t, d, path, now)
		for j, v := range run {
			if _, found := after.begin(v, now); found == beginFresh || found == beginRunning {
				t.Fatalf("power lost as request %d runs: request %d is run again", i, j)
			}
		}
		if _, found := after.begin(verified(1, now.Add(time.Second)), now.Add(time.Second)); found == beginEarly {
			t.Fatalf("power lost as request %d runs: the file is damaged", i)
		}
		if err := r.finish(e, make([]byte, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if r.written < 3 {
		t.Fatalf("the file was rewritten %d times, too seldom for this test", r.written)
	}
	last, lastPath := run[len(run)-1], path
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, found := afterPowerLoss(t, d, lastPath, now).begin(last, now); found != beginStored {
		t.Errorf("power lost after the file was closed: the last reply is found %d, want stored", found)
	}
}

// TestReplaysFailingDisk: what the disk does not take is told: a request does not run, a file is not made and not opened.
func TestReplaysFailingDisk(t *testing.T) {
	broken := errors.New("input/output error")
	now := time.Now()
	for _, step := range []string{powertest.Sync, powertest.SyncDir} {
		dir := t.TempDir()
		d := powertest.New(t, dir)
		d.Fail(step, broken)
		if err := createReplays(filepath.Join(dir, "replays"), diskOf(d)); !errors.Is(err, broken) {
			t.Errorf("%s fails: created with error %v", step, err)
		}
	}
	for _, step := range []string{powertest.Sync, powertest.Rename, powertest.SyncDir} {
		dir := t.TempDir()
		path := filepath.Join(dir, "replays")
		d := powertest.New(t, dir)
		if err := createReplays(path, diskOf(d)); err != nil {
			t.Fatal(err)
		}
		d.Fail(step, broken)
		if _, err := openReplays(path, now, diskOf(d)); !errors.Is(err, broken) {
			t.Errorf("%s fails: opened with error %v", step, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%s fails: %d files are left, error %v", step, len(files), err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "replays")
	d := powertest.New(t, dir)
	if err := createReplays(path, diskOf(d)); err != nil {
		t.Fatal(err)
	}
	r, err := openReplays(path, now, diskOf(d))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := r.begin(verified(1, now), now)
	d.Fail(powertest.Sync, broken)
	if err := r.commit(e); !errors.Is(err, broken) {
		t.Errorf("a request counts as run with error %v, though it is not on the disk", err)
	}
	if err := r.Close(); !errors.Is(err, broken) {
		t.Errorf("closed with error %v", err)
	}
}
