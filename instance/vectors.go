package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"concordat"
	"concordat/index/encoded"
	"concordat/instance/config"
	"concordat/meaning"
	"concordat/meaning/fit"
	"concordat/store"
)

// VectorsName is a site's folder for the index of its encoder's vectors.
const VectorsName = "index.encoder"

// Vectors returns the index of the encoder's vectors, or nil if it does not exist yet or is not wanted.
func (ec *Encoding) Vectors() *encoded.Index { return ec.vectors.Load() }

// Changed returns a channel that receives a value after documents are added or replaced.
func (ec *Encoding) Changed() <-chan struct{} { return ec.changed }

// spacePath returns the file with the space of the current encoder.
func (ec *Encoding) spacePath(recipe string) string {
	sum := sha256.Sum256([]byte(recipe))
	return filepath.Join(ec.dir, VectorsName, "space-"+hex.EncodeToString(sum[:8]))
}

// wantsVectors reports whether this process should have an index of the encoder's vectors under the current configuration.
func (ec *Encoding) wantsVectors() bool {
	return ec.own != nil && ec.live.Now().Meaning.Index == config.IndexEncoder && ec.Current() != nil
}

// OpenVectors opens the index of the encoder's vectors for checks to search, if the configuration wants one and FileVectors has created
// it. If none is wanted, OpenVectors removes any existing one, since deletions would not reach it.
func (ec *Encoding) OpenVectors(log *slog.Logger) error {
	if ec.own == nil {
		return nil // another process has the index open, or it is not needed
	}
	ec.opening.Lock()
	defer ec.opening.Unlock()
	if was := ec.vectors.Swap(nil); was != nil {
		if err := was.Close(); err != nil {
			return err
		}
	}
	if !ec.wantsVectors() {
		return os.RemoveAll(filepath.Join(ec.dir, VectorsName))
	}
	e := ec.used.Load()
	recipe := e.encoder.Recipe()
	b, err := os.ReadFile(ec.spacePath(recipe))
	if errors.Is(err, fs.ErrNotExist) {
		// Any existing index belongs to a different encoder.
		return os.RemoveAll(filepath.Join(ec.dir, VectorsName))
	}
	if err != nil {
		return err
	}
	space, err := meaning.DecodeSpace(b)
	if err != nil { // it can be rebuilt
		log.Warn("rebuilding the index of the encoder's vectors", "reason", err)
		return os.RemoveAll(filepath.Join(ec.dir, VectorsName))
	}
	x, err := encoded.Open(filepath.Join(ec.dir, VectorsName, "00"),
		encoded.Options{Site: ec.site, Space: space, Recipe: recipe, Log: log})
	if err != nil {
		return err
	}
	ec.vectors.Store(x)
	e.kept.Search(x)
	return nil
}

// forget deletes documents' vectors, before or after the documents are deleted or replaced.
func (ec *Encoding) forget(ctx context.Context, refs []concordat.Ref) error {
	x := ec.vectors.Load()
	if x == nil {
		return nil
	}
	if err := x.Delete(ctx, refs...); err != nil {
		return fmt.Errorf("document vectors: %w", err)
	}
	return nil
}

// These are batch sizes for vectors.
const (
	encodedAtOnce = 16  // sentences per request of FileVectors, few enough that a check does not wait long
	filedAtOnce   = 512 // sentences stored together
)

// FileVectors indexes the encoder's vectors of every document while the site is served, and removes the vectors of deleted documents. It
// calls told with the numbers of documents done and remaining. For a new model, it first learns how to divide the model's vectors into
// cells. After an interruption, it resumes with the remaining documents. It returns nil early if the configuration no longer wants the
// index.
func (ec *Encoding) FileVectors(ctx context.Context, log *slog.Logger, told func(done, all int)) error {
	if !ec.wantsVectors() {
		return nil
	}
	e := ec.Current()
	if ec.vectors.Load() == nil {
		all, _, err := ec.unfiled(ctx, nil)
		if err != nil {
			return err
		}
		told(0, len(all))
	}
	if err := ec.beginVectors(ctx, e, log); err != nil {
		return err
	}
	x := ec.vectors.Load()
	if x == nil {
		return nil // switched off in the meantime
	}
	err := ec.fileVectors(ctx, e, x, told)
	if ec.vectors.Load() != x {
		return nil // it was replaced, or is no longer wanted
	}
	return err
}

