package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// Job describes how a batch is compared. It is stored with the batch as JSON.
type Job struct {
	Libraries   []concordat.LibraryID `json:"libraries,omitempty"`    // empty means all, unless NoLibraries is set
	NoLibraries bool                  `json:"no_libraries,omitempty"` // compare the documents only with each other
	Partners    []concordat.SiteID    `json:"partners,omitempty"`     // partners to ask
	Forward     string                `json:"forward,omitempty"`
	Purpose     string                `json:"purpose,omitempty"` // purpose stated to partners
	Template    string                `json:"template,omitempty"`
	Exact       bool                  `json:"exact,omitempty"`
	Threshold   float64               `json:"threshold,omitempty"` // share at which a pair connects its documents; the default is 0.3
	Channel     compare.Channel       `json:"channel,omitempty"`   // how candidates are nominated
	// Candidates is the maximum number of other documents of the batch compared with each document; the default is 200. A pair is
	// compared if either document nominates the other.
	Candidates int `json:"candidates,omitempty"`
	// Leads requests passages that restate other documents of the batch, or of the libraries, in other words.
	Leads    bool           `json:"leads,omitempty"`
	Manifest []ManifestLine `json:"manifest,omitempty"`
	// Rules apply to the documents' reports and to the shares until an officer changes the rules of a report. Nil, as in batches of early
	// versions, means the rules in force when the report is viewed.
	Rules *report.Rules `json:"rules,omitempty"`
	// Faults maps the names of files that could not be accepted to the reasons; such a file is part of the batch but is not read.
	Faults map[string]string `json:"faults,omitempty"`
	// LeftOut maps each archive that has been read to the files left out of it.
	LeftOut map[string]concordat.LeftOut `json:"left_out,omitempty"`
}

// AllLeftOut returns the files left out of all archives in the batch.
func (j *Job) AllLeftOut() concordat.LeftOut {
	var all concordat.LeftOut
	for _, name := range slices.Sorted(maps.Keys(j.LeftOut)) {
		all.Join(j.LeftOut[name])
	}
	return all
}

// PairThreshold returns the share at which a pair connects its documents in a cluster.
func (j *Job) PairThreshold() float64 { return cmp.Or(j.Threshold, site.DefaultThreshold) }

// Options of [Run]. Store, Index, Read and Options are mandatory.
type Options struct {
	Store *store.DB
	// Index is the batch's own index, either empty or as left by an earlier run. The caller must ensure that no other run uses it.
	Index concordat.Index
	// Read returns the documents in a file; one that cannot be read becomes an Item with Err. It is called concurrently.
	Read func(ctx context.Context, in store.BatchInput) ([]site.Item, error)
	// Options returns the options for comparing each document with libraries and partners; done, if not nil, is called at the end.
	Options func(ctx context.Context, j Job) (o site.CheckOptions, done func(), err error)
	Rules   report.Rules // rules for reports and shares if the batch has none
	// Progress, if not nil, receives the progress of the batch. It can be called concurrently.
	Progress func(stage string, done, total int)
	// Failed, if not nil, is called for each file that yields no text.
	Failed func(name, reason string)
	Logger *slog.Logger // nil disables logging
}

// Stages of a batch.
const (
	StageRead    = "batch_read"    // extract, fingerprint and store each document
	StageCompare = "batch_compare" // compare each with the others
	StageLeads   = "batch_leads"   // compare each with the others by meaning
	StageCheck   = "batch_check"   // compare each with the libraries and partners
)

