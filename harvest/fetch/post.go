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
	maxAnswer = 64 << 10 // maximum number of bytes read of an answer to Post
)

// Post sends a body to an address as soon as the host's limits permit, and returns the status of the answer. It does not follow
// redirections. A status other than 2xx is a *StatusError.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(out.Body, maxAnswer)) // so that the connection can be reused
	if out.StatusCode < 200 || out.StatusCode > 299 {
		return out.StatusCode, &StatusError{out.StatusCode, retryAfter(out.Header, c.o.Now())}
	}
	return out.StatusCode, nil
}
