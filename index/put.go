package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// batchSentences is the approximate number of sentences after which Put begins another Bleve batch. Larger batches are slower, since one
// goroutine builds each batch; smaller ones wait for the disk more often.
const batchSentences = 2000

// batchText is the corresponding bound for bytes of text.
const batchText = 4 << 20

// Put stores the profiles; each replaces the whole document of its Ref. On return, they are on disk and visible to Match. If a call has
// two profiles with one Ref, the last one counts. Calls may run concurrently; calls that change the same document run one after another.
// Put checks ctx between batches of about 2,000 sentences. Errors: ErrScheme, ErrInvalid (nothing was stored), ErrDiskFull (some profiles
// may be stored; free space and repeat), ErrUnavailable.
func (s *Shard) Put(ctx context.Context, ps ...*concordat.Profile) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if err := s.opt.writable(); err != nil {
		return err
	}
	for _, p := range ps {
		if err := checkProfile(p, s.opt.Scheme); err != nil {
			return err
		}
	}
	ps = lastOfEach(ps)
	for len(ps) > 0 {
		n, sentences, text := 0, 0, 0
		for n < len(ps) && (n == 0 || sentences+len(ps[n].Indexed) <= batchSentences && text+len(ps[n].Document.Text) <= batchText) {
			sentences += len(ps[n].Indexed)
			text += len(ps[n].Document.Text)
			n++
		}
		err := context.Cause(ctx)
		if err == nil {
			err = s.putBatch(ctx, ps[:n])
		}
		if err != nil {
			return diskError("put", s.dir, err)
		}
		ps = ps[n:]
	}
	return nil
}

// checkProfile returns an error for a profile that a shard with that scheme could not store or read back.
func checkProfile(p *concordat.Profile, scheme concordat.Scheme) error {
	d := &p.Document
	if p.Scheme != scheme {
		return fmt.Errorf("put %s/%s: the profile uses scheme %s, but the shard uses scheme %s: %w", d.Library, d.ID, p.Scheme, scheme, concordat.ErrScheme)
	}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("put %s/%s: %s: %w", d.Library, d.ID, fmt.Sprintf(format, args...), concordat.ErrInvalid)
	}
	switch {
	case d.Library == "" || d.ID == "":
		return invalid("the document's library or ID is missing")
	case len(d.Library) > maxName || len(d.ID) > maxName:
		return invalid("the name of the library or the document's ID is longer than %d bytes", maxName)
	case len(d.Title) > maxTitle:
		return invalid("the title has %d bytes, but at most %d are allowed", len(d.Title), maxTitle)
	case len(d.Text) > maxText:
		return invalid("the text has %d bytes, but at most %d are allowed", len(d.Text), maxText)
	case len(p.Indexed) > maxSentences:
		return invalid("the document has %d sentences, but at most %d are allowed", len(p.Indexed), maxSentences)
	case !utf8.ValidString(d.Text):
		return invalid("the text is not valid UTF-8")
	}
	if err := errors.Join(checkTerms(p.Terms), checkCells(p.Cells)); err != nil {
		return invalid("%v", err)
	}
	end, none := 0, true
	for i := range p.Indexed {
		none = none && p.Indexed[i].Span == concordat.Span{}
	}
	for i := range p.Indexed {
		sp := p.Indexed[i].Span
		if !none && (sp.Start < end || sp.End < sp.Start || sp.End > maxOffset || d.Text != "" && sp.End > len(d.Text)) {
			return invalid("sentence %d spans bytes %d to %d, but the previous sentence ends at byte %d, and the text has %d bytes", i, sp.Start, sp.End, end, len(d.Text))
		}
		end = sp.End
		if !valid(p.Indexed[i].Fingerprint) {
			return invalid("the fingerprint of sentence %d is longer than %d bits", i, concordat.Bits)
		}
	}
	return nil
}

