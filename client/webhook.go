package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is the maximum difference between the clocks of a site and its receiver, and the maximum age of a delivery on arrival. Each
// attempt has its own signature.
const Tolerance = 5 * time.Minute

// ErrSignature means that a webhook request is not from the site or that its time is wrong.
var ErrSignature = errors.New("invalid webhook signature")

// Notification is the body of a webhook request.
type Notification struct {
	ID        string          `json:"-"` // the same for every attempt; skip notifications that were already handled
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"` // time of the event
	Data      json.RawMessage `json:"data"`
}

// maxSignatures is the maximum number of signatures tried in a header.
const maxSignatures = 20

// Verify returns the event in a webhook request, or an error that wraps ErrSignature. secret is the secret that the site showed,
// beginning with whsec_; body is the request's body, byte for byte; now is the current time.
func Verify(secret string, h http.Header, body []byte, now time.Time) (*Notification, error) {
	bad := func(why string) (*Notification, error) { return nil, fmt.Errorf("%w: %s", ErrSignature, why) }
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return bad("not a valid webhook secret")
	}
	id, stamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return bad("a webhook header is missing or invalid")
	}
	if d := now.Unix() - at; d > int64(Tolerance/time.Second) || d < -int64(Tolerance/time.Second) {
		return bad("the request was signed too long ago, or its timestamp is in the future")
	}
	m := hmac.New(sha256.New, key)
	_, _ = m.Write([]byte(id + "." + stamp + ".")) // writing to a hash cannot fail
	_, _ = m.Write(body)
	want := m.Sum(nil)
	for i, one := range strings.Fields(h.Get("Webhook-Signature")) {
		if i == maxSignatures {
			break
		}
		text, ok := strings.CutPrefix(one, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || !hmac.Equal(got, want) {
			continue
		}
		n := &Notification{ID: id}
		if err := json.Unmarshal(body, n); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", id, err)
		}
		return n, nil
	}
	return bad("no signature matches")
}
