package harvest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/harvest/landing"
	"concordat/harvest/oai"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

const (
	together  = 32              // maximum number of records fetched before their texts are added
	gathered  = 5 * time.Second // maximum time until texts are added, because fetched texts are lost if the process ends earlier
	atOnce    = 4               // maximum number of records fetched at once
	maxText   = 64 << 20        // maximum size of their texts in bytes
	maxTexts  = 10              // maximum number of files in one record
	maxTries  = 5               // attempts at a record whose text cannot be fetched
	maxHTML   = 4 << 20
	maxSets   = 3 // link sets of a page, and descriptions of a work
	maxMeta   = 4 << 20
	maxDetail = 500
)

// fetchTexts processes the records that are due, a few at a time.
func (x *run) fetchTexts(ctx context.Context) error {
	for {
		due, err := x.o.Store.Harvest.DueRecords(ctx, x.source.ID, x.o.Now(), together)
		if err != nil || len(due) == 0 {
			return err
		}
		done, stopped := x.obtainAll(ctx, due)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.take(ctx, done); err != nil {
			return errors.Join(err, stopped)
		}
		if stopped != nil {
			return stopped
		}
	}
}

// obtainAll fetches the texts of records in order, a few at a time, since reading a file takes longer than fetching it. It starts no more
// fetches once it has much text, some time has passed, or no more requests may be sent to the source. In the last case it returns the
// reason.
func (x *run) obtainAll(ctx context.Context, due []store.HarvestRecord) (done []fetched, stopped error) {
	began := x.o.Now()
	got := make([]*fetched, len(due))
	var mu sync.Mutex // guards size and stopped
	size := 0
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, r := range due {
		mu.Lock()
		enough := stopped != nil || size > maxText || x.o.Now().Sub(began) >= gathered
		mu.Unlock()
		if enough || ctx.Err() != nil {
			break
		}
		if r.State == store.RecordWithdrawing {
			got[i] = &fetched{record: r}
			continue
		}
		compare.Go(&g, func() error {
			f, err := x.obtain(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				stopped = errors.Join(stopped, err)
				return nil
			}
			got[i] = &f
			for _, d := range f.docs {
				size += len(d.Text)
			}
			return nil
		})
	}
	stopped = errors.Join(stopped, g.Wait()) // only a panic, since the functions record their errors
	for _, f := range got {
		if f != nil {
			done = append(done, *f)
		}
	}
	return done, stopped
}

// fetched is a record with its texts or, if there are none, its state.
type fetched struct {
	record store.HarvestRecord
	docs   []site.Incoming
}

// take adds texts to the library and removes withdrawn ones. It first records the documents in the record, so that each document in the
// library belongs to a record however the process ends.
func (x *run) take(ctx context.Context, done []fetched) error {
	if len(done) == 0 {
		return nil
	}
	var planned, after []store.HarvestRecord
	var docs []site.Incoming
	works := map[concordat.DocumentID]concordat.Work{}
	var gone, cited []concordat.DocumentID // withdrawn by the source, and left from older versions
	for _, f := range done {
		r := f.record
		old := r.Documents
		if r.State == store.RecordWithdrawing {
			if x.source.Withdrawn == store.HarvestDelete || !r.Due.IsZero() || r.Detail != "" {
				gone, r.Documents = append(gone, old...), nil
			}
			r.State = store.RecordWithdrawn
			if !r.Due.IsZero() {
				r.State = store.RecordEmbargoed
			} else if r.Detail != "" {
				r.State = store.RecordClosed
			}
			after = append(after, r)
			continue
		}
		if len(f.docs) > 0 {
			r.Documents = nil
			for _, d := range f.docs {
				r.Documents = append(r.Documents, d.ID)
				works[d.ID] = r.Work
			}
			plan := f.record
			plan.Documents = slices.Clone(old)
			for _, id := range r.Documents {
				if !slices.Contains(plan.Documents, id) {
					plan.Documents = append(plan.Documents, id)
				}
			}
			for _, id := range old {
				if !slices.Contains(r.Documents, id) {
					cited = append(cited, id)
				}
			}
			plan.State = store.RecordWaiting
			planned = append(planned, plan)
			docs = append(docs, f.docs...)
		}
		after = append(after, r)
	}
	if len(docs) > 0 {
		if err := x.keep(ctx, planned...); err != nil {
			return err
		}
		if err := x.o.Intake.Put(ctx, x.source.Library, docs); err != nil {
			return err
		}
		if err := x.o.Store.Harvest.PutWorks(ctx, x.source.Library, works); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		ids    []concordat.DocumentID
		reason string
	}{{gone, "the source withdrew them"}, {cited, "the source replaced them"}} {
		if len(part.ids) > 0 {
			if err := x.o.Intake.Remove(ctx, x.source.ID, x.source.Library, part.ids, part.reason); err != nil {
				return err
			}
		}
	}
	return x.keep(ctx, after...)
}