// Run compares the documents of a batch with each other and with the libraries and partners in the options, resuming where an earlier run
// stopped, and finishes the batch. It does not repeat the work of earlier runs. Memory grows only by a small row per document and pair.
//
// Each document is read and fingerprinted once, into the batch's index. Comparison starts once all documents are indexed, so the order of
// submission does not matter. Each pair is compared once, starting from the document whose name sorts first, and both reports show the
// result.
//
// A file that cannot be read becomes a member with the reason, and does not stop the batch. When ctx ends, Run returns its error and the
// batch can be resumed. If the batch was cancelled in the meantime, Run returns store.ErrLease. Any other error marks the batch as
// failed, with the cause.
func Run(ctx context.Context, s *site.Site, id string, o Options) error {
	b, err := o.Store.Batches.Batch(ctx, id)
	if err != nil {
		return err
	}
	r := &batchRun{s: s, o: o, b: b, id: id, library: concordat.BatchLibrary(id), claimed: map[[2]int]bool{}, lineage: DefaultLineage()}
	if err := errors.Join(json.Unmarshal(b.Request, &r.job), json.Unmarshal(b.Lineage, &r.lineage)); err != nil {
		return errors.Join(fmt.Errorf("batch %s: %w: %v", id, concordat.ErrCorrupt, err),
			o.Store.Batches.FinishBatch(ctx, id, concordat.TaskFailed, site.CauseOf(err), nil))
	}
	if r.job.Rules != nil {
		r.o.Rules = *r.job.Rules
	}
	r.inner = &compare.Comparer{Index: o.Index, Profiler: s.Options().Profiler, Workers: s.Options().Workers}
	for _, stage := range []func(context.Context) error{r.regain, r.read, r.compare, r.lead, r.check} {
		if err := compare.Guard(func() error { return stage(ctx) }); err != nil {
			return r.failed(ctx, err)
		}
	}
	state, cause, err := r.outcome(ctx)
	if err != nil {
		return r.failed(ctx, err)
	}
	leads, err := r.leadCount(ctx)
	if err != nil {
		return r.failed(ctx, err)
	}
	return o.Store.Batches.FinishBatch(ctx, id, state, cause, leads)
}

// leadCount counts the leads between the documents, or returns nil if leads were not requested.
func (r *batchRun) leadCount(ctx context.Context) (*concordat.LeadCount, error) {
	if !r.job.Leads {
		return nil, nil
	}
	v, err := Open(ctx, r.o.Store, r.id)
	if err != nil {
		return nil, err
	}
	leads, err := v.Leads(ctx, r.o.Store, r.o.Rules)
	if err != nil {
		return nil, err
	}
	n := report.CountLeads(leads.States())
	return &n, nil
}

// failed records an error unless it is due to the end of ctx or of the batch.
func (r *batchRun) failed(ctx context.Context, err error) error {
	r.s.NotePanic(err, "batch", r.id)
	if ctx.Err() != nil || errors.Is(err, store.ErrLease) {
		return err
	}
	return errors.Join(err, r.o.Store.Batches.FinishBatch(context.WithoutCancel(ctx), r.id, concordat.TaskFailed, site.CauseOf(err), nil))
}

// outcome returns the final state of the batch.
func (r *batchRun) outcome(ctx context.Context) (concordat.State, store.Cause, error) {
	members, err := r.o.Store.Batches.BatchMembers(ctx, r.id)
	state, unread := concordat.TaskDone, 0
	for _, m := range members {
		if !m.Cause.IsZero() {
			unread++
		}
		if m.Incomplete {
			state = concordat.TaskPartial
		}
	}
	if unread == 0 {
		return state, store.Cause{}, err
	}
	return state, store.Cause{Code: store.CauseUnread, Numbers: []int{unread, len(members)}}, err
}

// batchRun is one run of a batch.
type batchRun struct {
	s       *site.Site
	inner   *compare.Comparer // comparer over the batch's index
	o       Options
	b       store.Batch
	id      string
	library concordat.LibraryID
	job     Job
	lineage LineageRules
	wording *batchWording
	// prepared caches texts of members.
	prepared preparedTexts
	works    citedWorks
	// submitter maps file names to submitters, if a learning platform named the files.
	submitter map[string]string
	leads     []joinedLead // set after all members are compared

	mu      sync.Mutex // protects the fields below
	stage   string
	told    time.Time       // when progress was last stored
	claimed map[[2]int]bool // pairs claimed by this run
}

