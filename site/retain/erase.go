package retain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// CitedPolicy determines what happens to a deleted document's wording in reports that cite it.
type CitedPolicy string

// The policies.
const (
	CitedKeep     CitedPolicy = "keep"     // evidence remains readable; the report says that the source is gone
	CitedWithhold CitedPolicy = "withhold" // title, wording and name are removed; places, kinds and scores remain
)

// Area is a place outside the index and the store that contains data of checks, for example originals.
type Area interface {
	// Name returns the name used in a receipt's Place.
	Name() string
	// Erase removes everything that belongs to a deleted task, and the given originals, which no other task needs, and returns the number
	// of files removed. It is durable on return and can be repeated.
	Erase(ctx context.Context, id concordat.TaskID, originals []string) (int, error)
	// Tidy removes orphans from before the given time. needed reports whether some task needs an original.
	Tidy(ctx context.Context, before time.Time, needed func(hash string) (bool, error)) (int, error)
}

// Options of an Eraser. Store is mandatory.
type Options struct {
	Store *store.DB
	Areas []Area
	// Batches provides access to the texts in batches, or is nil if there are none.
	Batches Places
	// Remains removes leftovers of interrupted work outside the areas. It is called before a deletion counts as complete, and is nil if
	// leftovers are impossible.
	Remains func() error
	// Sign signs the result of Receipt.Sum, in a form of its choice; if nil, receipts are unsigned.
	Sign   func(sum [32]byte) (json.RawMessage, error)
	Cited  func() CitedPolicy // nil means CitedKeep
	Logger *slog.Logger       // nil disables logging
	// Answers maintains the fingerprint sets for partners, or is nil if there are none.
	Answers *answer.Answerer
	// OtherProcess reports whether another process of the site is performing deletions; if so, this process only requests them and waits.
	// Nil means that none is.
	OtherProcess func() bool
}

// Eraser deletes data permanently and issues receipts. It is safe for concurrent use, but only the site's process that holds the index
// can run one. A requested deletion is completed even if the process ends in the middle, because Sweep resumes it.
type Eraser struct {
	s *site.Site
	o Options

	// Locked in this order, so that a deletion does not wait until the bytes of earlier ones are erased.
	bytes sync.Mutex // held while bytes are erased and deletions completed
	at    sync.Mutex // held while a deletion makes queries find nothing
}