// obtain fetches the texts of a record. An error means that no more requests may be sent to the source at present. Problems that concern
// only this record are stored in the record.
func (x *run) obtain(ctx context.Context, r store.HarvestRecord) (fetched, error) {
	f := fetched{record: r}
	f.record.Due, f.record.Changed = time.Time{}, x.o.Now()
	g := &gathering{run: x, id: concordat.DocumentID(cleanID(r.ID))}
	var about []landing.Link
	for _, at := range r.Files {
		if at.Meta {
			about = append(about, landing.Link{URL: at.URL, Type: at.Type})
		}
	}
	if err := g.describedBy(ctx, about); err != nil {
		return f, err
	}
	for _, direct := range []bool{true, false} {
		for _, at := range r.Files {
			if at.Meta || g.closedOrHeld() || at.Page == direct || !direct && len(g.docs) > 0 {
				continue
			}
			if len(g.docs) >= maxTexts {
				g.fault(at.URL, errTooMany)
				continue
			}
			if err := g.file(ctx, at); err != nil {
				return f, err
			}
			if at.Text != nil && len(g.docs) > 0 {
				break
			}
		}
	}
	if g.held {
		g.docs = nil // drop even texts that were read before
	}
	f.docs = g.docs
	f.record.Work = filled(r.Work, g.work)
	if g.access != oai.Open {
		f.docs = nil // drop texts that were read before the metadata
		f.record.State, f.record.Detail, f.record.Due = closedBy(g.access, g.work.Embargo)
		if len(f.record.Documents) > 0 {
			f.record.State = store.RecordWithdrawing // remove them from the library
		}
		return f, nil
	}
	switch f.record.Detail = g.detail(); {
	case len(g.docs) > 0:
		f.record.State, f.record.Tries = store.RecordKept, 0
		for i := range f.docs {
			x.describe(&f.docs[i], f.record.Work, len(f.docs) > 1)
		}
		for i := range f.record.Files {
			f.record.Files[i].Text = nil // the library has it
		}
	case g.passing && r.Tries+1 < maxTries:
		f.record.State, f.record.Tries = store.RecordFailed, r.Tries+1
		f.record.Due = x.o.Now().Add(time.Hour << min(3*r.Tries, 7)) // 1, 8, 64 and 128 hours
	case g.passing || g.broken:
		f.record.State, f.record.Tries = store.RecordFailed, r.Tries+1
	case g.closed:
		f.record.State = store.RecordClosed
	default:
		f.record.State = store.RecordTextless
	}
	return f, nil
}

// describe copies the source's description of a work to a document.
func (x *run) describe(d *site.Incoming, w concordat.Work, several bool) {
	if w.Title != "" {
		own := d.Title
		if d.Title = w.Title; several && own != "" && own != w.Title {
			d.Title += " (" + own + ")"
		}
	}
	d.Author = cmp.Or(w.Authors(), d.Author)
	if w.Date != "" {
		d.Dated, d.DatedBy = w.Date, concordat.DateGiven
	}
}

