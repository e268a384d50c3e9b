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

// Job defines what a batch is compared with. It is stored with the batch, as JSON.
type Job struct {
	Libraries   []concordat.LibraryID `json:"libraries,omitempty"`    // empty means all, unless NoLibraries is set
	NoLibraries bool                  `json:"no_libraries,omitempty"` // compare the documents only with one another
	Partners    []concordat.SiteID    `json:"partners,omitempty"`     // to ask
	Forward     string                `json:"forward,omitempty"`
	Purpose     string                `json:"purpose,omitempty"` // stated to partners
	Template    string                `json:"template,omitempty"`
	Exact       bool                  `json:"exact,omitempty"`
	Threshold   float64               `json:"threshold,omitempty"` // share from which a pair joins its documents; default 0.3
	Channel     compare.Channel       `json:"channel,omitempty"`   // how documents are nominated
	// Candidates is the maximum number of documents of the batch compared with each; default 200. A pair is compared if
	// either of the two nominates it.
	Candidates int `json:"candidates,omitempty"`
	// Leads requests passages in which documents restate others of the batch, or of the libraries, in other words.
	Leads    bool           `json:"leads,omitempty"`
	Manifest []ManifestLine `json:"manifest,omitempty"`
	// Rules are the rules of the documents' reports and of the shares, until an officer changes the rules of a report. Nil, as in batches
	// of early versions, means the rules in force when the report is viewed.
	Rules *report.Rules `json:"rules,omitempty"`
	// Faults gives the reason why a file could not be accepted, by file name; such a file is in the batch but is not read.
	Faults map[string]string `json:"faults,omitempty"`
	// LeftOut are the files left out of an archive, by the name of the archive, once it has been read.
	LeftOut map[string]concordat.LeftOut `json:"left_out,omitempty"`
}

// AllLeftOut returns the files that were left out of all archives of the batch.
func (j *Job) AllLeftOut() concordat.LeftOut {
	var all concordat.LeftOut
	for _, name := range slices.Sorted(maps.Keys(j.LeftOut)) {
		all.Join(j.LeftOut[name])
	}
	return all
}

// PairThreshold returns the share from which a pair joins its documents to a cluster.
func (j *Job) PairThreshold() float64 { return cmp.Or(j.Threshold, site.DefaultThreshold) }

// Options of [Run]. Store, Index, Read and Options are required.
type Options struct {
	Store *store.DB
	// Index is the batch's own index, which is empty or as an earlier run left it. The caller must ensure that no other run uses it.
	Index concordat.Index
	// Read returns the documents of a file, with an Item with Err for each one that cannot be read. It is
	// called concurrently.
	Read func(ctx context.Context, in store.BatchInput) ([]site.Item, error)
	// Options returns what to compare each document with besides the batch; done, if not nil, is called at the end.
	Options func(ctx context.Context, j Job) (o site.CheckOptions, done func(), err error)
	Rules   report.Rules // of the documents' reports and of the shares, unless the batch keeps its own
	// Progress, if not nil, is called with the progress of the batch. It may be called concurrently.
	Progress func(stage string, done, total int)
	// Failed, if not nil, is called for each file that gives no text.
	Failed func(name, reason string)
	Logger *slog.Logger // nil: nothing is logged
}

// Stages of a batch.
const (
	StageRead    = "batch_read"    // extract, fingerprint and keep each document
	StageCompare = "batch_compare" // compare each with the others
	StageLeads   = "batch_leads"   // compare each with the others by meaning
	StageCheck   = "batch_check"   // compare each with the libraries and partners
)

// Run compares the documents of a batch with one another and with the libraries and partners in the options, continuing where an earlier
// run stopped, and ends the batch. No file, comparison or check is repeated. Memory grows with the number of documents only by a small row
// for each document and pair.
//
// Each document is read and fingerprinted once, into the batch's index. The comparison begins only when all are there, so the order of
// submission does not matter. A pair is compared once, from the document whose name comes first, and both reports show what was found.
//
// A file that cannot be read is a member with its reason and stops nothing. When ctx ends, Run returns its error and the batch
// can be resumed; it returns store.ErrLease if the batch was cancelled in the meantime. After another error the batch has failed with
// that cause.
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

// leadCount returns the number of leads between the documents, or nil if leads were not requested.
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

// failed records an error other than the end of ctx or of the batch.
func (r *batchRun) failed(ctx context.Context, err error) error {
	r.s.NotePanic(err, "batch", r.id)
	if ctx.Err() != nil || errors.Is(err, store.ErrLease) {
		return err
	}
	return errors.Join(err, r.o.Store.Batches.FinishBatch(context.WithoutCancel(ctx), r.id, concordat.TaskFailed, site.CauseOf(err), nil))
}

// outcome returns how the batch ends.
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
	inner   *compare.Comparer // over the batch's index
	o       Options
	b       store.Batch
	id      string
	library concordat.LibraryID
	job     Job
	lineage LineageRules
	wording *batchWording
	// prepared are texts of members.
	prepared preparedTexts
	works    citedWorks
	// submitter maps file names to their submitters, if a learning platform named the files.
	submitter map[string]string
	leads     []joinedLead // set once all members were compared

	mu      sync.Mutex // guards the fields below
	stage   string
	told    time.Time       // time of the last progress in the store
	claimed map[[2]int]bool // pairs that this run compares or has compared
}

// tellEvery is the minimum time between two records of progress in the store.
const tellEvery = 500 * time.Millisecond

// tell records progress, and fails if the batch was cancelled.
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

// ref returns the Ref of a member as a source.
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
	// putFiles and putText bound the files, and the bytes of text, that are put into the batch's index at a time.
	putFiles = 16
	putText  = 4 << 20
)

// read extracts and fingerprints the files that no run has read, and stores their texts.
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
	// The files stay in order, so that the numbers of members are the same in every run.
	files := make(chan chan *batchFile, 2*r.s.Options().Workers)
	g, ctx := errgroup.WithContext(ctx)
	compare.Go(g, func() error { return r.readAhead(ctx, waiting, files) })
	compare.Go(g, func() error { return r.keepFiles(ctx, files, done, len(all)) })
	return g.Wait()
}

// readAhead reads files, several at a time, and sends a slot for each, in order.
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

// emptyFile is the error of a file that contains no document.
type emptyFile struct{}

func (e emptyFile) Error() string { return e.Cause().String() }

// Cause returns the error as the cause of a member.
func (emptyFile) Cause() store.Cause {
	return store.Cause{Code: store.CauseEmpty, Detail: "the file holds no document"}
}

// member returns the member made from an item, and the profile of its text if there is a text.
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

// keepFiles puts the results of reading into the batch's index and then into the store, several files at a time.
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
		case <-ctx.Done(): // or reading has failed
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

// noteLeftOut records with the batch the files left out of archives, before the store counts the archives as read.
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
