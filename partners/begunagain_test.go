package partners

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/profile"
)

// TestFederationBegunAgain: a site that leaves a federation and creates another with the same name has a different secret under the same
// epoch number. A serving process adopts the new secret, even if it read nothing between the two changes, and so does a later process.
func TestFederationBegunAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := instance.Create(t.Context(), dir, "test", "", profile.Natural, "", false); err != nil {
		t.Fatal(err)
	}
	led := false
	serve := func() (*instance.Instance, *instance.Keystore, *Server) {
		t.Helper()
		o, err := instance.Open(t.Context(), dir, instance.Serve, instance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Keys.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		k, _, err := o.Keys.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = instance.MakeCard(t.Context(), o.Store, k, crypto.CardFields{Name: "site", URLs: []string{"https://127.0.0.1:1"},
			Modes: crypto.ModeSealed}, nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		if !led {
			if _, err := CreateFederation(t.Context(), o, k, "health", "root"); err != nil {
				t.Fatal(err)
			}
			led = true
		}
		p, err := NewServer(t.Context(), o, Options{Log: slog.New(slog.DiscardHandler), Tell: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		return o, k, p
	}
	again := func(k *instance.Keystore) {
		t.Helper()
		_, err := k.Update(t.Context(), func(id *crypto.Identity) (*crypto.Identity, error) {
			return id.Leave("health").NewEpoch("health", time.Now(), 0, rand.Reader)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	epoch := concordat.Epoch{Federation: "health", Number: 1}
	// want checks that the server uses the secret of the keys on disk.
	want := func(o *instance.Instance, p *Server, former concordat.Scheme) concordat.Scheme {
		t.Helper()
		_, id, err := o.Keys.Open()
		if err != nil {
			t.Fatal(err)
		}
		f, err := id.Federation("health")
		if err != nil || len(f.Epochs) != 1 || f.Epochs[0].Number != 1 {
			t.Fatalf("epochs %+v, error %v", f.Epochs, err)
		}
		public, err := profile.New(profile.Options{Recipe: o.Config.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		keyed, err := profile.New(profile.Options{Recipe: o.Config.Scheme, Key: f.Epochs[0].FingerprintKey(string(public.Scheme()))})
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Scheme(epoch)
		if !ok || got != keyed.Scheme() || got == former {
			t.Errorf("served under %s (%v), want %s and not %s", got, ok, keyed.Scheme(), former)
		}
		asked, err := p.Client().Profiler(f, f.Epochs[0])
		if err != nil || asked.Scheme() != keyed.Scheme() {
			t.Errorf("partners are asked under %s (%v), want %s", asked.Scheme(), err, keyed.Scheme())
		}
		rows, err := o.Store.Answers.Epochs(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Scheme != keyed.Scheme() {
			t.Errorf("the store has %+v (%v), want %s", rows, err, keyed.Scheme())
		}
		return got
	}
	o, k, p := serve()
	first := want(o, p, "")
	again(k)
	if err := p.Reread(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := want(o, p, first)
	again(k) // the process ends before it has seen the change
	if err := errors.Join(p.Close(), o.Close()); err != nil {
		t.Fatal(err)
	}
	o, k, p = serve()
	third := want(o, p, second)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	// A crash between the changes of the store and the folder leaves the index of a secret that no longer exists.
	if err := o.Answers.Sets.UseEpochs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.Answers.Sets.DropEpoch(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(EpochFolder(dir, epoch)); errors.Is(err, fs.ErrNotExist) {
		t.Fatal("there is no index to be left over")
	}
	again(k)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o, _, p = serve()
	want(o, p, third)
	if err := errors.Join(p.Close(), o.Close()); err != nil {
		t.Fatal(err)
	}
}