// gathering collects the texts of a record.
type gathering struct {
	*run
	id      concordat.DocumentID
	docs    []site.Incoming
	work    concordat.Work // from metadata that accompanies the text
	access  oai.Access     // as stated in that metadata
	names   []string       // names of accepted files
	faults  []string
	closed  bool // the source refuses access
	passing bool // a retry can help
	broken  bool // a text was fetched but cannot be read
	held    bool // metadata did not arrive but may arrive later; until then, no text is accepted
}

// closedOrHeld reports whether no more texts should be read.
func (g *gathering) closedOrHeld() bool { return g.access != oai.Open || g.held }

func (g *gathering) detail() string {
	all := strings.Join(g.faults, "; ")
	if len(g.docs) == 0 && all == "" {
		all = "no text was found"
	}
	return strings.ToValidUTF8(all[:min(len(all), maxDetail)], "")
}

func (g *gathering) fault(at string, err error) {
	g.faults = append(g.faults, fmt.Sprintf("%s: %v", at, err))
}

// errTooMany is recorded if some files are not read.
var errTooMany = fmt.Errorf("not read, because only %d texts per record are read", maxTexts)

// errTooManySets is recorded if some link sets are not read.
var errTooManySets = fmt.Errorf("not read, because only %d link sets per page are read", maxSets)

// file accepts a text, or searches a page for it.
func (g *gathering) file(ctx context.Context, at store.HarvestFile) error {
	switch {
	case at.Text != nil:
		return g.read(ctx, cmp.Or(at.Name, "text.xml"), at.Type, bytes.NewReader(at.Text))
	case strings.HasPrefix(at.URL, "file:"):
		return g.local(ctx, at.URL)
	}
	r, err := g.open(ctx, at.URL, "")
	if r == nil {
		return err
	}
	if isPage(r) {
		return g.page(ctx, r)
	}
	return g.answer(ctx, r, at)
}

// answer reads the text from an HTTP answer.
func (g *gathering) answer(ctx context.Context, r *fetch.Response, at store.HarvestFile) error {
	name := cmp.Or(at.Name, r.Name)
	if !oai.IsText(r.Type, name) && !oai.IsText(r.Type, r.Name) && !oai.IsText(at.Type, at.URL) {
		g.fault(r.URL.String(), fmt.Errorf("%s is not a supported text type", cmp.Or(r.Type, "the file's type")))
		return r.Body.Close()
	}
	err := g.read(ctx, name, cmp.Or(r.Type, at.Type), r.Body)
	return errors.Join(err, r.Body.Close())
}

func isPage(r *fetch.Response) bool {
	return r.Type == "text/html" || r.Type == "application/xhtml+xml"
}