// fileVectors does the work of FileVectors on an open index.
func (ec *Encoding) fileVectors(ctx context.Context, e Encoder, x *encoded.Index, told func(done, all int)) error {
	x.Begin()
	todo, gone, err := ec.unfiled(ctx, x.Held())
	if err != nil {
		return err
	}
	if err := x.Delete(ctx, gone...); err != nil {
		return err
	}
	told(0, len(todo))
	var few []encoded.Document
	sentences := 0
	put := func(done int) error {
		err := x.Put(context.WithoutCancel(ctx), few...)
		few, sentences = nil, 0
		told(done, len(todo))
		return err
	}
	for i, r := range todo {
		if ec.vectors.Load() != x {
			return nil
		}
		d, err := ec.own.Document(ctx, r)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
		text := meaning.Cut(d.Text)
		var texts []string
		for _, at := range text.Prose() {
			texts = append(texts, text.Spans[at].In(d.Text))
		}
		vectors, err := encodeAll(ctx, e, texts)
		if err != nil {
			return errors.Join(put(i), err)
		}
		few = append(few, encoded.Document{Ref: r, Hash: store.TextHash(d.Text), Text: text.In(x.Space(), vectors)})
		if sentences += len(texts); sentences >= filedAtOnce {
			if err := put(i + 1); err != nil {
				return err
			}
		}
	}
	return put(len(todo))
}

// encodeAll returns the vectors of texts, using several requests.
func encodeAll(ctx context.Context, e Encoder, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for from := 0; from < len(texts); from += encodedAtOnce {
		vectors, _, err := e.Encode(ctx, texts[from:min(from+encodedAtOnce, len(texts))])
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
	}
	return out, nil
}

// beginVectors ensures that an index for the encoder's model is open. It learns the space of a new model, and starts over if the encoder
// has a different model under the same name.
func (ec *Encoding) beginVectors(ctx context.Context, e Encoder, log *slog.Logger) error {
	texts, err := fit.Sentences()
	if err != nil {
		return err
	}
	if x := ec.vectors.Load(); x != nil {
		vectors, err := encodeAll(ctx, e, fit.Probes(texts))
		if err != nil {
			return err
		}
		if x.Space().Recognises(vectors) {
			return nil
		}
		log.Warn("the encoder's model has changed: rebuilding the index of its vectors", "model", e.Name())
	}
	vectors, err := encodeAll(ctx, e, texts)
	if err != nil {
		return err
	}
	space, err := fit.Space(texts, vectors)
	if err != nil {
		return err
	}
	path := ec.spacePath(e.Recipe())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", space, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return ec.OpenVectors(log)
}

// unfiled returns, in order, the documents whose vectors are missing or outdated, and the documents in held that were deleted or whose
// library is not indexed by meaning. held maps documents to hashes of their text; unfiled modifies it.
func (ec *Encoding) unfiled(ctx context.Context, held map[concordat.Ref]string) (todo, gone []concordat.Ref, err error) {
	const page = 1000
	libraries, err := SortedLibraries(ctx, ec.db)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range libraries {
		if l.Policy.Meaning == store.MeaningOff {
			continue
		}
		after := concordat.DocumentID("")
		for full := true; full; {
			rows, err := ec.db.Catalogue.Documents(ctx, l.ID, after, page)
			if err != nil {
				return nil, nil, err
			}
			for _, row := range rows {
				r := concordat.Ref{Site: ec.site, Library: l.ID, Document: row.ID}
				if held[r] != row.Hash {
					todo = append(todo, r)
				}
				delete(held, r)
				after = row.ID
			}
			full = len(rows) == page
		}
	}
	for r := range held {
		gone = append(gone, r)
	}
	return todo, gone, nil
}
