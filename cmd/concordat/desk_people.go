package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/config"
	"concordat/site"
	"concordat/web"
)

// policyOf returns who may do how much at the pages.
func policyOf(c *config.Config) web.Policy {
	p := c.People
	quota := func(q config.Quota) web.Quota {
		return web.Quota{Documents: q.Documents, Characters: q.Characters, Open: q.Open, Bytes: q.Bytes}
	}
	return web.Policy{Public: p.Public, Proxies: p.Proxies, SessionIdle: p.SessionIdle, See: web.See(p.See), From: web.From(p.From),
		Quota: quota(p.Quota), PublicQuota: quota(p.OpenQuota), PublicQueue: p.Queue, PublicAccounts: p.Accounts, Registrations: p.Registrations,
		Calls: p.Calls, NoStore: c.Retention.NoStore}
}

// retentionOf returns how long the site keeps what.
func retentionOf(c *config.Config) site.Retention {
	const day = 24 * time.Hour
	r := c.Retention
	return site.Retention{Reports: time.Duration(r.Reports) * day, Texts: time.Duration(r.Texts) * day, Originals: time.Duration(r.Originals) * day}
}

// erasureKind is the kind of the statement that signs a receipt.
const erasureKind = "erasure"

// erasureSignature is the signature of a receipt.
type erasureSignature struct {
	Site      concordat.SiteID `json:"site"`
	KeyEpoch  uint32           `json:"key_epoch"`
	At        time.Time        `json:"at"`
	Sum       []byte           `json:"sum"` // SHA-256 of the receipt without signature and reason
	Signature []byte           `json:"signature"`
}

// eraser returns what deletes at the site, whose index this process holds.
func (a *app) eraser(o *opened, log *slog.Logger) *site.Eraser {
	return o.NewEraser(site.EraserOptions{
		Store:     o.store,
		Areas:     []site.Area{o.files(), batchFolders{o}},
		Batches:   batchFolders{o},
		Remains:   o.clearRemains,
		Cited:     func() site.CitedPolicy { return site.CitedPolicy(o.config.Retention.Cited) },
		Logger:    log,
		Elsewhere: o.keptElsewhere,
		Sign: func(sum [32]byte) (json.RawMessage, error) {
			s, err := a.currentSigner(time.Now())
			if err != nil || s == nil {
				return nil, err
			}
			out := erasureSignature{Site: name(s.id.Site()), At: time.Now().UTC().Truncate(time.Millisecond), Sum: sum[:]}
			epoch, sig, err := s.id.SignStatement(erasureKind, out.At, [32]byte{}, sum[:])
			if err != nil {
				return nil, fmt.Errorf("sign: %w", err)
			}
			out.KeyEpoch, out.Signature = epoch, sig
			return json.Marshal(out)
		},
	})
}

const (
	// sweepEvery is how often the rules of the site are applied.
	sweepEvery = time.Hour
	// erasurePoll is how often deletions of other processes are looked for.
	erasurePoll = time.Second
	// erasureRetry is when a deletion that failed is tried again.
	erasureRetry = time.Minute
)

// sweep applies the rules of the site in the background, and carries out what other processes of the
// site want deleted, until ctx ends.
func (s *server) sweep(ctx context.Context, e *site.Eraser) error {
	tick := time.NewTicker(erasurePoll)
	defer tick.Stop()
	var swept, failed time.Time
	for {
		if now := time.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			did, err := e.Sweep(ctx, retentionOf(s.o.config), false)
			if err != nil && ctx.Err() == nil {
				s.log.Error("retention", "error", err)
			}
			s.log.Info("retention", "did", did)
			s.settleOld(ctx)
		} else if now.Sub(failed) >= erasureRetry {
			if _, err := e.Resume(ctx); err != nil && ctx.Err() == nil {
				failed = now
				s.log.Error("deletion", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sweepNow answers the command line.
func (s *server) sweepNow(w http.ResponseWriter, r *http.Request) {
	did, err := s.eraser.Sweep(r.Context(), retentionOf(s.o.config), false)
	if err != nil {
		s.log.Error("retention", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, did)
}

// askServing sends a request to the process that serves the site in dir: in as JSON, nil: without a body.
func askServing(ctx context.Context, dir, path string, in, out any) error {
	var content io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(b)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return cluster.Connect(ctx, filepath.Join(dir, socketName))
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
		return errors.Join(fmt.Errorf("the serving process answers %s", resp.Status), body.Decode(&problem), errors.New(problem.Error))
	}
	return body.Decode(out)
}
