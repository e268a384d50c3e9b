package retain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
	"concordat/site/answer"
	"concordat/site/batch"
	"concordat/store"
)

// Places provides access to the batches' own indexes, which contain the texts of their documents.
type Places interface {
	// OpenBatch opens the index of a batch; done closes it. It fails with concordat.ErrLocked while a process is working on the batch,
	// and with concordat.ErrNotFound if the batch has no index.
	OpenBatch(id string) (index concordat.Index, done func() error, err error)
	// RemoveBatch removes all files of a batch and returns their number. It fails with concordat.ErrLocked while a process is working on
	// the batch.
	RemoveBatch(id string) (int, error)
	// RemoveWritten removes the pages, tables and reports that commands wrote to a batch's folder, and returns the number of files.
	RemoveWritten(id string) (int, error)
}

// batchPlace is the name of the batches' indexes in receipts.
const batchPlace = "batches"

// deleteBatch deletes a batch and everything made from its documents.
func (e *Eraser) deleteBatch(ctx context.Context, r *Receipt, id string) error {
	b, err := e.o.Store.Batches.Batch(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	members, err := e.o.Store.Batches.BatchMembers(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Batches, func(x ErasedBatch) bool { return x.Batch == id })
	if i < 0 {
		i, r.Batches = len(r.Batches), append(r.Batches, ErasedBatch{Batch: id, Documents: len(members)})
	}
	if err := e.step(ctx, r, store.ErasureAsked); err != nil {
		return err
	}
	if e.o.Batches != nil { // files first, so that nothing is deleted while another process is working on the batch
		n, err := e.o.Batches.RemoveBatch(id)
		if err != nil {
			return err
		}
		if r.Batches[i].Files += n; n > 0 {
			r.place(batchPlace, n, "removed")
		}
	}
	for _, m := range members {
		if err := e.deleteRounds(ctx, r, b, m.Number, m.Task); err != nil {
			return err
		}
		if m.Task != "" {
			if err := e.deleteTask(ctx, r, m.Task); err != nil {
				return err
			}
		}
	}
	inputs, err := e.o.Store.Batches.BatchInputs(ctx, id, false)
	if err != nil {
		return err
	}
	if err := e.o.Store.Batches.DeleteBatch(ctx, id); err != nil {
		return err
	}
	return e.eraseInputs(ctx, r, inputs)
}

// eraseInputs removes the submitted files of a batch, except those still needed elsewhere. A batch needs them until it has read them or
// is deleted. If a crash prevents this, they are removed as orphans at the next start.
func (e *Eraser) eraseInputs(ctx context.Context, r *Receipt, inputs []store.BatchInput) error {
	var files []string
	for _, in := range inputs {
		if in.Place != "" && !filepath.IsAbs(in.Place) { // otherwise it is someone's own file
			files = append(files, in.Place)
		}
	}
	files, err := e.unneeded(ctx, files)
	if err != nil {
		return err
	}
	return e.eraseFrom(ctx, r, "", files)
}

// unwrite removes the output of commands for a check's batch, if any, since it contains the text too.
func (e *Eraser) unwrite(ctx context.Context, task concordat.TaskID, dry bool) error {
	if e.o.Batches == nil || dry {
		return nil
	}
	id, _, err := e.o.Store.Batches.BatchOfTask(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = e.o.Batches.RemoveWritten(id)
	return err
}

// deleteRounds deletes a member's checks from earlier rounds.
func (e *Eraser) deleteRounds(ctx context.Context, r *Receipt, b store.Batch, number int, latest concordat.TaskID) error {
	for round := 1; round <= b.Round; round++ {
		id := batch.TaskOf(b.ID, number, round)
		if id == latest || latest == "" {
			continue
		}
		if err := e.deleteTask(ctx, r, id); err != nil {
			return err
		}
	}
	return nil
}

// leaveBatch removes a check's document from the check's batch, if any.
func (e *Eraser) leaveBatch(ctx context.Context, r *Receipt, task concordat.TaskID) error {
	id, number, err := e.o.Store.Batches.BatchOfTask(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	members, err := e.o.Store.Batches.BatchMembers(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(members, func(m store.BatchMember) bool { return m.Number == number })
	if i < 0 {
		return nil
	}
	return e.deleteMember(ctx, r, id, members[i])
}

// deleteMembers deletes documents of a batch and their checks.
func (e *Eraser) deleteMembers(ctx context.Context, r *Receipt, id string, names []concordat.DocumentID) error {
	members, err := e.o.Store.Batches.BatchMembers(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range members {
		if !slices.Contains(names, concordat.DocumentID(m.Name)) {
			continue
		}
		if err := e.deleteMember(ctx, r, id, m); err != nil {
			return err
		}
		if m.Task != "" {
			if err := e.deleteTask(ctx, r, m.Task); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteMember removes a document from a batch: its text from the index, its wording and name from the reports of other documents,
// regardless of the policy for libraries, and its record from the store. The store comes last; before that, the call can be repeated.
func (e *Eraser) deleteMember(ctx context.Context, r *Receipt, id string, m store.BatchMember) error {
	b, err := e.o.Store.Batches.Batch(ctx, id)
	if err != nil {
		return err
	}
	library, doc := concordat.BatchLibrary(id), concordat.DocumentID(m.Name)
	if err := e.leaveBatchIndex(ctx, r, id, e.s.Ref(library, doc)); err != nil {
		return fmt.Errorf("batch %s: %w", id, err)
	}
	citing, err := e.o.Store.Retention.Citing(ctx, e.s.Ref(library, doc))
	if err != nil {
		return err
	}
	for _, task := range citing {
		if err := e.uncite(ctx, CitedWithhold, task, library, []concordat.DocumentID{doc}); err != nil {
			return err
		}
		r.Reports++
	}
	if err := e.deleteRounds(ctx, r, b, m.Number, m.Task); err != nil {
		return err
	}
	request, err := withoutMember(b.Request, m.Name)
	if err != nil {
		return fmt.Errorf("batch %s: %w", id, err)
	}
	if err := e.eraseFiles(ctx, r, id, m); err != nil {
		return fmt.Errorf("batch %s: %w", id, err)
	}
	return e.o.Store.Batches.EraseBatchMember(ctx, id, m.Number, request)
}

// eraseFiles removes the submitted file of a batch's document, or the whole archive, and the output of commands for the batch, which can
// be regenerated without the document.
func (e *Eraser) eraseFiles(ctx context.Context, r *Receipt, id string, m store.BatchMember) error {
	inputs, err := e.o.Store.Batches.BatchInputs(ctx, id, false)
	if err != nil {
		return err
	}
	inputs = slices.DeleteFunc(inputs, func(in store.BatchInput) bool {
		return in.Name != m.Name && !strings.HasPrefix(m.Name, in.Name+"!/")
	})
	if err := e.eraseInputs(ctx, r, inputs); err != nil || e.o.Batches == nil {
		return err
	}
	n, err := e.o.Batches.RemoveWritten(id)
	if n > 0 {
		r.place(batchPlace, n, "removed")
	}
	return err
}

// leaveBatchIndex deletes a text from a batch's index and erases it from disk.
func (e *Eraser) leaveBatchIndex(ctx context.Context, r *Receipt, id string, ref concordat.Ref) error {
	if e.o.Batches == nil {
		return nil
	}
	index, done, err := e.o.Batches.OpenBatch(id)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = index.Delete(ctx, ref)
	var state string
	if err == nil {
		state, err = answer.PurgeIndex(ctx, index)
	}
	if err = errors.Join(err, done()); err == nil {
		r.place(batchPlace, 1, state)
	}
	return err
}

// withoutMember returns a batch's request without the data about one of its documents.
func withoutMember(request json.RawMessage, name string) (json.RawMessage, error) {
	var j batch.Job
	if err := json.Unmarshal(request, &j); err != nil {
		return nil, fmt.Errorf("%w: request: %v", concordat.ErrCorrupt, err)
	}
	for i := range j.Manifest {
		if j.Manifest[i].DraftOf == name {
			j.Manifest[i].DraftOf = ""
		}
	}
	j.Manifest = slices.DeleteFunc(j.Manifest, func(l batch.ManifestLine) bool { return batch.SameFile(l.File, name) })
	delete(j.Faults, name)
	if archive, _, inside := strings.Cut(name, "!/"); inside {
		if l, ok := j.LeftOut[archive]; ok { // a lock file's name contains the name of a document
			j.LeftOut[archive] = concordat.LeftOut{Count: l.Count}
		}
	}
	return json.Marshal(j)
}
