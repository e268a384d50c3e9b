//go:build linux

package program

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"filippo.io/age"

	"concordat/cmd/cli"
	"concordat/instance"
)

// holding returns the files below dir that contain part of a secret.
func holding(t *testing.T, dir string, part []byte) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, part) {
			names = append(names, e.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// backupKey is an identity that decrypts backups.
type backupKey struct{ recipient, file string }

func newBackupKey(t *testing.T) backupKey {
	t.Helper()
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	k := backupKey{id.Recipient().String(), filepath.Join(t.TempDir(), "identity")}
	if err := os.WriteFile(k.file, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// middle returns a part of a secret that is contiguous wherever the secret is stored, even in database pages.
func middle(secret []byte) []byte { return secret[len(secret)/2:][:min(24, len(secret)/2)] }

// TestBackupWithoutKeys: a backup without keys contains none of their bytes and is useless alone; with keys from elsewhere it restores
// the whole site.
func TestBackupWithoutKeys(t *testing.T) {
	t.Parallel()
	data, bare, whole := newSite(t), filepath.Join(t.TempDir(), "bare"), filepath.Join(t.TempDir(), "whole")
	encrypted := filepath.Join(t.TempDir(), "encrypted")
	essay := filepath.Join(t.TempDir(), "essay.txt")
	if err := os.WriteFile(essay, []byte(prose(3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "add", "-l", "l", essay)
	output(t, 0, data, "site", "key", "init")
	before := answers(t, data, essay)
	identity, _ := output(t, 0, data, "site", "key", "show")
	output(t, 0, data, "backup", bare, "--without-keys")
	output(t, 0, data, "backup", whole, "--plain")
	key := newBackupKey(t)
	output(t, 0, data, "backup", encrypted, "--recipient", key.recipient)

	keys := map[string][]byte{instance.KeystoreName: nil, instance.KeyFileName: nil, instance.IndexKeyName: nil}
	for name := range keys {
		b, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = b
		if found := holding(t, bare, middle(b)); len(found) > 0 {
			t.Errorf("%s is in %s of a backup without keys", name, found)
		}
		if found := holding(t, whole, middle(b)); !slices.Contains(found, name) {
			t.Errorf("%s is not in a backup with keys", name)
		}
		if found := holding(t, encrypted, middle(b)); len(found) > 0 {
			t.Errorf("%s is in %s of an encrypted backup", name, found)
		}
	}
	if found := holding(t, encrypted, []byte(prose(3000))[1000:1040]); len(found) > 0 {
		t.Errorf("the text is in %s of an encrypted backup", found)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "restore", bare)
	for _, args := range [][]string{{"check", essay}, {"add", "-l", "l", essay}, {"site", "key", "show"}} {
		c := program(t, data, args...)
		if said, err := c.CombinedOutput(); err == nil {
			t.Errorf("without its keys the site does %s: %s", args, said)
		}
	}
	for name, b := range keys {
		if err := os.WriteFile(filepath.Join(data, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if after := answers(t, data, essay); after != before {
		t.Errorf("with its keys the site answers\n%.300s\nbefore:\n%.300s", after, before)
	}
	if again, _ := output(t, 0, data, "site", "key", "show"); again != identity {
		t.Errorf("it is %s, was %s", again, identity)
	}
}

// withoutKeys makes a backup on one of the site's nodes and requires that it does not contain their shared keystore.
func (s *joinedSite) withoutKeys() {
	s.t.Helper()
	version, shared, err := s.db.Keystore(s.t.Context())
	if err != nil || version == 0 {
		s.t.Fatalf("the nodes share no keystore: version %d, %v", version, err)
	}
	n := s.nodes[1]
	bare, whole := filepath.Join(s.t.TempDir(), "bare"), filepath.Join(s.t.TempDir(), "whole")
	n.command(cli.Done, "backup", bare, "--without-keys")
	n.command(cli.Done, "backup", whole, "--plain")
	secrets := map[string][]byte{"shared keystore": shared}
	for _, name := range []string{instance.KeyFileName, instance.IndexKeyName} {
		if secrets[name], err = os.ReadFile(filepath.Join(n.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, b := range secrets {
		if found := holding(s.t, bare, middle(b)); len(found) > 0 {
			s.t.Errorf("%s is in %s of a backup without keys", name, found)
		}
		if found := holding(s.t, whole, middle(b)); len(found) == 0 {
			s.t.Errorf("%s is not in a backup with keys", name)
		}
	}
	if found := holding(s.t, whole, middle(shared)); !slices.Contains(found, instance.StoreName) {
		s.t.Errorf("the copy of the store has the shared keystore in %s", found)
	}
	if now, err := s.db.KeystoreVersion(s.t.Context()); err != nil || now != version {
		s.t.Errorf("the site's own keystore has version %d, %v, want %d", now, err, version)
	}
}
