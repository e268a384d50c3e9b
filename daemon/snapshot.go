package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"time"
)

// snapshot answers a command that creates a backup while the site is being served. The backup's folder is on this machine, and this
// process must have permission to write to it.
func (s *Daemon) snapshot(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Folder string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask)
	if err == nil && !filepath.IsAbs(ask.Folder) {
		err = errors.New("the folder must be an absolute path")
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	began := time.Now()
	t, err := s.o.CopyState(r.Context(), ask.Folder)
	if err != nil {
		s.log.Error("backup", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	s.log.Info("backup", "site", t.Site, "documents", t.Documents, "took", time.Since(began))
	writeJSON(w, http.StatusOK, t)
}
