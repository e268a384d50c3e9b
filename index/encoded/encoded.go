// Package encoded stores, in a separate index, an encoder's vectors for the sentences of a site's documents. The main type is [Index].
//
// The index is derived from the documents, so it can be rebuilt after a loss, and is rebuilt for a different model. It finds documents by
// the cells of their vectors and ranks them by the vectors themselves, stored with four bits per component. It contains no text, but
// since a vector hints at its sentence, the vector is deleted with the document.
package encoded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"concordat"
	"concordat/index"
	"concordat/meaning"
)

// Options describe an index.
type Options struct {
	Site  concordat.SiteID
	Space *meaning.Space
	// Recipe identifies the encoder: everything besides the texts that determines the vectors.
	Recipe string
	Log    *slog.Logger // reports when an index is rebuilt; nil disables logging
}

// Index stores documents' vectors. It is safe for concurrent use.
type Index struct {
	shard *index.Shard
	o     Options

	writing sync.Mutex // held during changes of the shard
	mu      sync.Mutex // guards the fields below
	held    map[concordat.Ref]string
	gone    map[concordat.Ref]bool // documents deleted since Begin
}

// Scheme returns the index's scheme, which identifies the space and the encoder.
func (o *Options) Scheme() concordat.Scheme {
	sum := sha256.Sum256([]byte("concordat/encoded/1\x00" + o.Space.Digest() + "\x00" + o.Recipe))
	return concordat.Scheme("encoded@" + hex.EncodeToString(sum[:8]))
}

// Open opens the index in dir, or creates an empty one. It removes a damaged index, or one for another encoder, since its content can be
// rebuilt. It fails with concordat.ErrLocked if another process has the index open.
func Open(dir string, o Options) (*Index, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	x := &Index{o: o, held: map[concordat.Ref]string{}}
	options := index.Options{Site: o.Site, Shard: "00", Scheme: o.Scheme(), Logger: o.Log}
	var err error
	x.shard, err = index.Open(dir, options)
	if errors.Is(err, concordat.ErrScheme) || errors.Is(err, concordat.ErrCorrupt) {
		o.Log.Warn("rebuilding the index of the encoder's vectors", "reason", err)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		x.shard, err = index.Open(dir, options)
	}
	if err != nil {
		return nil, fmt.Errorf("open the index of the encoder's vectors: %w", err)
	}
	for r, hash := range index.Titles(x.shard) {
		x.held[r] = hash
	}
	return x, nil
}

// Close closes the index.
func (x *Index) Close() error { return x.shard.Close() }

// Space returns the space of the vectors.
func (x *Index) Space() *meaning.Space { return x.o.Space }

// Document is a document with the vectors of its sentences.
type Document struct {
	Ref  concordat.Ref
	Hash string        // hash of its text
	Text *meaning.Text // vectors in the index's space
}

// Begin begins a round of reading documents and putting their vectors. Until the next Begin, Put skips documents deleted since, because
// their vectors could come from a deleted text.
func (x *Index) Begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = map[concordat.Ref]bool{}
}

// Put stores vectors. Each document replaces the one with the same Ref. They are durable when Put returns.
func (x *Index) Put(ctx context.Context, documents ...Document) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	documents = slices.DeleteFunc(slices.Clone(documents), func(d Document) bool { return x.gone[d.Ref] })
	x.mu.Unlock()
	profiles := make([]*concordat.Profile, len(documents))
	for i, d := range documents {
		cells := x.o.Space.Cells()
		directions := d.Text.Directions(cells)
		p := &concordat.Profile{Scheme: x.shard.Scheme(), Cells: d.Text.Cells(cells)}
		p.Document = concordat.Document{Library: d.Ref.Library, ID: d.Ref.Document, Title: d.Hash, Text: directions.Pack()}
		// A term that occurs once per sentence tells the search the document's length.
		if n := len(directions); n > 0 {
			p.Terms = []concordat.TermCount{{Term: 0, Count: n}}
		}
		profiles[i] = p
	}
	if err := x.shard.Put(ctx, profiles...); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range documents {
		x.held[d.Ref] = d.Hash
	}
	return nil
}

// Delete deletes documents and ignores those that are not in the index.
func (x *Index) Delete(ctx context.Context, refs ...concordat.Ref) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	var known []concordat.Ref
	x.mu.Lock()
	for _, r := range refs {
		if x.gone != nil {
			x.gone[r] = true
		}
		if _, ok := x.held[r]; ok {
			known = append(known, r)
		}
	}
	x.mu.Unlock()
	if len(known) == 0 {
		return nil
	}
	if err := x.shard.Delete(ctx, known...); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range known {
		delete(x.held, r)
	}
	return nil
}

// Purge removes the bytes of deleted documents from the disk.
func (x *Index) Purge(ctx context.Context) error { return x.shard.Purge(ctx) }

// Held returns, for each document, the hash of the text whose vectors are in the index.
func (x *Index) Held() map[concordat.Ref]string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.held)
}

// Count returns the number of documents.
func (x *Index) Count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.held)
}

// SearchText implements concordat.TextSearcher for queries by cells.
func (x *Index) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	return x.shard.SearchText(ctx, q)
}

// TextStats implements concordat.TextSearcher and counts sentences as words.
func (x *Index) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	return x.shard.TextStats(ctx, terms)
}

// Directions returns the directions of a document's prose sentences, in order. It fails with concordat.ErrNotFound if the document is not
// in the index.
func (x *Index) Directions(ctx context.Context, r concordat.Ref) (meaning.Directions, error) {
	d, err := x.shard.Document(ctx, r)
	if err != nil {
		return nil, err
	}
	return meaning.UnpackDirections(d.Text)
}