// lastOfEach drops all but each document's last profile.
func lastOfEach(ps []*concordat.Profile) []*concordat.Profile {
	seen := make(map[key]struct{}, len(ps))
	out := make([]*concordat.Profile, 0, len(ps))
	for _, p := range slices.Backward(ps) {
		k := key{p.Document.Library, p.Document.ID}
		if _, ok := seen[k]; !ok {
			seen[k] = struct{}{}
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out
}

// putBatch stores whole documents in one atomic Bleve batch.
func (s *Shard) putBatch(ctx context.Context, ps []*concordat.Profile) error {
	keys := make([]key, len(ps))
	for i, p := range ps {
		keys[i] = key{p.Document.Library, p.Document.ID}
	}
	if err := s.state.acquire(ctx, keys); err != nil {
		return err
	}
	defer s.state.release(keys)

	batch := bleve.NewBatch()
	for _, k := range keys {
		forget(batch, s.state.find(k))
	}
	a := arenas.Get().(*arena)
	a.reset()
	docs := make([]*document, len(ps))
	var fps []concordat.Fingerprint
	for i, p := range ps {
		n, err := s.state.number()
		if err != nil {
			return err
		}
		docs[i] = a.add(n, p, s.state.counters)
		for j := range p.Indexed {
			fps = append(fps, p.Indexed[j].Fingerprint)
		}
	}
	for _, e := range a.entries[:a.used] {
		batch.Update(e)
	}
	if err := s.room(a.bytes); err != nil {
		return err
	}
	err := s.engine.batch(batch)
	if err == nil {
		arenas.Put(a) // after an error, Bleve might still read the arena
	} else if applied, err2 := s.engine.has(blockID(docs[0].number, 0)); err2 != nil || !applied {
		return errors.Join(err, err2)
	}
	// Even after an error, the batch is in memory and is persisted once that is possible, so the table must include it.
	s.state.commit(nil, docs, fps)
	return err
}

// forget adds the removal of a document's entries to the batch.
func forget(batch *bleve.Batch, d *document) {
	if d == nil {
		return
	}
	for b := range blockCount(d.sentences) {
		batch.Delete(blockID(d.number, b))
	}
	batch.Delete(textID(d.number))
}

// room returns an error for a write of about n bytes if the disk is nearly full.
func (s *Shard) room(n int) error {
	free, err := freeBytes(s.dir)
	if err != nil {
		return err
	}
	// The write needs three times its size: for the batch, its merged form, and Bleve's root file.
	if free < s.reserve+3*uint64(n) {
		return fmt.Errorf("only %d bytes of disk space are free, and %d bytes must stay free: %w", free, s.reserve, concordat.ErrDiskFull)
	}
	return nil
}

// arena holds the Bleve documents of one batch.
type arena struct {
	entries []*entry
	used    int
	bytes   int // approximate size of the batch on disk
}

var arenas = sync.Pool{New: func() any { return new(arena) }}

func (a *arena) reset() { a.used, a.bytes = 0, 0 }

// next returns an empty entry.
func (a *arena) next(id string) *entry {
	if a.used == len(a.entries) {
		a.entries = append(a.entries, new(entry))
	}
	e := a.entries[a.used]
	a.used++
	e.reset(id)
	return e
}

// add adds the Bleve documents of p to the arena and returns the in-memory record of p.
func (a *arena) add(number uint32, p *concordat.Profile, c *sharedCounters) *document {
	m := meta{
		library: p.Document.Library, id: p.Document.ID, title: p.Document.Title,
		added: p.Document.Added, sentences: len(p.Indexed), text: p.Document.Text != "",
	}
	for _, t := range p.Terms {
		m.words += t.Count
	}
	if p.Cells != nil {
		m.meant, m.stale, m.cells = true, p.CellsBy != "" && p.CellsBy != PresentCells, appendCells(nil, p.Cells)
		a.bytes += len(m.cells)
	}
	d := m.document(number)
	d.cells = p.Cells
	size, blocks := blockSize(len(p.Indexed)), blockCount(len(p.Indexed))
	for b := range blocks {
		ss := p.Indexed[b*size : min((b+1)*size, len(p.Indexed))]
		e := a.next(blockID(number, b))
		if b == 0 {
			e.store(fieldDocument, appendMeta(nil, &m))
		}
		if len(ss) > 0 {
			c.mu.Lock()
			e.addBands(ss, &c.values)
			c.mu.Unlock()
			e.store(fieldFingerprints, appendFingerprints(make([]byte, 0, len(ss)*concordat.FingerprintBytes), ss))
			a.bytes += 100 * len(ss)
		}
		if spans := appendSpans(nil, ss); len(spans) > 0 {
			e.store(fieldSpans, spans)
			d.spans = append(d.spans, spans...)
		}
		if blocks > 1 {
			d.blocks = append(d.blocks, uint32(len(d.spans)))
		}
	}
	if m.text || len(p.Terms) > 0 {
		e := a.next(textID(number))
		if m.text {
			text := packText(p.Document.Text)
			e.store(fieldText, text)
			a.bytes += len(text)
		}
		e.words, e.length = p.Terms, lengthCode(m.words)
		a.bytes += 10 * len(p.Terms)
	}
	a.bytes += 200
	d.spans = slices.Clip(d.spans)
	return d
}

// document returns the in-memory record of a document, without its spans.
func (m *meta) document(number uint32) *document {
	d := &document{key: key{m.library, m.id}, number: number, title: m.title, sentences: m.sentences, words: m.words, meant: m.meant,
		stale: m.stale}
	if blockCount(m.sentences) > 1 {
		d.blocks = append(d.blocks, 0)
	}
	return d
}

// Delete deletes the documents and ignores missing ones. When Delete returns, the deletion is on disk.
func (s *Shard) Delete(ctx context.Context, refs ...concordat.Ref) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if err := s.opt.writable(); err != nil {
		return err
	}
	seen := make(map[key]struct{}, len(refs))
	keys := make([]key, 0, len(refs))
	for _, r := range refs {
		k := key{r.Library, r.Document}
		if _, again := seen[k]; !again && r.Site == s.opt.Site {
			seen[k] = struct{}{}
			keys = append(keys, k)
		}
	}
	const most = 1000 // documents per batch
	for part := range slices.Chunk(keys, most) {
		err := context.Cause(ctx)
		if err == nil {
			err = s.deleteBatch(ctx, part)
		}
		if err != nil {
			return diskError("delete", s.dir, err)
		}
	}
	return nil
}

func (s *Shard) deleteBatch(ctx context.Context, keys []key) error {
	if err := s.state.acquire(ctx, keys); err != nil {
		return err
	}
	defer s.state.release(keys)
	batch := bleve.NewBatch()
	var first *document
	for _, k := range keys {
		if d := s.state.find(k); d != nil {
			forget(batch, d)
			if first == nil {
				first = d
			}
		}
	}
	if first == nil {
		return nil
	}
	err := s.engine.batch(batch)
	if err != nil {
		if still, err2 := s.engine.has(blockID(first.number, 0)); err2 != nil || still {
			return errors.Join(err, err2)
		}
	}
	s.state.commit(keys, nil, nil)
	return err
}

// maxText bounds a stored text, and thus the memory for reading one.
const maxText = 256 << 20

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err) // fails only for invalid options
		}
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxText+1<<20))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// packText returns the stored form of a text: one zstd frame (RFC 8878).
func packText(s string) []byte { return packer().EncodeAll([]byte(s), nil) }

// unpackText is the inverse of packText.
func unpackText(b []byte) (string, error) {
	t, err := unpacker().DecodeAll(b, nil)
	if err != nil {
		return "", fmt.Errorf("cannot decode the text: %w: %w", err, errStored)
	}
	if len(t) > maxText || !utf8.Valid(t) {
		return "", fmt.Errorf("cannot decode the text: %w", errStored)
	}
	return string(t), nil
}
