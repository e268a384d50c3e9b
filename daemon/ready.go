package daemon

import (
	"context"
	"errors"
	"net/http"

	"concordat/instance"
)

// readiness is the answer of /readyz. For each part, it states ok or a description of the fault.
type readiness struct {
	Status string            `json:"status"` // ready, or not ready
	Parts  map[string]string `json:"parts"`  // serving, store, index, disk
}

// errStopping means that the process is starting or stopping.
var errStopping = errors.New("starting or stopping")

// readyz answers 200 while checks are accepted and can be performed, and otherwise 503, so that a proxy sends requests elsewhere.
// /healthz is for a supervisor that restarts a process that hangs; a full disk is no reason to restart it.
func (s *Daemon) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), instance.StatusTime)
	defer cancel()
	out := readiness{Status: "ready", Parts: map[string]string{}}
	code := http.StatusOK
	note := func(part string, err error) {
		out.Parts[part] = "ok"
		if err != nil {
			out.Parts[part], out.Status, code = err.Error(), "not ready", http.StatusServiceUnavailable
		}
	}
	var down error
	if !s.ready.Load() {
		down = errStopping
	}
	note("serving", down)
	_, err := s.o.Store.Setting(ctx, "scheme")
	if err != nil {
		s.log.Error("readiness", "error", err)
		err = errors.New("the store does not answer")
	}
	note("store", err)
	note("index", s.o.IndexReady())
	note("disk", s.o.CheckDisk())
	writeJSON(w, code, out)
}