// New returns an Eraser for the site.
func New(s *site.Site, o Options) *Eraser {
	if o.Cited == nil {
		o.Cited = func() CitedPolicy { return CitedKeep }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Eraser{s: s, o: o}
}

// Ask records a request for deletion, and returns its id. It can be called in any process of the site. The notes become audit entries,
// each with the id.
func Ask(ctx context.Context, s *site.Site, db *store.DB, actor, reason string, t Target, notes ...store.AuditNote) (string, error) {
	if err := t.Validate(); err != nil {
		return "", err
	}
	target, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	id := strings.ToLower(rand.Text())
	asked := store.Erasure{ID: id, Made: s.Options().Now(), Actor: actor, Reason: reason, Target: target}
	if len(notes) == 0 {
		return id, db.Retention.AskErasure(ctx, asked)
	}
	for i := range notes {
		notes[i].Detail["deletion"] = id
	}
	return id, db.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Retention.AskErasure(ctx, asked); err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// Erase deletes data and returns the receipt, with Done set if no byte remains within this process's reach. If it fails with
// concordat.ErrUnavailable and Deleted is set, queries find nothing, but an unavailable machine still has the bytes; Resume continues
// when it is back. For notes, see Ask.
func (e *Eraser) Erase(ctx context.Context, actor, reason string, t Target, notes ...store.AuditNote) (*Receipt, error) {
	id, err := Ask(ctx, e.s, e.o.Store, actor, reason, t, notes...)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	enough := func(s store.ErasureState) bool {
		return s == store.ErasureDone || s == store.ErasureDeleted && time.Since(begun) > bytesTime
	}
	if r, err := e.await(ctx, id, enough); r != nil || err != nil {
		return r, err
	}
	// Once requested, a deletion is completed even if the caller gives up, since half a deletion would be worse.
	return e.Run(context.WithoutCancel(ctx), id)
}

// bytesTime is how long Erase waits for another process to erase the bytes once queries find nothing.
const bytesTime = 5 * time.Second

// Begin deletes data until no query finds any, and returns the receipt at that point. The next Resume erases the bytes. That requires
// copying the index, which is too slow for a user to wait for. For notes, see Ask.
func (e *Eraser) Begin(ctx context.Context, actor, reason string, t Target, notes ...store.AuditNote) (*Receipt, error) {
	id, err := Ask(ctx, e.s, e.o.Store, actor, reason, t, notes...)
	if err != nil {
		return nil, err
	}
	if r, err := e.await(ctx, id, func(s store.ErasureState) bool { return s != store.ErasureAsked }); r != nil || err != nil {
		return r, err
	}
	return e.deleteOne(context.WithoutCancel(ctx), id)
}

// await waits while another process performs a deletion, until it has progressed far enough, and returns the receipt, or nil if no other
// process performs it.
func (e *Eraser) await(ctx context.Context, id string, enough func(store.ErasureState) bool) (*Receipt, error) {
	for e.otherProcess() {
		row, err := e.o.Store.Retention.Erasure(ctx, id)
		if err != nil {
			return nil, err
		}
		if enough(row.State) {
			var r Receipt
			return &r, json.Unmarshal(row.Receipt, &r)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("deletion %s is still in progress: %w: %w", id, concordat.ErrUnavailable, ctx.Err())
		case <-time.After(otherProcessPoll):
		}
	}
	return nil, nil
}

// otherProcessPoll is how often to check on another process's deletion.
const otherProcessPoll = 200 * time.Millisecond

func (e *Eraser) otherProcess() bool { return e.o.OtherProcess != nil && e.o.OtherProcess() }

// Tidy removes orphaned copies in the areas; see Area.
func (e *Eraser) Tidy(ctx context.Context) error {
	_, err := e.tidy(ctx)
	return err
}

func (e *Eraser) tidy(ctx context.Context) (n int, err error) {
	for _, a := range e.o.Areas {
		m, failed := a.Tidy(ctx, e.s.Options().Now().Add(-orphanTime),
			func(hash string) (bool, error) { return e.o.Store.Retention.OriginalNeeded(ctx, hash) })
		n, err = n+m, errors.Join(err, failed)
	}
	return n, err
}

// Run performs or resumes one requested deletion and returns its receipt.
func (e *Eraser) Run(ctx context.Context, id string) (*Receipt, error) {
	if r, err := e.deleteOne(ctx, id); err != nil || !r.Done.IsZero() {
		return r, err
	}
	e.bytes.Lock()
	defer e.bytes.Unlock()
	r, err := e.deleteOne(ctx, id) // Resume may have completed it in the meantime
	if err != nil || !r.Done.IsZero() {
		return r, err
	}
	return r, e.finish(ctx, r)
}

// deleteOne advances one deletion until no query finds the data.
func (e *Eraser) deleteOne(ctx context.Context, id string) (*Receipt, error) {
	e.at.Lock()
	defer e.at.Unlock()
	return e.delete(ctx, id)
}

// Advance continues all deletions until no query finds the data, without waiting for bytes to be erased.
func (e *Eraser) Advance(ctx context.Context) error {
	if e.otherProcess() {
		return nil
	}
	e.at.Lock()
	defer e.at.Unlock()
	open, err := e.o.Store.Retention.OpenErasures(ctx)
	errs := []error{err}
	for _, one := range open {
		if one.State == store.ErasureAsked {
			_, err := e.delete(ctx, one.ID)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Resume resumes every unfinished deletion and returns how many it completed.
func (e *Eraser) Resume(ctx context.Context) (int, error) {
	if e.otherProcess() {
		return 0, nil
	}
	e.bytes.Lock()
	defer e.bytes.Unlock()
	rs, err := e.deleteOpen(ctx)
	return len(rs), errors.Join(err, e.finish(ctx, rs...))
}

// deleteOpen decides cases, advances every unfinished deletion until no query finds the data, and returns the receipts.
func (e *Eraser) deleteOpen(ctx context.Context) ([]*Receipt, error) {
	e.at.Lock()
	defer e.at.Unlock()
	failed := e.workCases(ctx)
	open, err := e.o.Store.Retention.OpenErasures(ctx)
	errs := []error{failed, err}
	var rs []*Receipt
	for _, one := range open {
		r, err := e.delete(ctx, one.ID)
		if err != nil {
			errs = append(errs, err) // continue with the other deletions
			continue
		}
		rs = append(rs, r)
	}
	return rs, errors.Join(errs...)
}

// delete advances a deletion to state deleted, in which no query finds anything. It stores the receipt before each step, so that an
// interruption leaves nothing uncounted.
func (e *Eraser) delete(ctx context.Context, id string) (*Receipt, error) {
	row, err := e.o.Store.Retention.Erasure(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &Receipt{Version: ReceiptVersion, ID: id, Site: e.s.Options().ID, Actor: row.Actor, Reason: row.Reason, Asked: row.Made,
		Tasks: []ErasedTask{}, Documents: []ErasedDocument{}, Places: []Place{}, Stays: []string{"audit", "backups"}}
	if row.Receipt != nil {
		if err := json.Unmarshal(row.Receipt, r); err != nil {
			return nil, fmt.Errorf("receipt of deletion %s: %w: %v", id, concordat.ErrCorrupt, err)
		}
	}
	if row.State != store.ErasureAsked {
		return r, nil
	}
	var t Target
	if err := json.Unmarshal(row.Target, &t); err != nil {
		return nil, fmt.Errorf("deletion %s: %w: %v", id, concordat.ErrCorrupt, err)
	}
	for _, batch := range t.Batches {
		if err := e.deleteBatch(ctx, r, batch); err != nil {
			return nil, fmt.Errorf("deletion %s: batch %s: %w", id, batch, err)
		}
	}
	for _, task := range t.Tasks {
		err := e.leaveBatch(ctx, r, task)
		if err == nil {
			err = e.deleteTask(ctx, r, task)
		}
		if err != nil {
			return nil, fmt.Errorf("deletion %s: %w", id, err)
		}
	}
	for _, task := range t.Texts {
		if err := e.deleteText(ctx, r, task); err != nil {
			return nil, fmt.Errorf("deletion %s: text of %s: %w", id, task, err)
		}
	}
	for _, q := range t.Questions {
		if err := e.deleteQuestion(ctx, r, q); err != nil {
			return nil, fmt.Errorf("deletion %s: question %s from site %s: %w", id, q.Job, q.Partner, err)
		}
	}
	if err := e.deleteDocuments(ctx, r, t); err != nil {
		return nil, fmt.Errorf("deletion %s: %w", id, err)
	}
	r.Deleted = e.s.Options().Now()
	return r, e.step(ctx, r, store.ErasureDeleted)
}

func (e *Eraser) step(ctx context.Context, r *Receipt, state store.ErasureState) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return e.o.Store.Retention.StepErasure(ctx, r.ID, state, b)
}

// deleteTask deletes one check and everything stored for it.
func (e *Eraser) deleteTask(ctx context.Context, r *Receipt, id concordat.TaskID) error {
	if !slices.ContainsFunc(r.Tasks, func(x ErasedTask) bool { return x.Task == id }) {
		files, err := e.o.Store.Retention.Originals(ctx, id)
		if err != nil {
			return err
		}
		r.Tasks = append(r.Tasks, ErasedTask{Task: id, Files: append([]string{}, files...)})
		if err := e.step(ctx, r, store.ErasureAsked); err != nil {
			return err
		}
	}
	x := &r.Tasks[slices.IndexFunc(r.Tasks, func(x ErasedTask) bool { return x.Task == id })]
	erased, err := e.o.Store.Retention.EraseTask(ctx, id)
	if err != nil {
		return err
	}
	if erased != (store.Erased{}) {
		x.Erased = erased
	}
	x.Files, err = e.unneeded(ctx, x.Files)
	if err != nil {
		return err
	}
	return e.eraseFrom(ctx, r, id, x.Files)
}

// unneeded returns the originals that no task needs.
func (e *Eraser) unneeded(ctx context.Context, files []string) ([]string, error) {
	out := []string{}
	for _, f := range files {
		needed, err := e.o.Store.Retention.OriginalNeeded(ctx, f)
		if err != nil {
			return nil, err
		}
		if !needed {
			out = append(out, f)
		}
	}
	return out, nil
}

func (e *Eraser) eraseFrom(ctx context.Context, r *Receipt, id concordat.TaskID, files []string) error {
	for _, a := range e.o.Areas {
		n, err := a.Erase(ctx, id, files)
		if err != nil {
			return fmt.Errorf("%s of task %s: %w", a.Name(), id, err)
		}
		if r != nil && n > 0 {
			r.place(a.Name(), n, "removed")
		}
	}
	return nil
}

// place adds items to a place in the receipt and sets the place's state.
func (r *Receipt) place(name string, items int, state string) {
	i := slices.IndexFunc(r.Places, func(p Place) bool { return p.Name == name })
	if i < 0 {
		r.Places = append(r.Places, Place{Name: name})
		i = len(r.Places) - 1
	}
	r.Places[i].Items += items
	r.Places[i].State = state
}

// deleteDocuments deletes the target's documents page by page.
func (e *Eraser) deleteDocuments(ctx context.Context, r *Receipt, t Target) error {
	if t.Library == "" {
		return nil
	}
	if batch, ok := t.Library.Batch(); ok {
		return e.deleteMembers(ctx, r, batch, t.Documents)
	}
	for part := range slices.Chunk(t.Documents, site.DeletePage) {
		if err := e.deletePart(ctx, r, t.Library, part); err != nil {
			return err
		}
	}
	for t.Whole {
		rows, err := e.s.Options().Store.Catalogue.Documents(ctx, t.Library, "", site.DeletePage)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			if err := e.s.DeleteLibrary(ctx, t.Library, nil); !errors.Is(err, concordat.ErrNotFound) {
				return err
			}
			return nil
		}
		ids := make([]concordat.DocumentID, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		if err := e.deletePart(ctx, r, t.Library, ids); err != nil {
			return err
		}
	}
	return nil
}

func (e *Eraser) deletePart(ctx context.Context, r *Receipt, lib concordat.LibraryID, ids []concordat.DocumentID) error {
	r.Cited = e.o.Cited()
	known := map[string]bool{}
	for _, d := range r.Documents {
		known[d.Name] = true
	}
	reports := map[concordat.TaskID][]concordat.DocumentID{}
	for _, id := range ids {
		citing, err := e.o.Store.Retention.Citing(ctx, e.s.Ref(lib, id))
		if err != nil {
			return err
		}
		for _, task := range citing {
			reports[task] = append(reports[task], id)
		}
		row, err := e.s.Options().Store.Catalogue.DocumentRow(ctx, lib, id)
		if errors.Is(err, concordat.ErrNotFound) || err == nil && known[DocumentName(lib, id)] {
			continue
		}
		if err != nil {
			return err
		}
		r.Documents = append(r.Documents, ErasedDocument{Library: lib, Name: DocumentName(lib, id), Text: row.Hash, Bytes: row.Bytes,
			Sentences: row.Sentences, Characters: row.Characters, Reports: len(citing)})
	}
	if err := e.step(ctx, r, store.ErasureAsked); err != nil {
		return err
	}
	for task, docs := range reports {
		if err := e.uncite(ctx, r.Cited, task, lib, docs); err != nil {
			return err
		}
		r.Reports++
	}
	if err := e.s.DeleteDocuments(ctx, lib, ids...); err != nil {
		return err
	}
	if _, _, err := e.o.Store.Retention.EraseTraces(ctx, e.s.Options().ID, lib, ids); err != nil {
		return err
	}
	return e.leaveSets(ctx, r, lib)
}

// uncite removes the title, wording and name of documents about to be deleted from a report.
func (e *Eraser) uncite(ctx context.Context, policy CitedPolicy, task concordat.TaskID, lib concordat.LibraryID,
	docs []concordat.DocumentID) error {
	if policy != CitedWithhold {
		return nil
	}
	if err := e.unwrite(ctx, task, false); err != nil {
		return err
	}
	defer e.s.HoldFindings()()
	anonymous := map[concordat.Ref]concordat.Ref{}
	for _, id := range docs {
		anonymous[e.s.Ref(lib, id)] = e.s.Ref(lib, concordat.DocumentID(site.DeletedPrefix+DocumentName(lib, id)[:site.DeletedDigits]))
	}
	var rows []store.Result
	err := e.s.ChangeFindings(ctx, task, func(f *report.Findings) {
		*f = *report.Renamed(report.Redact(f, func(r concordat.Ref) bool { _, ok := anonymous[r]; return ok }), anonymous)
		rows = site.ResultsOf(f)
	})
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return e.s.Options().Store.Checks.PutResults(ctx, task, rows)
}

// leaveSets removes deleted documents from the fingerprint sets for partners.
func (e *Eraser) leaveSets(ctx context.Context, r *Receipt, lib concordat.LibraryID) error {
	if e.o.Answers == nil {
		return nil
	}
	trimmed, err := e.o.Answers.Sets.Trim(ctx, lib)
	for _, t := range trimmed {
		r.place(setName(t.Epoch), t.Documents, "deleted")
	}
	return err
}

// names reports whether the receipt lists a place.
func (r *Receipt) names(place string) bool {
	return slices.ContainsFunc(r.Places, func(x Place) bool { return x.Name == place })
}

// setName returns the name of an epoch's fingerprint set in receipts.
func setName(e concordat.Epoch) string { return "epoch " + e.String() }
