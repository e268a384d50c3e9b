package platforms

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web/lti"
	"concordat/web/pages"
)

const (
	// maxNotices bounds the notices in one call, each of at most lti.MaxMessage bytes.
	maxNotices    = 100
	maxNoticeBody = 4 << 20
	// noticeTime is how long a notice is remembered, which is much longer than its signature is valid.
	noticeTime = 30 * 24 * time.Hour
)

// contextOf returns the name of a message's course, or a substitute if the platform does not name one.
func contextOf(m *lti.Message) string {
	switch {
	case m.Context.ID != "":
		return m.Context.ID
	case m.Activity.ID != "":
		return "activity " + m.Activity.ID
	case m.Link.ID != "":
		return "link " + m.Link.ID
	}
	return ""
}

// notice receives notices that a platform sends directly (Platform Notification Service 1.0, section 4). It answers 200 once all notices
// are on disk, 503 if the platform should send them again, and 400 if one of them is not a notice. Valid notices are stored in all cases.
func (d *Tool) notice(rw http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxNoticeBody))
	var body struct {
		Notices []struct {
			JWT string `json:"jwt"`
		} `json:"notices"`
	}
	if err == nil {
		err = json.Unmarshal(b, &body)
	}
	if err != nil || len(body.Notices) == 0 || len(body.Notices) > maxNotices {
		d.w.Options().Logger.Info("notice refused", "error", err, "notices", len(body.Notices))
		http.Error(rw, "the request contains no notices", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	code := http.StatusOK
	for _, n := range body.Notices {
		switch err := d.takeNotice(ctx, n.JWT); {
		case err == nil:
		case errors.Is(err, concordat.ErrRefused), errors.Is(err, concordat.ErrInvalid):
			d.w.Options().Logger.Warn("notice refused", "error", err)
			if code == http.StatusOK {
				code = http.StatusBadRequest
			}
		default:
			d.w.Options().Logger.Error("notice", "error", err)
			code = http.StatusServiceUnavailable
		}
	}
	select {
	case d.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
	rw.WriteHeader(code)
}

// takeNotice verifies one notice and stores its files as pending work.
func (d *Tool) takeNotice(ctx context.Context, raw string) error {
	p, err := d.sender(ctx, raw)
	if err != nil {
		return err
	}
	m, err := d.client.Verify(ctx, platformOf(p), raw)
	if err != nil {
		return err
	}
	if m.Notice == nil || m.Notice.Type == "" {
		return fmt.Errorf("notice: %w: the message is not a notice", concordat.ErrInvalid)
	}
	if m.Notice.Type != lti.NoticeSubmission {
		d.w.Options().Logger.Info("notice", "platform", p.ID, "type", m.Notice.Type)
		return nil
	}
	var assets []store.LTIAsset
	for _, a := range m.Assets {
		if a.ID == "" || a.URL == "" || m.ReportURL == "" {
			return fmt.Errorf("notice: %w: a file is missing its ID, its address or the address for its report", concordat.ErrInvalid)
		}
		assets = append(assets, store.LTIAsset{ID: strings.ToLower(rand.Text()), Platform: p.ID, Deployment: m.Deployment,
			Context:  contextOf(m),
			Activity: m.Activity.ID, Submission: m.Submission.ID, Asset: a.ID, Learner: m.ForUser, Processor: m.Custom[customProcessor],
			URL: a.URL, ReportURL: m.ReportURL, Title: cmp.Or(a.Title, a.Filename), Filename: a.Filename, Media: a.Media,
			Digest: digestOf(a.Digest), Made: d.w.Options().Now()})
	}
	// The platform's name for the notice identifies it; if there is none, its nonce does.
	name := strings.Join([]string{p.ID, m.Deployment, cmp.Or(m.Notice.ID, m.Nonce)}, "\n")
	return d.w.Options().Store.Atomic(ctx, func(tx *store.DB) error {
		fresh, err := tx.LTI.TakeLTINotice(ctx, name, d.w.Options().Now().Add(noticeTime), assets)
		if err != nil || !fresh {
			return err
		}
		return tx.Audit.Note(ctx, pages.PlatformOwner+p.ID, "lti_notice", map[string]any{"deployment": m.Deployment, "context": contextOf(m),
			"submission": m.Submission.ID, "files": len(assets)})
	})
}

// sender returns the platform that a notice names as its sender.
func (d *Tool) sender(ctx context.Context, raw string) (store.LTIPlatform, error) {
	issuer, audience, err := lti.Peek(raw)
	if err != nil {
		return store.LTIPlatform{}, err
	}
	all, err := d.w.Options().Store.LTI.LTIIssuer(ctx, issuer, "")
	if err != nil {
		return store.LTIPlatform{}, err
	}
	for _, p := range all {
		if !p.Disabled && slices.Contains(audience, p.Client) {
			return p, nil
		}
	}
	return store.LTIPlatform{}, fmt.Errorf("notice: %w: unknown sender: issuer %.200q, audience %.200q", concordat.ErrRefused, issuer, audience)
}

// digestOf converts a SHA-256 digest from base64 to hexadecimal, or returns "" if the text is not such a digest.
func digestOf(text string) string {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := e.DecodeString(text); err == nil && len(b) == 32 {
			return hex.EncodeToString(b)
		}
	}
	return ""
}
