package compare

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"

	"concordat"
	"concordat/meaning"
)

// Embedder converts texts to unit vectors of equal dimension, in the order of the texts. It returns the number of different texts sent
// out, even if it fails.
type Embedder interface {
	Encode(ctx context.Context, texts []string) (vectors [][]float32, sent int, err error)
	Name() string   // name of the model in reports
	Where() string  // machine that receives the texts, or "" if it is this one
	Recipe() string // everything except the texts that determines the vectors
}

// Vectors is a store for sentence vectors.
type Vectors interface {
	SentenceVectors(ctx context.Context, digests [][32]byte) (map[[32]byte][]float32, error)
	PutSentenceVectors(ctx context.Context, vectors []concordat.SentenceVector, most int) error
}

// VectorIndex finds the documents of a site by an encoder's vectors, just as a TextSearcher finds them by cells.
type VectorIndex interface {
	concordat.TextSearcher
	Space() *meaning.Space
	// Directions returns the directions of a document's sentences of prose, in order.
	Directions(ctx context.Context, r concordat.Ref) (meaning.Directions, error)
}

// Encoder verifies leads by an embedder. It is safe for concurrent use.
type Encoder struct {
	server  Embedder
	indexed atomic.Pointer[VectorIndex]
	keep    Vectors
	most    int          // largest number of vectors in keep
	kept    atomic.Int64 // sentences that were not sent
}

// NewEncoder returns an encoder. It stores up to most vectors in keep, or none if most is 0 or keep is nil.
func NewEncoder(server Embedder, keep Vectors, most int) *Encoder {
	if most <= 0 {
		keep = nil
	}
	return &Encoder{server: server, keep: keep, most: most}
}

// Search lets checks search an index of the encoder's vectors; nil means none.
func (e *Encoder) Search(in VectorIndex) {
	if in == nil {
		e.indexed.Store(nil)
		return
	}
	e.indexed.Store(&in)
}

// Kept returns how many sentences already had stored vectors, so that nothing was sent for them.
func (e *Encoder) Kept() int {
	if e == nil {
		return 0
	}
	return int(e.kept.Load())
}

// Codes of flags about an encoder.
const (
	FlagEncoderFailed = "encoder_failed" // leads come only from the table
	FlagTextSent      = "text_sent"      // sentences were sent to another machine
)

// verified is the result of verifying a comparison with an encoder.
type verified struct {
	leads [][]meaning.Lead
	flags []concordat.Flag
	name  string // name of the encoder; empty if the table's leads stand
	count int    // number of nominated sentences
}

// sentence is a text, with the context to which its vector belongs.
type sentence struct {
	text string
	of   concordat.Ref
	task concordat.TaskID
	// owned means that its vector can be stored.
	owned bool
}

// question is a comparison with sentences to encode.
type question struct {
	compared *meaning.Comparison
	leads    [][]meaning.Lead   // from the table
	here     string             // text of the submission
	task     concordat.TaskID   // task of the submission; empty if vectors of its sentences are not stored
	there    []string           // texts of the sources
	refs     []concordat.Ref    // references to the sources
	foreign  concordat.Ref      // a partner's document, whose vectors are not stored; zero if there is none
	sent     int                // number of sentences already sent to the encoder
	nearby   [][]meaning.Nearby // for each source, places where the vectors of an index stand out
}

// sentences returns the sentences to encode for the places, first the submission's and then each source's.
func (q *question) sentences(p meaning.Places) []sentence {
	texts := q.compared.Texts(p, q.here, q.there)
	out := make([]sentence, 0, len(texts))
	for _, text := range texts[:len(p.Here)] {
		out = append(out, sentence{text: text, task: q.task, owned: q.task != ""})
	}
	texts = texts[len(p.Here):]
	for d, at := range p.There {
		for _, text := range texts[:len(at)] {
			out = append(out, sentence{text: text, of: q.refs[d], owned: q.refs[d] != q.foreign})
		}
		texts = texts[len(at):]
	}
	return out
}