// tellEvery is the minimum time between two updates of the stored progress.
const tellEvery = 500 * time.Millisecond

// tell stores progress, and fails if the batch was cancelled.
func (r *batchRun) tell(ctx context.Context, stage string, done, total int) error {
	if r.o.Progress != nil {
		r.o.Progress(stage, done, total)
	}
	r.mu.Lock()
	now := time.Now()
	due := stage != r.stage || now.Sub(r.told) >= tellEvery || done == total
	if due {
		r.stage, r.told = stage, now
	}
	r.mu.Unlock()
	if !due {
		return nil
	}
	return r.o.Store.Batches.BatchProgress(ctx, r.id, stage, done, total)
}

// ref returns a member's Ref for use as a source.
func (r *batchRun) ref(name string) concordat.Ref {
	return concordat.Ref{Site: r.s.Options().ID, Library: r.library, Document: concordat.DocumentID(name)}
}

// text returns a member's text from the batch's index.
func (r *batchRun) text(ctx context.Context, name string) (*concordat.Document, error) {
	d, err := r.o.Index.Document(ctx, r.ref(name))
	if err != nil {
		return nil, fmt.Errorf("text of %s: %w", name, err)
	}
	return d, nil
}

// batchFile holds the documents of one file of a batch.
type batchFile struct {
	input    store.BatchInput
	members  []store.BatchMember
	profiles []*concordat.Profile
	leftOut  concordat.LeftOut
}

const (
	// putFiles and putText limit the number of files, and bytes of text, added to the batch's index at once.
	putFiles = 16
	putText  = 4 << 20
)

// read extracts and fingerprints the files that no earlier run has read, and stores their texts.
func (r *batchRun) read(ctx context.Context) error {
	all, err := r.o.Store.Batches.BatchInputs(ctx, r.id, false)
	if err != nil {
		return err
	}
	waiting, err := r.o.Store.Batches.BatchInputs(ctx, r.id, true)
	if err != nil {
		return err
	}
	r.submitter = submittersOfInputs(all)
	done := len(all) - len(waiting)
	if err := r.tell(ctx, StageRead, done, len(all)); err != nil || len(waiting) == 0 {
		return err
	}
	// Files remain in order, so that members get the same numbers in every run.
	files := make(chan chan *batchFile, 2*r.s.Options().Workers)
	g, ctx := errgroup.WithContext(ctx)
	compare.Go(g, func() error { return r.readAhead(ctx, waiting, files) })
	compare.Go(g, func() error { return r.keepFiles(ctx, files, done, len(all)) })
	return g.Wait()
}

// readAhead reads files concurrently and sends a slot for each one in order.
func (r *batchRun) readAhead(ctx context.Context, waiting []store.BatchInput, files chan<- chan *batchFile) error {
	defer close(files)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.s.Options().Workers)
	for _, in := range waiting {
		place := make(chan *batchFile, 1)
		select {
		case files <- place:
		case <-ctx.Done():
			return cmp.Or(g.Wait(), ctx.Err())
		}
		compare.Go(g, func() error {
			f, err := r.readFile(ctx, in)
			if err == nil {
				place <- f
			}
			return err
		})
	}
	return g.Wait()
}

// readFile reads one file.
func (r *batchRun) readFile(ctx context.Context, in store.BatchInput) (*batchFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var items []site.Item
	var err error
	if fault := r.job.Faults[in.Name]; fault != "" {
		err = errors.New(fault)
	} else {
		err = compare.Guard(func() (err error) {
			items, err = r.o.Read(ctx, in)
			return err
		})
		r.s.NotePanic(err, "batch", r.id, "file", in.Name)
	}
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil || len(items) == 0 {
		// A panic in one file must not stop the others.
		items = []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(in.Name)},
			Err: cmp.Or(err, error(emptyFile{}))}}
	}
	f := &batchFile{input: in}
	for _, item := range items {
		f.leftOut.Join(item.LeftOut)
		m, p := r.member(in, item)
		if !m.Cause.IsZero() && r.o.Failed != nil {
			r.o.Failed(m.Name, m.Cause.String())
		}
		f.members = append(f.members, m)
		if p != nil {
			f.profiles = append(f.profiles, p)
		}
	}
	r.groupBySubmitter(f)
	return f, nil
}

