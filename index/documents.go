package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"concordat"
)

// Document returns a stored document with its text, or ErrNotFound.
func (s *Shard) Document(ctx context.Context, r concordat.Ref) (*concordat.Document, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	if r.Site != s.opt.Site {
		return nil, fmt.Errorf("document %s: %w", r, concordat.ErrNotFound)
	}
	return s.document(ctx, key{r.Library, r.Document})
}

func (s *Shard) document(ctx context.Context, k key) (*concordat.Document, error) {
	for {
		d := s.state.find(k)
		if d == nil {
			return nil, fmt.Errorf("document %s/%s: %w", k.library, k.id, concordat.ErrNotFound)
		}
		out, err := s.engine.document(d.number)
		if err != nil {
			return nil, fmt.Errorf("document %s/%s: %w", k.library, k.id, errors.Join(err, concordat.ErrCorrupt))
		}
		if out != nil {
			return out, nil
		}
		// The document has been removed from disk but not yet from memory, so wait for the writer, then look again.
		if err := s.state.acquire(ctx, []key{k}); err != nil {
			return nil, err
		}
		same := s.state.find(k) == d
		s.state.release([]key{k})
		if same {
			return nil, corrupt(s.dir, fmt.Sprintf("document %s/%s is in memory but not on disk", k.library, k.id))
		}
	}
}

// document reads a document from disk and returns nil if it is no longer there.
func (e *engine) document(number uint32) (*concordat.Document, error) {
	snapshot, err := e.snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	var out *concordat.Document
	err = guard(func() error {
		out, err = readDocument(snapshot, number)
		return err
	})
	return out, err
}

func readDocument(snapshot *scorch.IndexSnapshot, number uint32) (*concordat.Document, error) {
	b, err := storedField(snapshot, blockID(number, 0), fieldDocument)
	if err != nil || b == nil {
		return nil, err
	}
	m, err := decodeMeta(b)
	if err != nil {
		return nil, err
	}
	out := &concordat.Document{Library: m.library, ID: m.id, Title: m.title, Added: m.added}
	if !m.text {
		return out, nil
	}
	if b, err = storedField(snapshot, textID(number), fieldText); err != nil {
		return nil, err
	} else if b == nil {
		return nil, fmt.Errorf("no text: %w", errStored)
	}
	out.Text, err = unpackText(b)
	return out, err
}

// Documents yields all documents with their texts, ordered by library and identity. Documents put or deleted during the call might be
// missing or included. After an error the iteration continues with the next document.
func (s *Shard) Documents(ctx context.Context) iter.Seq2[*concordat.Document, error] {
	return s.documents(ctx, func(key) bool { return true })
}

// LibraryDocuments is like Documents for a single library; it does not read texts of other libraries.
func (s *Shard) LibraryDocuments(ctx context.Context, lib concordat.LibraryID) iter.Seq2[*concordat.Document, error] {
	return s.documents(ctx, func(k key) bool { return k.library == lib })
}

func (s *Shard) documents(ctx context.Context, want func(key) bool) iter.Seq2[*concordat.Document, error] {
	return func(yield func(*concordat.Document, error) bool) {
		for _, k := range s.state.snapshotKeys() {
			if !want(k) {
				continue
			}
			d, err := s.Document(ctx, concordat.Ref{Site: s.opt.Site, Library: k.library, Document: k.id})
			if errors.Is(err, concordat.ErrNotFound) {
				continue
			}
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Refs returns the Refs of all documents, in no particular order. Documents put or deleted during the call might be missing or included.
func (s *Shard) Refs() []concordat.Ref {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	out := make([]concordat.Ref, 0, len(s.state.byKey))
	for k := range s.state.byKey {
		out = append(out, concordat.Ref{Site: s.opt.Site, Library: k.library, Document: k.id})
	}
	return out
}

// Titles returns the titles of all documents in a shard. Documents put or deleted during the call might be missing or included.
func Titles(s *Shard) map[concordat.Ref]string {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	out := make(map[concordat.Ref]string, len(s.state.byKey))
	for k, d := range s.state.byKey {
		out[concordat.Ref{Site: s.opt.Site, Library: k.library, Document: k.id}] = d.title
	}
	return out
}
