package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// These are the errors that callers distinguish with errors.Is.
var (
	// ErrUnavailable means that the server could not be reached, was too slow, or reported that it is busy.
	ErrUnavailable = errors.New("the encoder is not responding")
	// ErrRefused means that the server rejected the request, for example because of a wrong key, model or length.
	ErrRefused = errors.New("the encoder rejected the request")
	// ErrNonsense means that the server did not return vectors of the texts.
	ErrNonsense = errors.New("the encoder sent an unusable response")
	// ErrPaused means that the server failed recently and no request was sent.
	ErrPaused = errors.New("the encoder failed recently, so no request was sent")
)

// Limits on reading and waiting.
const (
	perNumber    = 32      // maximum bytes per number in an answer
	perAnswer    = 1 << 20 // bytes of an answer besides its numbers
	perError     = 4 << 10 // bytes to read of a failure's body
	atOnce       = 2       // concurrent requests of an Encoder
	shortestRest = 5 * time.Second
	longestRest  = 5 * time.Minute
	// maxText is the maximum length of a text in bytes; longer texts are truncated, since models read only a few hundred words.
	maxText = 8 << 10
)

// Encoder sends requests to one server. It is safe for concurrent use.
type Encoder struct {
	o      Options
	url    string
	host   string // host of the URL, without port
	client *http.Client
	turns  chan struct{}

	mu         sync.Mutex // guards the fields below
	dimensions int
	rest       time.Duration // how long the last failure paused requests
	until      time.Time     // earliest time of the next request
	spent      Spent
}

// Spent is an Encoder's cost so far.
type Spent struct {
	Texts, Requests, Failures int
	Took                      time.Duration // total of all requests
}

