package instance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/site/answer"
)

// CallServing sends a request to the process serving the site in dir, with in as JSON, or without a body if in is nil.
func CallServing(ctx context.Context, dir, path string, in, out any) error {
	var content io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return cluster.Connect(ctx, filepath.Join(dir, SocketName))
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://site"+path, content)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 64<<20))
	if resp.StatusCode != http.StatusOK {
		var problem struct{ Error string }
		return errors.Join(fmt.Errorf("the server responded with %s", resp.Status), body.Decode(&problem), errors.New(problem.Error))
	}
	return body.Decode(out)
}

// FederationStatus is the part of the status about partners.
type FederationStatus struct {
	Listen string              `json:"listen"`
	Epochs []answer.EpochState `json:"epochs"`
}

// Words describes the state of the fingerprints for partners, one line per set.
func (st *FederationStatus) Words() []string {
	var out []string
	for _, e := range st.Epochs {
		var libraries []string
		for _, l := range e.Libraries {
			libraries = append(libraries, fmt.Sprintf("%s %d of %d", l.Library, l.Held, l.Documents))
		}
		out = append(out, fmt.Sprintf("epoch %s: %s", e.Epoch, cmp.Or(strings.Join(libraries, ", "), "no libraries are shared")))
	}
	return out
}

// SocketName is the socket through which other processes of the site reach the serving process.
const SocketName = "serve.sock"

// StatusTime is the timeout for a status request to the serving process.
const StatusTime = 5 * time.Second

// Status is the status of the serving process.
type Status struct {
	Site      concordat.SiteID `json:"site"`
	Process   int              `json:"process"`
	Started   time.Time        `json:"started"`
	Listen    string           `json:"listen"`
	Metrics   string           `json:"metrics,omitempty"`
	Documents int              `json:"documents"`
	Sentences int              `json:"sentences"`
	// Panics counts requests, checks and other work that ended in a panic since the start. Panicked is the time of the latest panic.
	Panics   int       `json:"panics,omitempty"`
	Panicked time.Time `json:"panicked,omitzero"`
	// Federation is nil if the site does not listen for partners.
	Federation *FederationStatus `json:"federation,omitempty"`
}

// Serving requests the status of the process serving the site in dir. It fails with concordat.ErrUnavailable if there is none.
func Serving(ctx context.Context, dir string) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, StatusTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return cluster.Connect(ctx, filepath.Join(dir, SocketName))
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://site/status", nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var st Status
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&st); err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	}
	return &st, nil
}
