package daemon

import (
	"net/http"
)

// examineIndex answers the command doctor while the site is being served.
func (s *Daemon) examineIndex(w http.ResponseWriter, r *http.Request) {
	check := s.o.CheckIndex
	if s.o.Member != nil {
		check = s.o.CheckShards
	}
	st, err := check(r.Context(), r.URL.Query().Get("quick") == "true")
	if err != nil {
		s.log.Error("doctor", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, st)
}