// New returns an encoder without connecting to the server.
func New(o Options) (*Encoder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Batch, o.Timeout = cmp.Or(o.Batch, DefaultBatch), cmp.Or(o.Timeout, DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: o.Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		if !o.AllowTextToLeave && !isLoopback(address) {
			return fmt.Errorf("texts must not leave this machine, but %s is another machine", address)
		}
		return nil
	}}
	dial := dialer.DialContext
	if o.Socket != "" {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: o.Timeout}).DialContext(ctx, "unix", o.Socket)
		}
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	return &Encoder{o: o, host: u.Hostname(), url: strings.TrimSuffix(o.URL, "/") + "/embeddings",
		turns: make(chan struct{}, atOnce), dimensions: o.Dimensions,
		client: &http.Client{Timeout: o.Timeout,
			Transport:     &http.Transport{DialContext: dial, MaxIdleConnsPerHost: atOnce, MaxResponseHeaderBytes: 64 << 10},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Name returns the encoder's name in reports.
func (e *Encoder) Name() string { return cmp.Or(e.o.Model, "server") }

// Where returns the machine that receives texts, or "" if they stay on this one.
func (e *Encoder) Where() string {
	if isHere(e.host) {
		return ""
	}
	return e.host
}

// Spent returns the cost so far.
func (e *Encoder) Spent() Spent {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.spent
}

// Recipe returns a string that identifies everything besides the texts that determines the vectors; encoders with equal recipes produce
// comparable vectors.
func (e *Encoder) Recipe() string {
	where := ""
	if e.o.Model == "" { // without a model name, only the server's address distinguishes models
		where = e.url
	}
	return fmt.Sprintf("%q %q %q %d", where, e.o.Model, e.o.Prefix, e.o.Dimensions)
}

// Encode returns a vector of length 1 for each text, in the same order, and the number of different texts sent to the server. It returns
// that number even with an error, since a server has read the texts even if its answer is invalid. It sends equal texts once.
func (e *Encoder) Encode(ctx context.Context, texts []string) (vectors [][]float32, sent int, err error) {
	at := make(map[string]int, len(texts))
	var distinct []string
	for _, t := range texts {
		if _, ok := at[t]; !ok {
			at[t] = len(distinct)
			distinct = append(distinct, t)
		}
	}
	all := make([][]float32, 0, len(distinct))
	for from := 0; from < len(distinct); from += e.o.Batch {
		part := distinct[from:min(from+e.o.Batch, len(distinct))]
		got, out, err := e.batch(ctx, part)
		if out {
			sent += len(part)
		}
		if err != nil {
			return nil, sent, err
		}
		all = append(all, got...)
	}
	vectors = make([][]float32, len(texts))
	for i, t := range texts {
		vectors[i] = all[at[t]]
	}
	return vectors, sent, nil
}

// batch requests the vectors of some texts unless the last failure is too recent, and reports whether they were sent. A request cancelled
// by the caller does not count as a failure of the server.
func (e *Encoder) batch(ctx context.Context, texts []string) (vectors [][]float32, sent bool, err error) {
	select {
	case e.turns <- struct{}{}:
		defer func() { <-e.turns }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if err := e.paused(); err != nil {
		return nil, false, err
	}
	began := e.o.Now()
	var wrote atomic.Bool // a cancelled transport might still write
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	vectors, err = e.ask(traced, texts)
	sent = wrote.Load()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spent.Requests++
	e.spent.Took += e.o.Now().Sub(began)
	if err != nil {
		if ctx.Err() == nil {
			e.spent.Failures++
			e.rest = min(max(2*e.rest, shortestRest), longestRest)
			e.until = e.o.Now().Add(e.rest)
		}
		return nil, sent, err
	}
	e.spent.Texts += len(texts)
	e.rest = 0
	return vectors, sent, nil
}

func (e *Encoder) paused() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if left := e.until.Sub(e.o.Now()); left > 0 {
		return fmt.Errorf("%w: next request in %s", ErrPaused, left.Round(time.Second))
	}
	return nil
}

type question struct {
	Model          string   `json:"model,omitempty"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

func (e *Encoder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	q := question{Model: e.o.Model, EncodingFormat: "float", Input: make([]string, len(texts))}
	for i, t := range texts {
		q.Input[i] = e.o.Prefix + cut(t)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if e.o.Key != "" {
		request.Header.Set("Authorization", "Bearer "+e.o.Key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, failure(response)
	}
	most := int64(len(texts))*int64(cmp.Or(e.known(), MaxDimensions))*perNumber + perAnswer
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case int64(len(answer)) > most:
		return nil, fmt.Errorf("%w: more than %d bytes for %d texts", ErrNonsense, most, len(texts))
	}
	vectors, err := read(answer, len(texts), e.known())
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(vectors) > 0 {
		e.dimensions = len(vectors[0])
	}
	return vectors, nil
}

func (e *Encoder) known() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dimensions
}

// cut truncates a text to the length that may be sent.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// failure returns the error for an answer other than 200. It includes the server's message on one short line.
func failure(r *http.Response) error {
	kind := ErrUnavailable
	if r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusRequestTimeout {
		kind = ErrRefused
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, perError))
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return fmt.Errorf("%w: %s", kind, r.Status)
	}
	return fmt.Errorf("%w: %s: %.200q", kind, r.Status, said.Error.Message)
}

// read returns an answer's vectors by index, scaled to length 1. If dimensions is 0, it accepts any number of dimensions.
func read(answer []byte, texts, dimensions int) ([][]float32, error) {
	var got struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNonsense, err)
	}
	if len(got.Data) != texts {
		return nil, fmt.Errorf("%w: got %d vectors for %d texts", ErrNonsense, len(got.Data), texts)
	}
	out := make([][]float32, texts)
	for i, d := range got.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || out[i] != nil {
			return nil, fmt.Errorf("%w: index %d is repeated, or out of range for %d texts", ErrNonsense, i, texts)
		}
		if dimensions == 0 {
			dimensions = len(d.Embedding)
		}
		if n := len(d.Embedding); n != dimensions || n == 0 || n > MaxDimensions {
			return nil, fmt.Errorf("%w: got a vector with %d dimensions, want %d", ErrNonsense, n, dimensions)
		}
		var err error
		if out[i], err = unit(d.Embedding); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unit scales a vector to length 1.
func unit(v []float64) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	length := math.Sqrt(sum)
	if !(length > 1e-9) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("%w: got a vector of length %g", ErrNonsense, length)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / length)
	}
	return out, nil
}