// open opens an address. If it returns nil without an error, the reason has been added to the record.
func (g *gathering) open(ctx context.Context, at, accept string) (*fetch.Response, error) {
	var r *fetch.Response
	err := g.persist(ctx, func() (err error) {
		r, err = g.o.Fetch.Open(ctx, at, fetch.Want{Accept: accept, Most: g.o.MaxFile})
		return err
	})
	if err == nil {
		return r, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if wait := (*later)(nil); errors.As(err, &wait) && g.home(at) {
		return nil, err // the repository asks the client to stop
	}
	g.fault(at, err)
	status := (*fetch.StatusError)(nil)
	switch {
	case errors.As(err, &status):
		g.closed = g.closed || status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden
		g.passing = g.passing || status.Code >= 500 || status.Code == http.StatusTooManyRequests
	case errors.Is(err, fetch.ErrRobots):
		g.closed = true
	case errors.Is(err, fetch.ErrLarge), errors.Is(err, concordat.ErrInvalid), errors.Is(err, fetch.ErrPrivate):
		g.broken = true
	default:
		g.passing = true
	}
	return nil, nil
}

// home reports whether an address is on the source's own host.
func (g *gathering) home(at string) bool {
	a, err1 := url.Parse(at)
	b, err2 := url.Parse(g.source.URL)
	return err1 == nil && err2 == nil && a.Host == b.Host
}

// TextLinks returns the links of a page that lead to texts, which are its items or, if none of them is a text, the address for search
// engines.
func TextLinks(found landing.Found) []landing.Link {
	var items, cited []landing.Link
	for _, l := range found.Texts {
		u, err := url.Parse(l.URL)
		switch {
		case err != nil || slices.ContainsFunc(items, func(x landing.Link) bool { return x.URL == l.URL }):
		case l.Rel == "citation":
			cited = append(cited, l)
		case oai.IsText(l.Type, u.Path):
			items = append(items, l)
		}
	}
	if len(items) == 0 {
		items = cited[:min(len(cited), 1)]
	}
	return items
}

// page searches a repository's page for the text.
func (g *gathering) page(ctx context.Context, r *fetch.Response) error {
	found := landing.Page(r.URL, r.Header.Values("Link"), io.LimitReader(r.Body, maxHTML))
	if err := r.Body.Close(); err != nil {
		g.fault(r.URL.String(), err)
	}
	for i, set := range found.Sets {
		if i >= maxSets {
			g.fault(set.URL, errTooManySets)
			continue
		}
		s, err := g.open(ctx, set.URL, "application/linkset+json, application/linkset")
		if s == nil {
			if err != nil {
				return err
			}
			continue
		}
		more, err := landing.Set(s.URL, s.Type, s.Body, r.URL.String())
		if err = errors.Join(err, s.Body.Close()); err != nil {
			g.fault(set.URL, err)
		}
		found.Texts = append(found.Texts, more.Texts...)
		found.Meta, found.Cite, found.License = append(found.Meta, more.Meta...), append(found.Cite, more.Cite...),
			append(found.License, more.License...)
	}
	g.cited(found)
	if err := g.describedBy(ctx, found.Meta); err != nil || g.closedOrHeld() {
		return err
	}
	items := TextLinks(found)
	for i, l := range items {
		if i >= maxTexts {
			g.fault(l.URL, errTooMany)
			continue
		}
		t, err := g.open(ctx, l.URL, "")
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if isPage(t) {
			g.fault(l.URL, errors.New("a web page was returned instead of the text"))
			g.closed = true // for example a page that asks for a sign-in
			if err := t.Body.Close(); err != nil {
				g.fault(l.URL, err)
			}
			continue
		}
		if err := g.answer(ctx, t, store.HarvestFile{URL: l.URL, Type: l.Type}); err != nil {
			return err
		}
	}
	return nil
}

// read spools a file and reads its texts. It returns an error only for a failure on this site.
func (g *gathering) read(ctx context.Context, name, media string, content io.Reader) error {
	f, err := g.o.Intake.Spool()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the spooled file is removed
	w := &diskWriter{w: f}
	size, err := io.Copy(w, content)
	switch {
	case w.err != nil:
		return w.err
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		g.fault(name, err)
		g.broken, g.passing = g.broken || errors.Is(err, fetch.ErrLarge), g.passing || !errors.Is(err, fetch.ErrLarge)
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	name = WithEnding(path.Base(strings.ReplaceAll(name, `\`, "/")), media)
	id := g.id
	if len(g.names) > 0 {
		for n := 2; slices.Contains(g.names, name); n++ {
			name = fmt.Sprintf("%d-%s", n, name)
		}
		id = concordat.DocumentID(cleanID(string(g.id) + "#" + name))
	}
	docs, err := g.o.Intake.Read(ctx, id, name, f, size)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		g.fault(name, err)
		g.broken = true
	}
	if len(docs) > 0 {
		g.names, g.docs = append(g.names, name), append(g.docs, docs...)
	}
	return nil
}

// diskWriter distinguishes write errors from read errors.
type diskWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (d *diskWriter) Write(p []byte) (int, error) {
	n, err := d.w.Write(p)
	if err != nil {
		d.err = err
	}
	return n, err
}

// WithEnding adds the extension for the media type to a name without an extension.
func WithEnding(name, media string) string {
	if name == "" || name == "." || name == "/" {
		name = "text"
	}
	if oai.IsText("", name) || media == "" {
		return name
	}
	ends, err := mime.ExtensionsByType(media)
	if media == "application/pdf" {
		return name + ".pdf"
	}
	if err != nil || len(ends) == 0 {
		return name
	}
	return name + ends[0]
}