// verify encodes the places nominated by the table. If the embedder fails, the report says so and nothing else changes. verify fails only
// with an error from the context or the vector store.
func (e *Encoder) verify(ctx context.Context, q question) (verified, error) {
	places := q.compared.Places(q.leads, q.nearby)
	out := verified{leads: q.leads, count: places.Count()}
	if len(places.Here) == 0 {
		out.flags = e.sentFlag(q.sent)
		return out, nil
	}
	var samples []sentence
	for _, s := range meaning.Samples() {
		samples = append(samples, sentence{text: s.Text, owned: true})
	}
	all, sent, err := e.encode(ctx, samples, q.sentences(places))
	out.flags = e.sentFlag(q.sent + sent)
	var failed *serverError
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.As(err, &failed):
		out.flags = append(out.flags, concordat.Flag{Code: FlagEncoderFailed,
			Detail: fmt.Sprintf("The leads come from the embedded table alone, which finds fewer passages: %v", err)})
		return out, nil
	case err != nil:
		return out, err
	}
	v := meaning.Vectors{Samples: all[:len(samples)], Model: e.server.Name()}
	all = all[len(samples):]
	v.Here, all = all[:len(places.Here)], all[len(places.Here):]
	for _, at := range places.There {
		v.There = append(v.There, all[:len(at)])
		all = all[len(at):]
	}
	out.leads, out.name = q.compared.Verified(places, v), v.Model
	return out, nil
}

// sentFlag returns a flag stating that a number of sentences went to another machine, or none.
func (e *Encoder) sentFlag(sent int) []concordat.Flag {
	where := e.server.Where()
	if where == "" || sent == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagTextSent, Count: sent,
		Detail: fmt.Sprintf("%d sentences of the text and of other documents were sent to %s for comparison", sent, where)}}
}

// serverError is the error if the embedder failed.
type serverError struct{ err error }

// Error returns the message.
func (e *serverError) Error() string { return e.err.Error() }

// Unwrap returns the embedder's error.
func (e *serverError) Unwrap() error { return e.err }

// digest identifies a sentence and its encoder.
func (e *Encoder) digest(text string) [32]byte {
	return sha256.Sum256([]byte("concordat/vector/1\x00" + e.server.Recipe() + "\x00" + text))
}

// encode returns the vectors of the samples, followed by the sentences' vectors. It requests missing vectors and stores them. sent is the
// number of sentences sent, excluding the samples, which are no one's text.
func (e *Encoder) encode(ctx context.Context, samples, sentences []sentence) (vectors [][]float32, sent int, err error) {
	vectors = make([][]float32, len(samples)+len(sentences))
	if e.keep != nil {
		err := e.known(ctx, samples, vectors[:len(samples)])
		if err == nil {
			err = e.known(ctx, sentences, vectors[len(samples):])
		}
		if err != nil {
			return nil, 0, err
		}
		for _, v := range vectors[len(samples):] {
			if v != nil {
				e.kept.Add(1)
			}
		}
	}
	for range 2 {
		var out int
		if _, err = e.learn(ctx, samples, vectors[:len(samples)]); err == nil {
			out, err = e.learn(ctx, sentences, vectors[len(samples):])
		}
		sent = max(sent, out)
		if err != nil || evenly(vectors) {
			return vectors, sent, err
		}
		clear(vectors) // stored vectors come from another model with the same name, so request all of them again
	}
	return nil, sent, &serverError{errors.New("the encoder returned vectors of different lengths")}
}

// evenly reports whether all known vectors have the same dimension.
func evenly(vectors [][]float32) bool {
	n := 0
	for _, v := range vectors {
		if v != nil && n > 0 && len(v) != n {
			return false
		}
		n = max(n, len(v))
	}
	return true
}

// known fills in stored vectors.
func (e *Encoder) known(ctx context.Context, all []sentence, vectors [][]float32) error {
	digests := make([][32]byte, len(all))
	for i, s := range all {
		digests[i] = e.digest(s.text)
	}
	kept, err := e.keep.SentenceVectors(ctx, digests)
	if err != nil {
		return fmt.Errorf("vectors: %w", err)
	}
	for i := range all {
		vectors[i] = kept[digests[i]]
	}
	return nil
}

// learn requests the missing vectors of the sentences and stores them. It returns the number of sentences sent.
func (e *Encoder) learn(ctx context.Context, sentences []sentence, vectors [][]float32) (sent int, err error) {
	var texts []string
	var at []int
	for i, s := range sentences {
		if vectors[i] == nil {
			texts, at = append(texts, s.text), append(at, i)
		}
	}
	if len(texts) == 0 {
		return 0, nil
	}
	got, sent, err := e.server.Encode(ctx, texts)
	if err != nil {
		return sent, &serverError{err}
	}
	var keep []concordat.SentenceVector
	for k, i := range at {
		vectors[i] = got[k]
		if s := sentences[i]; s.owned {
			keep = append(keep, concordat.SentenceVector{Digest: e.digest(s.text), Of: s.of, Task: s.task, Vector: got[k]})
		}
	}
	if e.keep == nil || len(keep) == 0 {
		return sent, nil
	}
	if err := e.keep.PutSentenceVectors(ctx, keep, e.most); err != nil {
		return sent, fmt.Errorf("vectors: %w", err)
	}
	return sent, nil
}
