package daemon

import (
	"context"
	"net/http"
	"time"

	"concordat/instance"
)

// stateTime bounds the query of other nodes for their state.
const stateTime = time.Second

// clusterState answers the command cluster status from this node's state and from the answers that other nodes give within a second.
func (s *Daemon) clusterState(w http.ResponseWriter, r *http.Request) {
	if s.o.Member == nil {
		writeJSON(w, http.StatusConflict, map[string]string{"error": "the site has only one machine"})
		return
	}
	n := s.o.Member.Node
	ctx, cancel := context.WithTimeout(r.Context(), stateTime)
	defer cancel()
	store := make(chan error, 1)
	go func() {
		_, err := s.o.Store.Setting(ctx, "scheme")
		store <- err
	}()
	v, _ := n.View()
	out := instance.ClusterState{View: *v, Silent: map[string]string{}}
	states, silent := n.States(ctx)
	out.Take(states, silent)
	if err := <-store; err != nil {
		out.Store = err.Error()
	}
	writeJSON(w, http.StatusOK, out)
}

// salvage returns the documents in copies set aside on this machine to the index.
func (s *Daemon) salvage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	out, err := instance.Salvage(r.Context(), s.o, q.Get("dry") == "true", q.Get("remove") == "true")
	if err != nil {
		s.log.Error("salvage", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, out)
}
