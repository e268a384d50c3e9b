package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// auditShown is the number of audit entries on a page.
const auditShown = 100

type auditPage struct {
	pages.Administration
	People                  pages.Names
	Actor, Action, From, To string
	Actions                 []string
	Entries                 []store.AuditEntry
	Older                   string // address of the next page; empty on the last page
	Head                    store.AuditHead
	Verified                *store.AuditHead // last entry in the verified part of the chain
	Broken                  string           // where the chain is broken; empty if it is intact
}

// auditFact is a field of an audit entry.
type auditFact struct {
	Key, Value string
	Link       string // link to the page of the object that Value identifies; empty for none
	Whole      string // the unshortened value; empty if Value was not shortened
}

// AuditFacts splits the detail of an entry, a JSON object, into facts sorted by key, without empty ones. It shortens digests to their
// beginning, and values made of several fields, such as a receipt's signature, to the names in them.
func AuditFacts(detail json.RawMessage) []auditFact {
	var fields map[string]json.RawMessage
	if len(detail) == 0 {
		return nil
	}
	if json.Unmarshal(detail, &fields) != nil {
		return []auditFact{{Value: string(detail)}}
	}
	var out []auditFact
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		f := auditFact{Key: key}
		var words []string
		switch raw := fields[key]; {
		case json.Unmarshal(raw, &f.Value) == nil:
		case json.Unmarshal(raw, &words) == nil:
			f.Value = strings.Join(words, ", ")
		default:
			if f.Value = namesIn(raw); f.Value != string(raw) {
				f.Whole = string(raw)
			}
		}
		if at, err := time.Parse(time.RFC3339Nano, f.Value); err == nil {
			f.Value = at.Truncate(time.Second).Format(time.RFC3339)
		}
		switch {
		case f.Value == "":
			continue
		case key == "batch":
			f.Link = "/batches/" + url.PathEscape(f.Value)
		case key == "id" && fields["signature"] != nil: // a receipt
			f.Link = "/deletions/" + url.PathEscape(f.Value)
		case key == "task" && fields["batch"] == nil:
			f.Link = "/checks/" + url.PathEscape(f.Value)
		case len(f.Value) == 64 && !strings.ContainsFunc(f.Value, func(c rune) bool { return !strings.ContainsRune("0123456789abcdef", c) }):
			f.Value, f.Whole = f.Value[:12]+"…", f.Value
		}
		out = append(out, f)
	}
	return out
}

// namesIn returns the names of the objects in a list, separated by commas, numbers and other plain values as they are, and an ellipsis for
// anything else.
func namesIn(raw json.RawMessage) string {
	var list []struct{ Name, Task, Library, Document string }
	if err := json.Unmarshal(raw, &list); err == nil {
		var names []string
		for _, x := range list {
			names = append(names, cmp.Or(x.Name, x.Document, x.Task, x.Library, "…"))
		}
		return strings.Join(names, ", ")
	}
	if raw[0] == '{' || raw[0] == '[' {
		return "…"
	}
	return string(raw)
}

// auditFilter parses the filter of the audit page from a query; days are inclusive.
func auditFilter(q url.Values) (store.AuditFilter, error) {
	f := store.AuditFilter{Actor: strings.TrimSpace(q.Get("actor")), Action: q.Get("action")}
	var err, err2 error
	if s := q.Get("from"); s != "" {
		f.From, err = time.ParseInLocation(time.DateOnly, s, time.Local)
	}
	if s := q.Get("to"); s != "" {
		if f.To, err2 = time.ParseInLocation(time.DateOnly, s, time.Local); err2 == nil {
			f.To = f.To.AddDate(0, 0, 1)
		}
	}
	if err := errors.Join(err, err2); err != nil {
		return f, message.Invalid("wrong.date", q.Get("from")+" "+q.Get("to"))
	}
	return f, nil
}

func (w Admin) auditPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showAudit(rw, r, v, auditPage{})
}

func (w Admin) showAudit(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, p auditPage) {
	q := r.URL.Query()
	p.Administration = pages.AdministrationFor(v)
	p.Actor, p.Action, p.From, p.To = q.Get("actor"), q.Get("action"), q.Get("from"), q.Get("to")
	f, err := auditFilter(q)
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // an invalid value starts at the newest entry
	if err == nil {
		p.Entries, err = w.o.Store.Audit.SearchAudit(r.Context(), f, before, auditShown)
	}
	if err == nil {
		p.Actions, err = w.o.Store.Audit.AuditActions(r.Context())
	}
	if err == nil {
		p.Head, err = w.o.Store.Audit.AuditHead(r.Context())
	}
	if err == nil {
		p.People, err = w.frame.Names(r.Context())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if len(p.Entries) == auditShown {
		q.Set("before", strconv.FormatInt(p.Entries[auditShown-1].Seq, 10))
		p.Older = "/admin/audit?" + q.Encode()
	}
	w.frame.Show(rw, r, v, http.StatusOK, "admin_audit", "title.admin", p)
}

// verifyAudit verifies the chain of the audit from its first entry.
func (w Admin) verifyAudit(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	head, err := w.o.Store.Audit.VerifyAudit(r.Context())
	switch {
	case errors.Is(err, concordat.ErrCorrupt):
		w.Audit(r.Context(), v.Name, "audit_verified", map[string]any{"broken": err.Error()})
		w.showAudit(rw, r, v, auditPage{Broken: err.Error()})
	case err != nil:
		w.frame.Fail(rw, r, v, err)
	default:
		w.Audit(r.Context(), v.Name, "audit_verified", map[string]any{"entries": head.Seq})
		w.showAudit(rw, r, v, auditPage{Verified: &head})
	}
}

// exportAudit writes the audit, oldest entry first, one JSON value per line.
func (w Admin) exportAudit(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.Audit(r.Context(), v.Name, "audit_exported", nil)
	rw.Header().Set("Content-Type", "application/jsonl")
	rw.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	e := json.NewEncoder(rw)
	for after := int64(0); ; {
		entries, err := w.o.Store.Audit.Audit(r.Context(), after, 0)
		if err == nil {
			for i := 0; i < len(entries) && err == nil; i++ {
				err = e.Encode(entries[i])
			}
		}
		if err != nil { // the truncation is visible, since the file does not end with the head
			w.o.Logger.Error("export of the audit", "error", err)
			panic(http.ErrAbortHandler)
		}
		if len(entries) < store.MaxPage {
			return
		}
		after = entries[len(entries)-1].Seq
	}
}
