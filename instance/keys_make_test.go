package instance_test

import (
	"os"
	"path/filepath"
	"testing"

	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

// TestEnsureKeys: an older site gets keys and a card without an address, once.
func TestEnsureKeys(t *testing.T) {
	t.Setenv(instance.KeyFileVariable, "")
	o, ctx := open(t, create(t), instance.StoreOnly), t.Context()
	defer o.Close()
	if k, err := o.Keys.State(ctx); err != nil || k.Made {
		t.Fatalf("before: %+v, %v", k, err)
	}
	made, err := o.Keys.Ensure(ctx)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	k, err := o.Keys.State(ctx)
	if err != nil || !k.Made || !k.WantsExport() || k.Card == nil || k.Card.Name != "A test" || len(k.Card.URLs) != 0 {
		t.Fatalf("after: %+v, %v", k, err)
	}
	if made, err := o.Keys.Ensure(ctx); err != nil || made {
		t.Errorf("again: made %v, %v", made, err)
	}
	// A site whose keystore is lost does not get new keys automatically, because others know it by the old ones.
	if err := os.Rename(filepath.Join(o.Dir, instance.KeystoreName), filepath.Join(o.Dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if made, err := o.Keys.Ensure(ctx); err != nil || made {
		t.Errorf("keystore lost: made %v, %v", made, err)
	}
}

// TestEnsureKeysPartners: a site gets no new keys if partners know its missing ones.
func TestEnsureKeysPartners(t *testing.T) {
	o, ctx := open(t, create(t), instance.StoreOnly), t.Context()
	if err := o.Store.Partners.AddPartner(ctx, store.Partner{Site: "AAAAAAA", Name: "north", Card: []byte("card")}); err != nil {
		t.Fatal(err)
	}
	if made, err := o.Keys.Ensure(ctx); err != nil || made {
		t.Errorf("made %v, %v", made, err)
	}
}

// TestLockedRoot: the copy opens with its passphrase, and the question is not repeated.
func TestLockedRoot(t *testing.T) {
	t.Setenv(instance.KeyFileVariable, "")
	o, ctx := open(t, create(t), instance.StoreOnly), t.Context()
	if _, err := o.Keys.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if err := o.Keys.PutOffRoot(ctx); err != nil {
		t.Fatal(err)
	}
	if k, err := o.Keys.State(ctx); err != nil || k.WantsExport() || !k.Root {
		t.Errorf("put off: %+v, %v", k, err)
	}
	pass := crypto.Passphrase([]byte("correct horse battery"))
	b, err := o.Keys.LockedRoot(ctx, pass)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := crypto.UnlockRoot(b, crypto.Passphrase([]byte("correct horse battery")))
	if err != nil || len(seed) != 32 {
		t.Errorf("%d bytes, %v", len(seed), err)
	}
	if _, err := crypto.UnlockRoot(b, crypto.Passphrase([]byte("another horse"))); err == nil {
		t.Error("opens with another passphrase")
	}
	if k, err := o.Keys.State(ctx); err != nil || k.Exported.IsZero() || !k.Root {
		t.Errorf("exported: %+v, %v", k, err)
	}
}
