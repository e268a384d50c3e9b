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
	must(instance.KeepAuditHead(ctx, o.Dir, o.Store))
	if _, ok, err := instance.KeptHead(ctx, o.Dir, o.Store); err != nil || ok {
		t.Errorf("a site without keys: kept %v, error %v", ok, err)
	}
	_, err := o.Keys.Ensure(ctx)
	must(err)
	must(o.Close())
	earlier, err := os.ReadFile(filepath.Join(dir, instance.StoreName))
	must(err)

	o = open(t, dir, instance.StoreOnly)
	must(instance.Audit(ctx, o.Store, "something happened", nil))
	must(instance.KeepAuditHead(ctx, o.Dir, o.Store))
	end, kept, err := instance.AuditEnds(ctx, o.Dir, o.Store)
	if err != nil || end != kept || kept.Seq == 0 {
		t.Errorf("the end is %v, kept is %v, error %v", end, kept, err)
	}
	must(instance.Audit(ctx, o.Store, "something else happened", nil))
	if _, _, err := instance.AuditEnds(ctx, o.Dir, o.Store); err != nil {
		t.Errorf("an audit that has gone on: %v", err)
	}
	must(instance.KeepAuditHead(ctx, o.Dir, o.Store))
	must(o.Close())

	// Remove the last entries, here by restoring an older copy of the store.
	must(os.WriteFile(filepath.Join(dir, instance.StoreName), earlier, 0o600))
	o = open(t, dir, instance.StoreOnly)
	for range 2 {
		if err := instance.KeepAuditHead(ctx, o.Dir, o.Store); !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("entries are missing at the end: error %v, want ErrCorrupt", err)
		}
	}
	// Different entries in their place do not hide this.
	for range 5 {
		must(instance.Audit(ctx, o.Store, "nothing happened", nil))
	}
	if err := instance.KeepAuditHead(ctx, o.Dir, o.Store); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("other entries at the end: error %v, want ErrCorrupt", err)
	}
	must(o.Close())

	other := open(t, create(t), instance.StoreOnly)
	defer other.Close()
	_, err = other.Keys.Ensure(ctx)
	must(err)
	head, err := os.ReadFile(filepath.Join(dir, instance.AuditHeadName))
	must(err)
	must(os.WriteFile(filepath.Join(other.Dir, instance.AuditHeadName), head, 0o600))
	if _, _, err := instance.KeptHead(ctx, other.Dir, other.Store); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("a head that another site signed: error %v, want ErrCorrupt", err)
	}
}
