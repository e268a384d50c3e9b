package instance_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// TestHoldsSite: a folder contains a site once one was created there, but not if its configuration or its store is missing; unreadable
// parts are an error.
func TestHoldsSite(t *testing.T) {
	dir := create(t)
	holds := func(dir string, want bool) {
		t.Helper()
		if got, err := instance.HoldsSite(t.Context(), dir); got != want || err != nil {
			t.Errorf("it holds a site: %v, %v; want %v", got, err, want)
		}
	}
	holds(dir, true)
	holds(t.TempDir(), false)
	if err := os.Remove(filepath.Join(dir, instance.StoreName)); err != nil {
		t.Fatal(err)
	}
	holds(dir, false)
	if got, err := instance.HoldsSite(t.Context(), filepath.Join(dir, instance.ConfigName)); got || err == nil {
		t.Errorf("a file in place of a folder holds a site: %v, %v", got, err)
	}
}

// TestFreeSpace: a disk's free space is at most its size.
func TestFreeSpace(t *testing.T) {
	free, all, err := instance.FreeSpace(t.TempDir())
	if err != nil || free <= 0 || free > all {
		t.Errorf("%d of %d bytes are free, %v", free, all, err)
	}
	if _, _, err := instance.FreeSpace(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there has free space")
	}
}

// TestReadBounded: a file of the maximum size is read completely, a file one byte larger is refused, and a missing file is reported as
// missing.
func TestReadBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for n, want := range map[int]error{0: nil, 100: nil, 101: concordat.ErrInvalid} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := instance.ReadBounded(path, 100); !errors.Is(err, want) || err == nil && len(b) != n {
			t.Errorf("of %d bytes %d were read, %v", n, len(b), err)
		}
	}
	if _, err := instance.ReadBounded(path+"none", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestStrictestForward: a check determines what partners are asked. If it does not specify this, the strictest of its libraries decides;
// if it lists no library, the site does.
func TestStrictestForward(t *testing.T) {
	o := open(t, create(t), instance.StoreOnly)
	defer o.Close()
	for id, forward := range map[concordat.LibraryID]string{"all": site.ForwardAll, "unmatched": site.ForwardUnmatched,
		"none": site.ForwardNone, "silent": ""} {
		if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: id, Policy: store.Policy{Forward: forward}}); err != nil {
			t.Fatal(err)
		}
	}
	usual := o.Live.Now().Check.Forward
	for _, x := range []struct {
		wanted    string
		libraries []concordat.LibraryID
		want      string
	}{
		{site.ForwardAll, []concordat.LibraryID{"none"}, site.ForwardAll}, {"", nil, usual}, {"", []concordat.LibraryID{"silent"}, usual},
		{"", []concordat.LibraryID{"all"}, site.ForwardAll}, {"", []concordat.LibraryID{"none", "all", "silent"}, site.ForwardNone},
		{"", []concordat.LibraryID{"all", "unmatched"}, site.ForwardUnmatched},
	} {
		if got, err := o.Forward(t.Context(), x.wanted, x.libraries); got != x.want || err != nil {
			t.Errorf("check %q of %v: %q, %v; want %q", x.wanted, x.libraries, got, err, x.want)
		}
	}
	if _, err := o.Forward(t.Context(), "", []concordat.LibraryID{"all", "gone"}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("a library that is not there: %v", err)
	}
}

// farIndex is an index on another machine.
type farIndex struct {
	concordat.Index
	asked []concordat.DocumentID
}

func (x *farIndex) Document(_ context.Context, r concordat.Ref) (*concordat.Document, error) {
	if x.asked = append(x.asked, r.Document); r.Document == "deleted" {
		return nil, concordat.ErrNotFound
	}
	return &concordat.Document{ID: r.Document}, nil
}

func rowOf(o *instance.Instance, id concordat.DocumentID) store.DocumentRow {
	return store.DocumentRow{Library: "theses", ID: id, Hash: strings.Repeat("0", 64), Scheme: o.Profiler.Scheme(), Added: time.Now()}
}

// TestDocumentsFromAfar: documents of a library whose index is on another machine are returned one after another, without documents
// deleted in the meantime, and no more are fetched than needed.
func TestDocumentsFromAfar(t *testing.T) {
	o := open(t, create(t), instance.StoreOnly)
	defer o.Close()
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses"}); err != nil {
		t.Fatal(err)
	}
	ids := []concordat.DocumentID{"a", "b", "deleted", "e", "f"}
	for _, id := range ids {
		if err := o.Store.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{rowOf(o, id)}); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int][]concordat.DocumentID{9: {"a", "b", "e", "f"}, 2: {"a", "b"}} {
		far := &farIndex{}
		o.Index = far
		var got []concordat.DocumentID
		for d, err := range o.LibraryDocuments(t.Context(), "theses") {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, d.ID); len(got) == most {
				break
			}
		}
		if !slices.Equal(got, want) || most == 2 && len(far.asked) != 2 {
			t.Errorf("at most %d: %v of %v that were fetched, want %v", most, got, far.asked, want)
		}
	}
}

