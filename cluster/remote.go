package cluster

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"concordat"
	"concordat/index"
)

const (
	// prefix contains a version that changes with every change to a type that crosses the connection.
	prefix = "/cluster/3/"
	// maxBody is the maximum size of one message, which can be a batch of profiles with their texts.
	maxBody     = 1 << 30
	dialTimeout = 10 * time.Second
)

// The calls, named by the last part of their path.
const (
	callMatch     = "match"
	callTextStats = "textstats"
	callSearch    = "search"
	callPut       = "put"
	callRenew     = "renew"
	callUnfit     = "unfit"
	callDelete    = "delete"
	callDocument  = "document"
)

// Handler answers the calls of clients created by Dial, using the indexes that lookup returns by name. It is safe for concurrent use if
// lookup and the indexes are.
func Handler(lookup func(name string) (concordat.Index, bool)) http.Handler {
	m := http.NewServeMux()
	handle := func(call string, answer func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error)) {
		m.HandleFunc("POST "+prefix+"{name}/"+call, func(w http.ResponseWriter, r *http.Request) {
			ix, ok := lookup(r.PathValue("name"))
			if !ok {
				fail(w, fmt.Errorf("index %s: %w", r.PathValue("name"), concordat.ErrNotFound))
				return
			}
			out, err := answer(r.Context(), ix, gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)))
			if err != nil {
				fail(w, err)
				return
			}
			var b bytes.Buffer
			if err := gob.NewEncoder(&b).Encode(out); err != nil {
				fail(w, err)
				return
			}
			_, _ = w.Write(b.Bytes()) // a caller that went away misses nothing
		})
	}
	handle(callMatch, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(q *concordat.Query) (any, error) { return ix.Match(ctx, q) })
	})
	handle(callTextStats, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(ts *[]concordat.Term) (any, error) { return ix.TextStats(ctx, *ts) })
	})
	handle(callSearch, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(q *concordat.TextQuery) (any, error) { return ix.SearchText(ctx, q) })
	})
	handle(callPut, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(packed *[]byte) (any, error) {
			ps, err := unpackProfiles(*packed)
			if err != nil {
				return nil, err
			}
			return true, ix.Put(ctx, ps...)
		})
	})
	handle(callRenew, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(packed *[]byte) (any, error) { return renew(ctx, ix, *packed) })
	})
	handle(callUnfit, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(q *wireUnfit) (any, error) { return unfit(ctx, ix, q) })
	})
	handle(callDelete, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(refs *[]concordat.Ref) (any, error) { return true, ix.Delete(ctx, *refs...) })
	})
	handle(callDocument, func(ctx context.Context, ix concordat.Index, d *gob.Decoder) (any, error) {
		return with(d, func(ref *concordat.Ref) (any, error) { return ix.Document(ctx, *ref) })
	})
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, fmt.Errorf("a different version of the program has the index open: %w", concordat.ErrUnavailable))
	})
	return m
}

// with decodes a question and returns the answer to it.
func with[T any](d *gob.Decoder, answer func(*T) (any, error)) (any, error) {
	var q T
	if err := d.Decode(&q); err != nil {
		return nil, fmt.Errorf("cannot decode the request: %w: %w", concordat.ErrInvalid, err)
	}
	return answer(&q)
}

// kinds maps names on the connection to the errors that keep their identity across it.
var kinds = map[string]error{
	"not_found": concordat.ErrNotFound, "exists": concordat.ErrExists, "scheme": concordat.ErrScheme,
	"unavailable": concordat.ErrUnavailable, "refused": concordat.ErrRefused, "locked": concordat.ErrLocked,
	"corrupt": concordat.ErrCorrupt, "disk_full": concordat.ErrDiskFull, "invalid": concordat.ErrInvalid,
	"canceled": context.Canceled, "deadline": context.DeadlineExceeded,
}

const kindHeader = "Concordat-Error"

func fail(w http.ResponseWriter, err error) {
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			w.Header().Add(kindHeader, name)
		}
	}
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = io.WriteString(w, err.Error())
}

