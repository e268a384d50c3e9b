package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"concordat"
)

// Check is a submission and the progress of its check.
type Check struct {
	ID       concordat.TaskID `json:"id"`
	State    concordat.State  `json:"state"`
	Title    string           `json:"title"`
	File     string           `json:"file"`  // name of the submitted file
	Cause    string           `json:"cause"` // why it failed, or what happened to it
	Owner    string           `json:"owner"`
	Batch    string           `json:"batch"` // shared by checks that were submitted together
	Made     time.Time        `json:"made"`
	Finished time.Time        `json:"finished"` // zero if it has not finished
	Ahead    *int             `json:"ahead"`    // checks before this one; nil if it does not wait
	Report   string           `json:"report"`   // empty if there is no report
	// Coverage is the share that counts under the current rules, 0 to 1. It is nil if there is no report, nothing was compared, or the
	// share is not computed yet or not shown to this account.
	Coverage *float64 `json:"coverage"`
	Flags    int      `json:"flags"` // kinds of flags that may indicate concealment; 0 if none, or not shown to this account
	Leads    int      `json:"leads"` // passages that may restate a source; 0 if none, not searched for, or not shown
	// LeftOut lists the files of the archive that were skipped because no person wrote them; it is set when the archive has been read.
	LeftOut concordat.LeftOut `json:"left_out"`
}

// Ended reports whether the check has reached its final state.
func (c Check) Ended() bool {
	return c.State != "" && c.State.Ended()
}

