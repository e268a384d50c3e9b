package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/instance"
)

// TestAuditHead: the signed audit head is stored next to the store. If the last entries of a store are missing or different, they
// disagree with the head, and the head that proves this is kept; the same applies to a head signed by another site.
func TestAuditHead(t *testing.T) {
	t.Setenv(instance.KeyFileVariable, "")
	dir, ctx := create(t), t.Context()
	o := open(t, dir, instance.StoreOnly)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.KeepAuditHead(ctx))
	if _, ok, err := o.KeptHead(ctx); err != nil || ok {
		t.Errorf("a site without keys: kept %v, error %v", ok, err)
	}
	_, err := o.EnsureKeys(ctx)
	must(err)
	must(o.Close())
	earlier, err := os.ReadFile(filepath.Join(dir, instance.StoreName))
	must(err)

	o = open(t, dir, instance.StoreOnly)
	must(o.Audit(ctx, "something happened", nil))
	must(o.KeepAuditHead(ctx))
	end, kept, err := o.AuditEnds(ctx)
	if err != nil || end != kept || kept.Seq == 0 {
		t.Errorf("the end is %v, kept is %v, error %v", end, kept, err)
	}
	must(o.Audit(ctx, "something else happened", nil))
	if _, _, err := o.AuditEnds(ctx); err != nil {
		t.Errorf("an audit that has gone on: %v", err)
	}
	must(o.KeepAuditHead(ctx))
	must(o.Close())

	// Remove the last entries, here by restoring an older copy of the store.
	must(os.WriteFile(filepath.Join(dir, instance.StoreName), earlier, 0o600))
	o = open(t, dir, instance.StoreOnly)
	for range 2 {
		if err := o.KeepAuditHead(ctx); !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("entries are missing at the end: error %v, want ErrCorrupt", err)
		}
	}
	// Different entries in their place do not hide this.
	for range 5 {
		must(o.Audit(ctx, "nothing happened", nil))
	}
	if err := o.KeepAuditHead(ctx); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("other entries at the end: error %v, want ErrCorrupt", err)
	}
	must(o.Close())

	other := open(t, create(t), instance.StoreOnly)
	defer other.Close()
	_, err = other.EnsureKeys(ctx)
	must(err)
	head, err := os.ReadFile(filepath.Join(dir, instance.AuditHeadName))
	must(err)
	must(os.WriteFile(filepath.Join(other.Dir, instance.AuditHeadName), head, 0o600))
	if _, _, err := other.KeptHead(ctx); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("a head that another site signed: error %v, want ErrCorrupt", err)
	}
}