// remoteError is an error from the other process, with its text and its kind.
type remoteError struct {
	words string
	kinds []error
}

func (e *remoteError) Error() string   { return e.words }
func (e *remoteError) Unwrap() []error { return e.kinds }

// Remote is an index in another process of the same site. It is a concordat.Index that is safe for concurrent use. Calls fail with
// concordat.ErrUnavailable if the process does not answer.
type Remote struct {
	client *http.Client
	base   string
}

// Dial returns the index of the given name in the process listening on the socket. It connects on the first call.
func Dial(socket, name string) *Remote {
	return &Remote{
		base: "http://site" + prefix + name + "/",
		client: &http.Client{Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return Connect(ctx, socket) },
			MaxIdleConnsPerHost: 8,
		}},
	}
}

// Close closes idle connections.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// call sends one question and reads the answer.
func (r *Remote) call(ctx context.Context, call string, question, answer any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(question); err != nil {
		return fmt.Errorf("%s: %w: %w", call, concordat.ErrInvalid, err)
	}
	if b.Len() > maxBody {
		return fmt.Errorf("%s: %w: the request has %d MiB, but at most %d MiB are allowed", call, concordat.ErrInvalid, b.Len()>>20, maxBody>>20)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+call, &b)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the site's server process: %w: %w", concordat.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	if resp.StatusCode != http.StatusOK {
		return readError(resp)
	}
	if err := gob.NewDecoder(resp.Body).Decode(answer); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the site's server process: %w: cannot decode the response: %w", concordat.ErrUnavailable, err)
	}
	return nil
}

func readError(resp *http.Response) error {
	words, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("the site's server process: %w: %w", concordat.ErrUnavailable, err)
	}
	e := &remoteError{words: strings.ToValidUTF8(string(words), "\ufffd")}
	for _, name := range resp.Header.Values(kindHeader) {
		if kind := kinds[name]; kind != nil {
			e.kinds = append(e.kinds, kind)
		}
	}
	return e
}

// Match implements concordat.Matcher.
func (r *Remote) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	var a concordat.Answer
	return orError(&a, r.call(ctx, callMatch, q, &a))
}

// TextStats implements concordat.TextSearcher.
func (r *Remote) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	var s concordat.TextStats
	return orError(&s, r.call(ctx, callTextStats, &terms, &s))
}

// SearchText implements concordat.TextSearcher.
func (r *Remote) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	var a concordat.TextAnswer
	return orError(&a, r.call(ctx, callSearch, q, &a))
}

// Put implements concordat.Index.
func (r *Remote) Put(ctx context.Context, ps ...*concordat.Profile) error {
	packed, err := packProfiles(ps)
	if err != nil {
		return err
	}
	var done bool
	return r.call(ctx, callPut, &packed, &done)
}

// packProfiles encodes profiles in the form used in a log, because gob would not distinguish a document without cells from one with
// unknown cells.
func packProfiles(ps []*concordat.Profile) ([]byte, error) {
	changes := make([]index.Change, len(ps))
	for i, p := range ps {
		changes[i].Put = p
	}
	return packChanges(changes, Payload)
}

// unpackProfiles is the inverse of packProfiles. Errors: concordat.ErrInvalid, concordat.ErrCorrupt.
func unpackProfiles(packed []byte) ([]*concordat.Profile, error) {
	changes, err := unpackChanges(packed, "")
	if err != nil {
		return nil, err
	}
	var ps []*concordat.Profile
	for _, c := range changes {
		if c.Put != nil {
			ps = append(ps, c.Put)
		}
	}
	return ps, nil
}

// Delete implements concordat.Index.
func (r *Remote) Delete(ctx context.Context, refs ...concordat.Ref) error {
	var done bool
	return r.call(ctx, callDelete, &refs, &done)
}

// Document implements concordat.Index.
func (r *Remote) Document(ctx context.Context, ref concordat.Ref) (*concordat.Document, error) {
	var d concordat.Document
	return orError(&d, r.call(ctx, callDocument, &ref, &d))
}

func orError[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
