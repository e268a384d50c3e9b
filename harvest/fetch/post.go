package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	postTime  = time.Minute
	maxAnswer = 64 << 10 // bytes of an answer to Post that are read
)

// Post sends a body to an address, once the host may be asked, and returns where the answer says that it is kept, if it does.
// Redirections are not followed. Answers other than 2xx are a *StatusError.
func (c *Client) Post(ctx context.Context, address, media string, body []byte) (location string, err error) {
	u, err := c.Check(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	h := c.hostOf(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if wait := h.free.Sub(c.o.Now()); wait > 0 {
		if err := c.o.Sleep(ctx, wait); err != nil {
			return "", err
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("User-Agent", c.o.Agent)
	r.Header.Set("Content-Type", media)
	out, err := c.http.Do(r)
	h.free = c.o.Now().Add(c.o.Pause)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return "", failed.Err // without the address, which the caller names
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Body.Close() }()                         // nothing of it is needed
	_, _ = io.Copy(io.Discard, io.LimitReader(out.Body, maxAnswer)) // so that the connection can be used again
	if out.StatusCode < 200 || out.StatusCode > 299 {
		return "", &StatusError{out.StatusCode, retryAfter(out.Header, c.o.Now())}
	}
	return out.Header.Get("Location"), nil
}