// File is a file to submit. Open must return the content from the beginning on each call, because a request is repeated if the connection
// breaks.
type File struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Bytes returns a File with the given content.
func Bytes(name string, content []byte) File {
	return File{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// Reader returns a File whose content can be read only once. A request interrupted while sending it is not repeated.
func Reader(name string, r io.Reader) File {
	used := new(atomic.Bool)
	return File{name, func() (io.ReadCloser, error) {
		if used.Swap(true) {
			return nil, errUsed
		}
		return io.NopCloser(r), nil
	}}
}

var errUsed = errors.New("the content has already been read")

// Submission is a submission of one or more files.
type Submission struct {
	Files     []File
	Text      string // a text, instead of or in addition to files
	Title     string // title of Text
	Libraries []concordat.LibraryID
	Partners  []concordat.SiteID
	Purpose   string // stated to partners
	Template  string
	// Key makes a submission repeatable for a day, even by another process. If it is empty, a random key makes the attempts of one call
	// repeatable.
	Key string
}

// Submit submits documents, each for its own check, and returns the checks after the files have been stored safely. Files are streamed.
func (c *Client) Submit(ctx context.Context, s Submission) ([]Check, error) {
	var fields [][2]string
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	add("text", s.Text)
	add("title", s.Title)
	add("purpose", s.Purpose)
	add("template", s.Template)
	for _, l := range s.Libraries {
		add("library", string(l))
	}
	for _, p := range s.Partners {
		add("partner", string(p))
	}
	var out struct{ Checks []Check }
	err := c.upload(ctx, "/checks", key(s.Key), func(m *multipart.Writer) error {
		for _, f := range fields {
			if err := m.WriteField(f[0], f[1]); err != nil {
				return err
			}
		}
		for _, f := range s.Files {
			if err := writeFile(m, f); err != nil {
				return err
			}
		}
		return nil
	}, &out)
	return out.Checks, err
}

func writeFile(m *multipart.Writer, f File) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }() // the file was only read
	w, err := m.CreateFormFile("file", f.Name)
	if err == nil {
		_, err = io.Copy(w, r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// upload streams a form and sends it again if that is safe.
func (c *Client) upload(ctx context.Context, path string, header http.Header, write func(*multipart.Writer) error, out any) error {
	// All attempts use one boundary; it is random and therefore independent of the content.
	boundary := multipart.NewWriter(io.Discard).Boundary()
	var pipes []*io.PipeReader
	defer func() {
		for _, p := range pipes {
			_ = p.Close() // ends the writer of an interrupted attempt
		}
	}()
	resp, err := c.send(ctx, request{method: http.MethodPost, path: path, header: header}, func() io.Reader {
		r, w := io.Pipe()
		pipes = append(pipes, r)
		go func() {
			m := multipart.NewWriter(w)
			err := m.SetBoundary(boundary)
			if err == nil {
				err = write(m)
			}
			if err == nil {
				err = m.Close()
			}
			_ = w.CloseWithError(err) // never fails (io)
		}()
		return r
	}, "multipart/form-data; boundary="+boundary)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("POST %s: parse response: %w", path, err)
	}
	return nil
}

// Check returns a check.
func (c *Client) Check(ctx context.Context, id concordat.TaskID) (Check, error) {
	var out Check
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/checks/" + escape(string(id))}, &out)
	return out, err
}

// Cancel cancels a check that has not ended.
func (c *Client) Cancel(ctx context.Context, id concordat.TaskID) (Check, error) {
	var out Check
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/checks/" + escape(string(id)) + "/cancel"}, &out)
	return out, err
}

// Filter selects the checks to list; zero fields do not restrict the list.
type Filter struct {
	States []concordat.State
	Owner  string
	Batch  string
	From   time.Time // created at or after this time
	To     time.Time // created before this time
}

// Checks returns checks, newest first.
func (c *Client) Checks(ctx context.Context, f Filter) iter.Seq2[Check, error] {
	q := url.Values{}
	var states []string
	for _, s := range f.States {
		states = append(states, string(s))
	}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("state", strings.Join(states, ","))
	set("owner", f.Owner)
	set("batch", f.Batch)
	if !f.From.IsZero() {
		set("from", f.From.UTC().Format(time.RFC3339Nano))
	}
	if !f.To.IsZero() {
		set("to", f.To.UTC().Format(time.RFC3339Nano))
	}
	return list[Check](ctx, c, "/checks", "checks", q)
}

// list returns the entries of all pages of a list. It keeps only one page in memory.
func list[T any](ctx context.Context, c *Client, path, name string, q url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		cursor := ""
		for {
			asked := url.Values{"limit": {"100"}}
			for k, v := range q {
				asked[k] = v
			}
			if cursor != "" {
				asked.Set("cursor", cursor)
			}
			var page map[string]json.RawMessage
			if _, err := c.call(ctx, request{method: http.MethodGet, path: path, query: asked}, &page); err != nil {
				yield(zero, err)
				return
			}
			var all []T
			next := ""
			err := json.Unmarshal(page[name], &all)
			if raw, ok := page["next"]; ok && err == nil {
				err = json.Unmarshal(raw, &next)
			}
			if err == nil && next != "" && next == cursor {
				err = errors.New("the server returned the same cursor again")
			}
			if err != nil {
				yield(zero, fmt.Errorf("GET %s: parse response: %w", path, err))
				return
			}
			for _, one := range all {
				if !yield(one, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// Event reports the progress of a check.
type Event struct {
	State   concordat.State `json:"state"`
	Stage   string          `json:"stage"` // current stage while it runs; empty if unknown
	Done    int             `json:"done"`  // number of completed units among Total
	Total   int             `json:"total"`
	Ahead   *int            `json:"ahead"` // checks before this one; nil if it does not wait
	Finally bool            `json:"finally"`
}

// pollTime is the interval at which Wait polls if it cannot watch.
const pollTime = 2 * time.Second

// Wait waits until a check has ended and returns it. It watches the check's events, and polls if they do not arrive, for example because
// a proxy buffers them. told, if not nil, is called with each event.
func (c *Client) Wait(ctx context.Context, id concordat.TaskID, told func(Event)) (Check, error) {
	for {
		if err := c.watch(ctx, id, told); err != nil {
			var p *Problem
			if ctx.Err() != nil || errors.As(err, &p) && !p.busy() && p.Status != http.StatusNotAcceptable {
				return Check{}, err
			}
		}
		one, err := c.Check(ctx, id)
		if err != nil || one.Ended() {
			return one, err
		}
		if err := sleep(ctx, pollTime); err != nil {
			return one, err
		}
	}
}

// quiet is the maximum silence in a stream of events; the site sends something at least every 15 s.
const quiet = 45 * time.Second

// watch reads events until the last one, the end of the stream, or prolonged silence.
func (c *Client) watch(ctx context.Context, id concordat.TaskID, told func(Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(quiet, cancel)
	defer silence.Stop()
	resp, err := c.once(ctx, request{method: http.MethodGet, path: "/checks/" + escape(string(id)) + "/events"}, nil, "")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		silence.Reset(quiet)
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("parse event: %w", err)
		}
		if told != nil {
			told(e)
		}
		if e.Finally {
			return nil
		}
	}
	return lines.Err()
}

// Report writes the report of a check to w. format is json, csv, html or another format listed by Version; the default is json. If it
// fails, the output is incomplete.
func (c *Client) Report(ctx context.Context, id concordat.TaskID, format string, w io.Writer) error {
	path := "/checks/" + escape(string(id)) + "/report"
	resp, err := c.send(ctx, request{method: http.MethodGet, path: path, query: url.Values{"format": {cmp.Or(format, "json")}}},
		func() io.Reader { return nil }, "")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// Evidence is a passage of a submission with its sources, as in doc/format-report.md. Spans are code
// points.
type Evidence struct {
	Number     string                `json:"number"` // the same under all rules and in every form of the report
	Span       concordat.Span        `json:"span"`
	Text       string                `json:"text"`
	Kind       concordat.Kind        `json:"kind"`
	Kinds      []concordat.KindCount `json:"kinds"` // kinds of its characters, if there are several
	Section    string                `json:"section"`
	Characters int                   `json:"characters"`
	Cited      bool                  `json:"cited"`
	Group      concordat.Group       `json:"group"`    // whether it is in quotation marks and whether it names its source
	Excluded   string                `json:"excluded"` // why it does not count; empty if it does
	Sources    []Source              `json:"sources"`
}

// Source is a document that contains a passage.
type Source struct {
	Site       concordat.SiteID      `json:"site"`
	Library    concordat.LibraryID   `json:"library"`
	Document   concordat.DocumentID  `json:"document"`
	Title      string                `json:"title"`
	Here       concordat.Span        `json:"here"` // span of the submission
	Span       *concordat.Span       `json:"span"` // span of the source; nil if only its bytes are known
	Kind       concordat.Kind        `json:"kind"`
	Kinds      []concordat.KindCount `json:"kinds"` // kinds of its characters, if there are several
	Similarity float64               `json:"similarity"`
	Closeness  string                `json:"closeness"`
	Excluded   string                `json:"excluded"`
	Text       string                `json:"text"` // empty if not shown
}

// Evidence returns the passages of a report in text order. It ends with a Problem of kind changed if the rules change during the
// iteration.
func (c *Client) Evidence(ctx context.Context, id concordat.TaskID) iter.Seq2[Evidence, error] {
	return list[Evidence](ctx, c, "/checks/"+escape(string(id))+"/evidence", "evidence", nil)
}
