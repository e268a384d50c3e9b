package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

const (
	postTime  = time.Minute
	maxAnswer = 64 << 10 // bytes of an answer to Post that are read
)

// Post sends a body to an address, once the host may be asked, and returns the status of the answer. Redirections are not followed. An
// answer other than 2xx is a *StatusError.
func (c *Client) Post(ctx context.Context, address, media string, body []byte) (status int, err error) {
	u, err := c.Check(address)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	h := c.hostOf(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", media)
	out, err := c.send(h, r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = out.Body.Close() }()                         // its content is not needed
	_, _ = io.Copy(io.Discard, io.LimitReader(out.Body, maxAnswer)) // so that the connection can be used again
	if out.StatusCode < 200 || out.StatusCode > 299 {
		return out.StatusCode, &StatusError{out.StatusCode, retryAfter(out.Header, c.o.Now())}
	}
	return out.StatusCode, nil
}
