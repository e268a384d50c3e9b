package zk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
)

// FuzzDecode reads possible contents of ZooKeeper, where others can write too.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"site":"alpha","scheme":"natural","cluster":"00112233445566778899aabbccddeeff"}`,
		`{"epoch":3,"isr":["a","b"],"hold":["b"],"leader_inc":"a:1.2","replicas":["a","b","c"]}`,
		`{"id":"a","incarnation":"a:1.2","address":"h:1","version":"v","free_bytes":7}`,
		`{"instance":"00112233445566778899aabbccddeeff"}`, `{"isr":[]}`, `[`, ``, `null`, `{"isr":["a","a"],"replicas":[""]}`,
	} {
		f.Add("a%3A1.2", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		if s, err := decodeSite(b); err == nil && (s.Site == "" || s.Cluster == "") {
			t.Errorf("got %+v", s)
		}
		if s, err := decodeShard("00", b, 1); err == nil && s.Validate() != nil {
			t.Errorf("got %+v", s)
		}
		if n, err := decodeLive(name, b); err == nil && (n.ID == "" || !strings.HasPrefix(string(n.Incarnation), string(n.ID)+":") ||
			escape(string(n.Incarnation)) != name) {
			t.Errorf("%q: got %+v", name, n)
		}
		if level := escape(name); name != "" && len(name) <= maxName {
			if back, ok := unescape(level); !ok || back != name || strings.Contains(level, "/") {
				t.Errorf("%q becomes %q becomes %q", name, level, back)
			}
		}
		path := filepath.Join(t.TempDir(), "identity.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := readMemory(path, "a"); err == nil && (m.Cluster == "" || m.Instance == "" || m.Node != "a") {
			t.Errorf("got %+v", m)
		}
	})
}

func TestOptions(t *testing.T) {
	good := Options{Servers: []string{"zk1:2181"}, Site: "alpha", Node: "n1", Identity: "x"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]func(*Options){
		"ZooKeeper servers is 0":       func(o *Options) { o.Servers = nil },
		"must have the form host:port": func(o *Options) { o.Servers = []string{"zk1"} },
		"\":2181\" must have the form": func(o *Options) { o.Servers = append(o.Servers, ":2181") },
		"\"zk1:\" must have the form":  func(o *Options) { o.Servers = append(o.Servers, "zk1:") },
		"the site is missing":          func(o *Options) { o.Site, o.Root = "", "/x" }, "root of the znodes": func(o *Options) { o.Root = "/a/../b" },
		"not a valid node name": func(o *Options) { o.Node = "a:b" }, "identity file": func(o *Options) { o.Identity = "" },
		"session timeout": func(o *Options) { o.Timeout = 1 },
	} {
		bad := good
		o(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("site:pass:word\n", 0o640)
	if a, err := ReadAccount(path); err != nil || a.User != "site" || a.password != "pass:word" {
		t.Errorf("got user %q, %v", a.User, err)
	}
	for text, mode := range map[string]os.FileMode{"site:open\n": 0o644, "hidden7": 0o600, ":hidden7": 0o600, "a:b\nhidden7": 0o600,
		strings.Repeat("hidden7", 1000): 0o600} {
		write(text, mode)
		if _, err := ReadAccount(path); err == nil || strings.Contains(err.Error(), "hidden7") {
			t.Errorf("got %v", err)
		}
	}
	t.Setenv(AccountVariable, "env:x1")
	if a, err := ReadAccount(""); err != nil || a.User != "env" || a.password != "x1" {
		t.Errorf("got %v, %v", a, err)
	}
	t.Setenv(AccountVariable, "")
	if a, err := ReadAccount(""); err != nil || a != (Account{}) {
		t.Errorf("got %v, %v", a, err)
	}
}

// TestEscapeKeepsApart: no two names share a znode.
func TestEscapeKeepsApart(t *testing.T) {
	seen := map[string]concordat.ShardID{}
	for _, id := range []concordat.ShardID{".", "..", "%2E", "%2e", "a/b", "a%2Fb", "a%2fb", "A/B", "a b", "a+b", "a%20b"} {
		e := escape(string(id))
		if other, ok := seen[e]; ok {
			t.Errorf("%q and %q are both %q", id, other, e)
		}
		seen[e] = id
	}
}
