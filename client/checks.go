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

// Check is a submission with its progress.
type Check struct {
	ID       concordat.TaskID `json:"id"`
	State    concordat.State  `json:"state"`
	Title    string           `json:"title"`
	File     string           `json:"file"`  // name of the file that was submitted
	Cause    string           `json:"cause"` // why it failed, or what happened to it
	Owner    string           `json:"owner"`
	Batch    string           `json:"batch"` // shared by checks that were submitted together
	Made     time.Time        `json:"made"`
	Finished time.Time        `json:"finished"` // zero: it has not finished
	Ahead    *int             `json:"ahead"`    // checks before this one; nil: it does not wait
	Report   string           `json:"report"`   // empty: there is no report
	// Coverage is the share that counts under the rules in force, 0 to 1; nil: there is no report, nothing was compared, or the share is
	// not computed yet or not shown to this account.
	Coverage *float64 `json:"coverage"`
	Flags    int      `json:"flags"` // kinds of flags that may hide something; 0: none, or not shown to this account
	Leads    int      `json:"leads"` // passages that may restate a source; 0: none, not looked for, or not shown
	// LeftOut lists the files of the archive that were not read because no person wrote them; it is set once the archive has been read.
	LeftOut concordat.LeftOut `json:"left_out"`
}

// Ended reports whether the check will not change any more.
func (c Check) Ended() bool {
	return c.State != "" && c.State != concordat.TaskQueued && c.State != concordat.TaskRunning
}

// File is a file to submit. Each call of Open returns the content from the beginning, because a request is sent again if the connection
// breaks.
type File struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Bytes returns a File with the given content.
func Bytes(name string, content []byte) File {
	return File{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// Reader returns a File whose content can be read only once, so a request that breaks off while it is being sent is not repeated.
func Reader(name string, r io.Reader) File {
	used := new(atomic.Bool)
	return File{name, func() (io.ReadCloser, error) {
		if used.Swap(true) {
			return nil, errUsed
		}
		return io.NopCloser(r), nil
	}}
}

var errUsed = errors.New("the content was read already")

// Submission is one submission, of one or more files.
type Submission struct {
	Files     []File
	Text      string // a text, instead of or in addition to files
	Title     string // title of Text
	Libraries []concordat.LibraryID
	Partners  []concordat.SiteID
	Purpose   string // stated to partners
	Template  string
	// Key makes a submission repeatable for a day, even by another process. If it is empty, a random key protects the attempts of one call.
	Key string
}

// Submit submits documents, each for its own check, and returns the checks once the files are stored safely. Files are streamed.
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
	defer func() { _ = r.Close() }() // it was only read
	w, err := m.CreateFormFile("file", f.Name)
	if err == nil {
		_, err = io.Copy(w, r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// upload sends a form while it is being written, and sends it again if that is safe.
func (c *Client) upload(ctx context.Context, path string, header http.Header, write func(*multipart.Writer) error, out any) error {
	// All attempts use one boundary; being random, it does not depend on the content.
	boundary := multipart.NewWriter(io.Discard).Boundary()
	var pipes []*io.PipeReader
	defer func() {
		for _, p := range pipes {
			_ = p.Close() // ends the writer of an attempt that broke off
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
		return fmt.Errorf("POST %s: answer: %w", path, err)
	}
	return nil
}

// Check returns a check.
func (c *Client) Check(ctx context.Context, id concordat.TaskID) (Check, error) {
	var out Check
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/checks/" + escape(string(id))}, &out)
	return out, err
}

// Cancel ends a check that has not ended.
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
	From   time.Time // created at or after
	To     time.Time // created before
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

// list returns the entries of all pages of a list. Only one page is held at a time.
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
				err = errors.New("the page is its own successor")
			}
			if err != nil {
				yield(zero, fmt.Errorf("GET %s: answer: %w", path, err))
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
	Stage   string          `json:"stage"` // current stage while it runs; empty: not known
	Done    int             `json:"done"`  // how many of Total are done
	Total   int             `json:"total"`
	Ahead   *int            `json:"ahead"` // checks before this one; nil: it does not wait
	Finally bool            `json:"finally"`
}

// pollTime is the interval at which Wait asks if it cannot watch.
const pollTime = 2 * time.Second

// Wait waits until a check has ended and returns it. It watches the check's events, and polls if they do not arrive, for example because a
// proxy buffers them. told, if not nil, is called with each event.
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

// quiet is how long a stream of events may be silent: the site sends something at least every 15 s.
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
			return fmt.Errorf("event: %w", err)
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

// Report writes the report of a check to w; format is json, csv, html or another that Version lists; empty means json. If it fails, the
// output is incomplete.
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
	Kinds      []concordat.KindCount `json:"kinds"` // of its characters, if they are of several
	Section    string                `json:"section"`
	Characters int                   `json:"characters"`
	Cited      bool                  `json:"cited"`
	Group      concordat.Group       `json:"group"`    // whether it is in quotation marks and names its source
	Excluded   string                `json:"excluded"` // why it does not count; empty: it does
	Sources    []Source              `json:"sources"`
}

// Source is one document that holds a passage.
type Source struct {
	Site       concordat.SiteID      `json:"site"`
	Library    concordat.LibraryID   `json:"library"`
	Document   concordat.DocumentID  `json:"document"`
	Title      string                `json:"title"`
	Here       concordat.Span        `json:"here"` // of the submission
	Span       *concordat.Span       `json:"span"` // of the source; nil: only its bytes are known
	Kind       concordat.Kind        `json:"kind"`
	Kinds      []concordat.KindCount `json:"kinds"` // of its characters, if they are of several
	Similarity float64               `json:"similarity"`
	Closeness  string                `json:"closeness"`
	Excluded   string                `json:"excluded"`
	Text       string                `json:"text"` // empty: it is not shown
}

// Evidence returns the passages of a report in text order. It ends with a Problem of kind changed
// if the rules change during the call.
func (c *Client) Evidence(ctx context.Context, id concordat.TaskID) iter.Seq2[Evidence, error] {
	return list[Evidence](ctx, c, "/checks/"+escape(string(id))+"/evidence", "evidence", nil)
}
