package eval

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"concordat"
	"concordat/index/encoded"
	"concordat/meaning"
	"concordat/meaning/fit"
)

// indexVectors indexes the encoder's vectors of all a bench's documents, like instance.Encoding for a site, and makes the index available
// to checks.
func (r *run) indexVectors(b *Bench, docs []Doc) error {
	texts, err := fit.Sentences()
	if err != nil {
		return err
	}
	vectors, _, err := r.o.Encoder.Encode(r.ctx, texts)
	if err != nil {
		return err
	}
	learned, err := fit.Space(texts, vectors)
	if err != nil {
		return err
	}
	space, err := meaning.DecodeSpace(learned)
	if err != nil {
		return err
	}
	dir := fmt.Sprintf("%s/vectors-%d", r.dir, len(r.benches))
	b.vectors, err = encoded.Open(dir, encoded.Options{Site: b.Site.ID(), Space: space, Recipe: r.o.Encoder.Recipe()})
	if err != nil {
		return err
	}
	const together = 64 // documents stored together
	var few []encoded.Document
	sentences := 0
	for i, d := range docs {
		text := meaning.Cut(d.Text)
		var texts []string
		for _, at := range text.Prose() {
			texts = append(texts, text.Spans[at].In(d.Text))
		}
		vectors, _, err := r.o.Encoder.Encode(r.ctx, texts)
		if err != nil {
			return fmt.Errorf("compute the vectors of %s: %w", d.ID, err)
		}
		sentences += len(texts)
		few = append(few, encoded.Document{Ref: b.Site.Ref("library", concordat.DocumentID(d.ID)), Hash: d.ID, Text: text.In(space, vectors)})
		if len(few) == together || i == len(docs)-1 {
			if err := b.vectors.Put(r.ctx, few...); err != nil {
				return err
			}
			few = nil
		}
	}
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	of := fmt.Sprintf("the index of the encoder's vectors of %d documents", len(docs))
	r.figure(of, "sentences", float64(sentences))
	r.figure(of, "bytes per sentence", float64(size)/float64(max(sentences, 1)))
	b.Encoder.Search(b.vectors)
	return nil
}

// sizeOf returns the total size of the files in a folder, in bytes.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
