package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"concordat"
	"concordat/store"
)

// regain restores members' texts from their files if they are missing from the batch's index because another process, with a separate
// index, worked on the batch.
func (r *batchRun) regain(ctx context.Context) error {
	if !r.s.Options().Shared {
		return nil
	}
	members, err := r.o.Store.Batches.BatchMembers(ctx, r.id)
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, m := range members {
		if !m.Cause.IsZero() {
			continue
		}
		_, err := r.o.Index.Document(ctx, r.ref(m.Name))
		if errors.Is(err, concordat.ErrNotFound) {
			missing[m.Name] = true
		} else if err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	inputs, err := r.o.Store.Batches.BatchInputs(ctx, r.id, false)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if err := r.regainFile(ctx, in, missing); err != nil {
			return err
		}
	}
	for name := range missing {
		return fmt.Errorf("text of %s and %d more documents: %w: the texts were on another node and can no longer be read from the files", name,
			len(missing)-1, concordat.ErrNotFound)
	}
	return nil
}

// regainFile adds the missing documents of a file to the index, and removes them from missing.
func (r *batchRun) regainFile(ctx context.Context, in store.BatchInput, missing map[string]bool) error {
	needed := false
	for name := range missing {
		needed = needed || name == in.Name || strings.HasPrefix(name, in.Name+"!/")
	}
	if !needed {
		return nil
	}
	f, err := r.readFile(ctx, in)
	if err != nil {
		return err
	}
	var profiles []*concordat.Profile
	for _, p := range f.profiles {
		if missing[string(p.Document.ID)] {
			profiles = append(profiles, p)
			delete(missing, string(p.Document.ID))
		}
	}
	if len(profiles) == 0 {
		return nil
	}
	return r.o.Index.Put(ctx, profiles...)
}