// emptyFile is the error for a file without documents.
type emptyFile struct{}

func (e emptyFile) Error() string { return e.Cause().String() }

// Cause returns the error as the cause of a member's failure.
func (emptyFile) Cause() store.Cause {
	return store.Cause{Code: store.CauseEmpty, Detail: "the file contains no documents"}
}

// member converts an item to a member, and returns the profile of its text if it has one.
func (r *batchRun) member(in store.BatchInput, item site.Item) (store.BatchMember, *concordat.Profile) {
	m := store.BatchMember{Name: in.Name, Title: item.Title, Author: item.Author, Dated: item.Dated, DatedBy: item.DatedBy, Timed: item.Timed,
		Flags: item.Flags}
	if _, member, ok := strings.Cut(string(item.ID), "!/"); ok {
		m.Name += "!/" + member
	}
	if m.Author != "" {
		m.AuthorBy = store.AuthorMetadata
	}
	m.Name = concordat.ShortName(m.Name)
	declare(r.job.Manifest, &m)
	m.Title = cmp.Or(m.Title, lastPart(m.Name))
	err := item.Err
	if err == nil {
		err = errors.Join(site.CheckName(m.Name), site.CheckText(item.Text))
	}
	if err != nil {
		m.Cause = site.CauseOf(err)
		return m, nil
	}
	p, err := r.s.Options().Profiler.ForIndex(concordat.Document{Library: r.library, ID: concordat.DocumentID(m.Name), Title: m.Title,
		Added: r.b.Made, Text: item.Text})
	if err != nil {
		m.Cause = site.CauseOf(err)
		return m, nil
	}
	m.Characters = p.Characters
	return m, p
}

// keepFiles adds extracted files to the batch's index and then to the store, several at a time.
func (r *batchRun) keepFiles(ctx context.Context, files <-chan chan *batchFile, done, total int) error {
	var held []*batchFile
	size := 0
	flush := func() error {
		var profiles []*concordat.Profile
		for _, f := range held {
			profiles = append(profiles, f.profiles...)
		}
		if len(profiles) > 0 {
			if err := r.o.Index.Put(ctx, profiles...); err != nil {
				return fmt.Errorf("keep %d documents: %w", len(profiles), err)
			}
		}
		if err := r.noteLeftOut(ctx, held); err != nil {
			return err
		}
		for _, f := range held {
			if err := r.o.Store.Batches.PutBatchMembers(ctx, r.id, f.input.Number, f.members); err != nil {
				return err
			}
		}
		done += len(held)
		held, size = nil, 0
		return r.tell(ctx, StageRead, done, total)
	}
	for place := range files {
		var f *batchFile
		select {
		case f = <-place:
		case <-ctx.Done(): // or reading failed
			return ctx.Err()
		}
		held = append(held, f)
		for _, p := range f.profiles {
			size += len(p.Document.Text)
		}
		if len(held) >= putFiles || size >= putText {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(held) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return flush()
}

// noteLeftOut records with the batch which files were left out of archives, before the store marks the archives as read.
func (r *batchRun) noteLeftOut(ctx context.Context, files []*batchFile) error {
	changed := false
	for _, f := range files {
		if f.leftOut.IsZero() {
			continue
		}
		if r.job.LeftOut == nil {
			r.job.LeftOut = map[string]concordat.LeftOut{}
		}
		r.job.LeftOut[f.input.Name], changed = f.leftOut, true
	}
	if !changed {
		return nil
	}
	request, err := json.Marshal(r.job)
	if err != nil {
		return fmt.Errorf("batch %s: %w", r.id, err)
	}
	return r.o.Store.Batches.RewriteBatch(ctx, r.id, request)
}
