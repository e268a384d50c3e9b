package ltitest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Put stores a file and returns the asset for referring to it in a notice.
func (p *Platform) Put(id, name string, content []byte) map[string]any {
	p.with(func() { p.files[id] = content })
	sum := sha256.Sum256(content)
	return map[string]any{"asset_id": id, "url": p.URL + "/assets/" + id, "title": name, "filename": name, "size": len(content),
		"content_type": "text/plain", "sha256_checksum": base64.StdEncoding.EncodeToString(sum[:])}
}

func (p *Platform) asset(rw http.ResponseWriter, r *http.Request) {
	if !p.allowed(rw, r, "asset.readonly") {
		return
	}
	id := r.PathValue("id")
	p.mu.Lock()
	content, ok := p.files[id]
	to := p.moved[id]
	p.mu.Unlock()
	switch {
	case to != "":
		http.Redirect(rw, r, to, http.StatusFound)
	case !ok:
		http.NotFound(rw, r)
	default:
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = rw.Write(content) // a disconnected caller fails its own test
	}
}

func (p *Platform) report(rw http.ResponseWriter, r *http.Request) {
	if !p.allowed(rw, r, "report") {
		return
	}
	var one Report
	if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
		answer(rw, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if why := one.wrong(); why != "" {
		p.t.Errorf("report %v: %s", one, why)
		answer(rw, http.StatusBadRequest, map[string]string{"error": why})
		return
	}
	one["processor"] = r.PathValue("processor")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, before := range p.reports {
		if before["assetId"] == one["assetId"] && before["processor"] == one["processor"] &&
			before["timestamp"].(string) > one["timestamp"].(string) {
			answer(rw, http.StatusConflict, map[string]string{"error": "older"})
			return
		}
	}
	p.reports = append(p.reports, one)
	close(p.changed)
	p.changed = make(chan struct{})
	answer(rw, http.StatusCreated, one)
}

// wrong returns the faults that a platform would find in a report.
func (r Report) wrong() string {
	text := func(k string) string { s, _ := r[k].(string); return s }
	if text("assetId") == "" || text("type") == "" {
		return "the asset or the type is missing"
	}
	if _, err := time.Parse(time.RFC3339Nano, text("timestamp")); err != nil {
		return err.Error()
	}
	if n, ok := r["priority"].(float64); !ok || n < 0 || n > 5 {
		return "priority"
	}
	if !slices.Contains([]string{"Processed", "Processing", "Pending", "Failed"}, text("processingProgress")) {
		return "progress"
	}
	if len(text("result")) > 16 || (text("result") != "") != (text("processingProgress") == "Processed") {
		return "result"
	}
	return ""
}

// Reports returns the reports of an asset in order of arrival.
func (p *Platform) Reports(asset string) []Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Report
	for _, r := range p.reports {
		if r["assetId"] == asset {
			out = append(out, maps.Clone(r))
		}
	}
	return out
}

// Await skips an asset's first skip reports with the given progress, then waits for the next one and returns it.
func (p *Platform) Await(ctx context.Context, asset, progress string, skip int) Report {
	p.t.Helper()
	for {
		p.mu.Lock()
		changed, n := p.changed, skip
		for _, r := range p.reports {
			if r["assetId"] == asset && r["processingProgress"] == progress {
				if n--; n < 0 {
					p.mu.Unlock()
					return r
				}
			}
		}
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			p.t.Fatalf("no report with progress %s for asset %s, only %v", progress, asset, p.Reports(asset))
		}
	}
}