// TestAuthorityIsNamed: the named holder of the cluster authority's key is this node, or otherwise a live one. If the holder is away,
// that node is named, and never a node without the key.
func TestAuthorityIsNamed(t *testing.T) {
	l := &cluster.Layout{Members: map[coord.NodeID]cluster.Member{"a": {}, "b": {Authority: true}, "c": {}}}
	live := func(ids ...coord.NodeID) *coord.View {
		v := &coord.View{Live: map[coord.NodeID]coord.Node{}}
		for _, id := range ids {
			v.Live[id] = coord.Node{ID: id}
		}
		return v
	}
	for me, v := range map[coord.NodeID]*coord.View{"b": live(), "a": live("a", "b", "c")} {
		if n, err := instance.AuthorityOf(v, l, me); n.ID != "b" || err != nil {
			t.Errorf("node %s finds %q, %v; want b", me, n.ID, err)
		}
	}
	says := func(v *coord.View, words string) {
		t.Helper()
		if _, err := instance.AuthorityOf(v, l, "a"); !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want that %s", err, words)
		}
	}
	says(live("a", "c"), "node b")
	l.Members["b"] = cluster.Member{}
	says(live("a"), "no node has the key")
}

// TestStoreAloneSettlesNothing: a process that opens only a site's store leaves half-added documents to the process that has the index.
func TestStoreAloneSettlesNothing(t *testing.T) {
	dir := create(t)
	o := open(t, dir, instance.StoreOnly)
	begin := func() error {
		if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses"}); err != nil {
			return err
		}
		_, err := o.Store.Catalogue.BeginIntake(t.Context(), "", []store.DocumentRow{rowOf(o, "half")}, time.Now())
		return err
	}
	if err := errors.Join(begin(), o.Close()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		mode instance.Mode
		left int
	}{{instance.StoreOnly, 1}, {instance.WithIndex, 0}} {
		o := open(t, dir, x.mode)
		left, err := o.Store.Catalogue.Intakes(t.Context(), "")
		if err = errors.Join(err, o.Close()); err != nil || len(left) != x.left {
			t.Errorf("opened in mode %v, %d are left, %v; want %d", x.mode, len(left), err, x.left)
		}
	}
}

// TestSettingsOfAllNodesHold: a node starts with the cluster's settings as it last saw them; unreadable settings, or settings with
// unknown keys, end the start.
func TestSettingsOfAllNodesHold(t *testing.T) {
	dir := create(t)
	path := filepath.Join(dir, instance.ClusterName, "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for kept, good := range map[string]bool{
		`{"version": 3, "settings": {"format": 1, "keys": {"report.exclude_quotes": "true"}, "libraries": {}}}`: true,
		`{"version": 3, "settings": {"format": 1, "keys": {"report.no_such": "true"}, "libraries": {}}}`:        false,
		`{"version": 3, "settings": {"format": 2, "keys": {}, "libraries": {}}}`:                                false, `{"version": 3`: false,
	} {
		if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := instance.LoadConfig(filepath.Join(dir, instance.ConfigName))
		if (err == nil) != good || good && !c.Report.Rules.ExcludeQuotes {
			t.Errorf("settings %s: %v", kept, err)
		}
	}
}

// TestSharedKeystore: a failed change to the keystore shared by all nodes changes nothing and returns an error, and a node's own copy
// that other users can read is not passed to the nodes.
func TestSharedKeystore(t *testing.T) {
	o := open(t, create(t), instance.StoreOnly)
	defer o.Close()
	secret := crypto.RawKey([32]byte{1})
	id, err := o.Keys.Make(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, instance.KeystoreName)
	k := &instance.Keystore{Path: path, Secret: secret, Shared: o.Store}
	refused := errors.New("refused")
	got, err := k.Update(t.Context(), func(*crypto.Identity) (*crypto.Identity, error) { return nil, refused })
	if got != nil || !errors.Is(err, refused) {
		t.Errorf("a change that fails gives %v, %v", got, err)
	}
	o.Config.Cluster.Coordinator = "zk"
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.Keys.Sync(t.Context()); !errors.Is(err, keyfile.ErrMode) {
		t.Errorf("a copy that others may read: %v", err)
	}
	if n, err := o.Store.KeystoreVersion(t.Context()); n != 0 || err != nil {
		t.Errorf("the nodes share version %d, %v; want none", n, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Keys.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Update(t.Context(), func(id *crypto.Identity) (*crypto.Identity, error) { return id, nil }); err != nil ||
		got.Site() != id.Site() {
		t.Errorf("the shared keystore is %v, %v", got, err)
	}
}

// TestCopyOfStateIsWhole: a copy of the site for a backup is rejected if it lacks the index for lack of space.
func TestCopyOfStateIsWhole(t *testing.T) {
	o := open(t, create(t), instance.WithIndex)
	defer o.Close()
	if _, err := o.CopyState(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := os.MkdirAll(filepath.Join(to, instance.IndexName), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, instance.IndexName, "00"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.CopyState(t.Context(), to); err == nil {
		t.Error("the index could not be copied, and nothing is said")
	}
}
