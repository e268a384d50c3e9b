package daemon

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/instance"
)

// Renewal is the outcome of renewing a certificate.
type Renewal struct {
	Node      coord.NodeID `json:"node"`
	Ends      time.Time    `json:"ends"`
	Authority time.Time    `json:"authority_ends"`
	By        coord.NodeID `json:"by,omitempty"` // node that renews it
	Renewed   bool         `json:"renewed"`
}

// renew renews the certificate that this process uses.
func (s *Daemon) renew(ctx context.Context) (r Renewal, err error) {
	if s.o.Member == nil {
		return r, fmt.Errorf("the site runs on a single machine: %w", concordat.ErrInvalid)
	}
	t := s.o.Member.Trust
	v, _ := s.o.Member.Node.View()
	l, err := s.o.Member.Node.Layout()
	if err != nil {
		return r, err
	}
	by, err := instance.AuthorityOf(v, l, t.Node)
	if err != nil {
		return r, err
	}
	if err := t.Renew(ctx, filepath.Join(s.o.Dir, instance.ClusterName), by); err != nil {
		return r, err
	}
	r = Renewal{Node: t.Node, By: by.ID, Renewed: true}
	r.Ends, r.Authority = t.Ends()
	s.log.Info("certificate renewed", "node", t.Node, "until", r.Ends)
	return r, nil
}

func (s *Daemon) renewNow(w http.ResponseWriter, r *http.Request) {
	out, err := s.renew(r.Context())
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// keepCertificate renews the certificate in time and retries as often as necessary.
func (s *Daemon) keepCertificate(ctx context.Context) error {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		if s.o.Member.Trust.Due(time.Now()) {
			if _, err := s.renew(ctx); err != nil && ctx.Err() == nil {
				ends, _ := s.o.Member.Trust.Ends()
				s.log.Warn("certificate is not renewed yet", "until", ends, "error", err)
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// renewEvery is the interval at which the certificate is examined.
const renewEvery = 6 * time.Hour
