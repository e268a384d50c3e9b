package compare

import (
	"context"
	"fmt"
	"sync"

	"concordat"
	"concordat/meaning"
)

// Embedder turns texts into vectors of length 1, all of as many numbers, in the order of the texts.
type Embedder interface {
	Encode(ctx context.Context, texts []string) ([][]float32, error)
	Name() string  // of the model, as reports name it
	Where() string // the machine that texts go to; empty: they stay on this one
}

// Encoder verifies leads by an embedder. It is safe for concurrent use.
type Encoder struct {
	server  Embedder
	mu      sync.Mutex  // guards samples
	samples [][]float32 // nil: not encoded yet
}

// NewEncoder returns an encoder.
func NewEncoder(server Embedder) *Encoder { return &Encoder{server: server} }

// The codes of flags about an encoder.
const (
	FlagEncoderFailed = "encoder_failed" // leads come from the table alone
	FlagTextSent      = "text_sent"      // sentences went to another machine
)

// verified is an encoder's verdict on a comparison.
type verified struct {
	leads [][]meaning.Lead
	flags []concordat.Flag
	name  string // of what verified the leads; empty: the table's leads stand
	count int    // of sentences that were nominated
}

// verify asks about the places that the table nominates. A server that fails costs nothing but the report's saying so; an error is
// the context's.
func (e *Encoder) verify(ctx context.Context, c *meaning.Comparison, leads [][]meaning.Lead, here string,
	there []string) (verified, error) {
	places := c.Places(leads)
	out := verified{leads: leads, count: places.Count()}
	if len(places.Here) == 0 {
		return out, nil
	}
	texts := c.Texts(places, here, there)
	if where := e.server.Where(); where != "" {
		out.flags = append(out.flags, concordat.Flag{Code: FlagTextSent, Count: len(texts),
			Detail: fmt.Sprintf("%d sentences of the text and of documents were sent to %s to be compared there", len(texts), where)})
	}
	vectors, err := e.vectors(ctx, places, texts)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.flags = append(out.flags, concordat.Flag{Code: FlagEncoderFailed,
			Detail: fmt.Sprintf("The leads are those of the embedded table alone, which finds less: %v", err)})
		return out, nil
	}
	out.leads, out.name = c.Verified(places, vectors), e.server.Name()
	return out, nil
}

// vectors encodes the texts of places, and the samples at the first time.
func (e *Encoder) vectors(ctx context.Context, p meaning.Places, texts []string) (meaning.Vectors, error) {
	var out meaning.Vectors
	var err error
	if out.Samples, err = e.sampled(ctx); err != nil {
		return out, err
	}
	all, err := e.server.Encode(ctx, texts)
	if err != nil {
		return out, err
	}
	out.Here, all = all[:len(p.Here)], all[len(p.Here):]
	for _, at := range p.There {
		out.There = append(out.There, all[:len(at)])
		all = all[len(at):]
	}
	return out, nil
}

// sampled returns the vectors of the samples.
func (e *Encoder) sampled(ctx context.Context) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.samples != nil {
		return e.samples, nil
	}
	var texts []string
	for _, s := range meaning.Samples() {
		texts = append(texts, s.Text)
	}
	vectors, err := e.server.Encode(ctx, texts)
	if err == nil {
		e.samples = vectors
	}
	return vectors, err
}
