package screening

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"concordat"
)

// read reads the libraries once, merges identical texts, and prepares each distinct one. If the documents have not changed, it reuses
// what an earlier run prepared.
func (s *screening) read(ctx context.Context) error {
	old, err := s.earlier()
	if err != nil {
		return err
	}
	libraries := []string{s.Library, s.Against}
	total := int64(0)
	for _, lib := range libraries {
		if l, err := s.site.Store.Catalogue.Library(ctx, concordat.LibraryID(lib)); err == nil {
			total += int64(l.Documents)
		}
	}
	b := s.app.Progress(total, "reading")
	defer b.Done()
	in := reading{s: s, old: old, known: map[textSum]int{}}
	for side, lib := range libraries {
		if lib == "" {
			continue
		}
		for d, err := range s.site.LibraryDocuments(ctx, concordat.LibraryID(lib)) {
			b.Add(1)
			if ctx.Err() != nil {
				return errors.Join(in.flush(context.WithoutCancel(ctx)), context.Cause(ctx))
			}
			if err != nil {
				s.sum.Unread++
				s.app.Warn("%v", err)
				continue
			}
			if err := in.add(ctx, side, d); err != nil {
				return err
			}
		}
	}
	if err := in.finish(ctx); err != nil {
		return err
	}
	s.sum.Documents, s.sum.Distinct, s.sum.Resumed = len(s.docs), len(s.texts), in.reused
	for _, t := range s.texts {
		if !t.blank {
			s.sum.Compared++
		}
	}
	return s.dropStale(in.reused == len(s.docs) && len(old) == len(s.docs))
}

// textRecord is the head of a record in work.texts. At the first occurrence of a text, the data that the method compares follows it.
type textRecord struct {
	screenDoc
	Sum   textSum `json:"sum"`
	Blank bool    `json:"blank,omitempty"`
}

// oldText is a record from an earlier run.
type oldText struct {
	textRecord
	at, end int64
}

// earlier reads the records of an earlier run of the same screening.
func (s *screening) earlier() ([]oldText, error) {
	var old []oldText
	err := s.work.texts.replay(func(b []byte, at int64) bool {
		head, _, err := splitRecord(b)
		var r textRecord
		if err != nil || json.Unmarshal(head, &r) != nil || r.Text < 0 || r.Text > len(old) {
			return false
		}
		old = append(old, oldText{r, at, at + recordHead + int64(len(b))})
		return true
	})
	if len(old) > 0 {
		s.app.Warn("resuming the screening: %d documents are already prepared", len(old))
	}
	return old, err
}

// dropStale drops earlier findings if the documents have changed.
func (s *screening) dropStale(same bool) error {
	if !same {
		return s.work.found.cut(0)
	}
	return nil
}

// reading is a pass over the documents in order.
type reading struct {
	s      *screening
	old    []oldText // records not yet reached
	met    int
	reused int
	known  map[textSum]int // texts by sum
	batch  []incomingText
	bytes  int
}

type incomingText struct {
	doc    *concordat.Document
	record textRecord
	first  bool
	body   []byte
}

const (
	batchDocuments = 256
	batchBytes     = 16 << 20
)

func (r *reading) add(ctx context.Context, side int, d *concordat.Document) error {
	sum, letters := sumOf(d.Text)
	rec := textRecord{screenDoc: screenDoc{Side: side, Library: d.Library, ID: d.ID, Title: d.Title, Added: d.Added, Letters: letters,
		Bytes: len(d.Text)}, Sum: sum}
	text, ok := r.known[sum]
	if !ok {
		text = len(r.s.texts)
		r.known[sum] = text
		r.s.texts = append(r.s.texts, screenText{})
	}
	rec.Text = text
	t := &r.s.texts[text]
	t.members[side] = append(t.members[side], int32(len(r.s.docs)))
	r.s.docs = append(r.s.docs, rec.screenDoc)
	if r.met < len(r.old) {
		o := &r.old[r.met]
		if o.Sum == sum && o.ID == d.ID && o.Library == d.Library && o.Side == side && o.Text == text {
			r.met++
			r.reused++
			if !ok {
				t.at, t.blank = o.at, o.Blank
			}
			return nil
		}
		// The libraries have changed, so everything after this must be prepared again.
		if err := r.s.work.texts.cut(o.at); err != nil {
			return err
		}
		r.old = r.old[:r.met]
	}
	r.batch = append(r.batch, incomingText{doc: d, record: rec, first: !ok})
	if r.bytes += len(d.Text); len(r.batch) == batchDocuments || r.bytes >= batchBytes {
		return r.flush(ctx)
	}
	return nil
}

// finish adds the rest, and drops the documents of an earlier run that no longer exist.
func (r *reading) finish(ctx context.Context) error {
	if r.met < len(r.old) {
		if err := r.s.work.texts.cut(r.old[r.met].at); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}

// flush prepares the batch on all cores and writes it in order.
func (r *reading) flush(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.batch {
		in := &r.batch[i]
		if !in.first {
			continue
		}
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var err error
			in.body, in.record.Blank, err = r.s.prepare(in.doc)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, in := range r.batch {
		head, err := json.Marshal(in.record)
		if err != nil {
			return err
		}
		at, err := r.s.work.texts.append(joinRecord(head, in.body))
		if err != nil {
			return err
		}
		if in.first {
			t := &r.s.texts[in.record.Text]
			t.at, t.blank = at, in.record.Blank
		}
	}
	r.batch, r.bytes = r.batch[:0], 0
	return r.s.work.texts.flush()
}
