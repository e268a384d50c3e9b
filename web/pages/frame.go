package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/message"
)

// Frame connects the pages of a subject to the rest of the site. It is safe for concurrent use.
type Frame interface {
	// AddPage adds a page for people with one of the roles.
	AddPage(pattern string, roles []store.Role, page Page)
	// Show renders a page from its template; title is a message key.
	Show(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, template, title string, page any)
	// Fail shows an error in the visitor's language.
	Fail(rw http.ResponseWriter, r *http.Request, v *Visitor, err error)
	// Names returns the names of people, sites and libraries.
	Names(ctx context.Context) (Names, error)
}

// Tasks finds tasks. It is safe for concurrent use.
type Tasks interface {
	// Visible returns a check that the visitor may see.
	Visible(ctx context.Context, v *Visitor, id concordat.TaskID) (store.Task, error)
}

// Choices lists the choices for a new check. It is safe for concurrent use.
type Choices interface {
	// Partners returns the sites that a check can ask.
	Partners(ctx context.Context) ([]Partner, error)
	// Templates returns the names of section templates.
	Templates() []string
}

// Connector connects to partners. It is safe for concurrent use.
type Connector interface {
	// Connect returns a connection to a partner; the caller must call done when finished.
	Connect(ctx context.Context, id concordat.SiteID) (p Connection, done func(), err error)
}

// Connection is a connection to a partner that has answered a check, over which people ask it to show more and to stop watching. Its
// methods fail like those of site.Partner.
type Connection interface {
	Site() concordat.SiteID
	Reveal(ctx context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error)
	Notify(ctx context.Context, n *concordat.Notice) error
}

// Page handles a request from a visitor who may open the page.
type Page = func(http.ResponseWriter, *http.Request, *Visitor)

// The roles that can open a page.
var (
	Everyone       = []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor}
	Checkers       = []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleSubmitter}
	Officers       = []store.Role{store.RoleAdministrator, store.RoleOfficer}
	Administrators = []store.Role{store.RoleAdministrator}
	Overseers      = []store.Role{store.RoleAdministrator, store.RoleAuditor}
)

// Visitor is a signed-in person or a program.
type Visitor struct {
	store.Account
	Session store.TokenID // empty for a program
	Address string        // client address of the request
}

// SeesAll reports whether the visitor may read other people's reports.
func (v *Visitor) SeesAll() bool { return v.Role != store.RoleSubmitter }

// MayReview reports whether the visitor may decide on reports.
func (v *Visitor) MayReview() bool {
	return v.Role == store.RoleAdministrator || v.Role == store.RoleOfficer
}

// OwnOnly returns the account to whose checks and batches the visitor's view is limited, or nil if the visitor may see all of them.
func (v *Visitor) OwnOnly() *string {
	if v.SeesAll() {
		return nil
	}
	return &v.Name
}

// MayChange reports whether the visitor may cancel a task.
func (v *Visitor) MayChange(t store.Task) bool {
	return t.Owner == v.Name || v.Role == store.RoleAdministrator || v.Role == store.RoleOfficer
}

// Note returns the audit entry for an action of the visitor.
func (v *Visitor) Note(action string, detail map[string]any) store.AuditNote {
	return store.AuditNote{Actor: v.Name, Action: action, Detail: detail}
}

// HasReport reports whether a check has ended with findings. An archive has none because it is split into other checks.
func HasReport(t store.Task) bool {
	return (t.State == concordat.TaskDone || t.State == concordat.TaskPartial) && t.Cause.IsZero()
}

// Change makes a change in the store together with its audit entry. Either both are made or neither is. by is the author of the change; f
// can set values to which detail refers.
func Change(ctx context.Context, db *store.DB, by, action string, detail map[string]any, f func(tx *store.DB) error) error {
	return db.Atomic(ctx, func(tx *store.DB) error {
		if err := f(tx); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, action, detail)
	})
}

const (
	// MaxForm is the maximum size of a request apart from its files, in bytes.
	MaxForm = 4 << 20
	// MaxFiles is the maximum number of files in one request.
	MaxFiles = 1000
)

// Fault is a rejected file with the reason.
type Fault struct {
	Name  string
	Cause store.Cause
}

// OneState returns a filter for one state; an empty state selects all states.
func OneState(s concordat.State) []concordat.State {
	if s == "" {
		return nil
	}
	return []concordat.State{s}
}

// ParseForm parses a small form.
func ParseForm(rw http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(rw, r.Body, MaxForm)
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
	}
	return nil
}

// MaxNote is the maximum length of a comment or a reason in bytes.
const MaxNote = 10_000

// Reason returns a reason without surrounding white space. It fails if a required reason is empty or the reason is longer than MaxNote.
func Reason(text string, needed bool) (string, error) {
	if text = strings.TrimSpace(text); needed && text == "" || len(text) > MaxNote {
		return "", message.Invalid("wrong.reason", MaxNote)
	}
	return text, nil
}

// Administration is the data common to all administration pages.
type Administration struct{ MayChange bool }

// AdministrationFor returns the visitor's rights on the administration pages.
func AdministrationFor(v *Visitor) Administration {
	return Administration{v.Role == store.RoleAdministrator}
}

// ErrNoProcess is returned if the serving process does not provide the requested information.
var ErrNoProcess = fmt.Errorf("this process does not provide that information: %w", concordat.ErrNotFound)

// Auditor records actions that change nothing. It is safe for concurrent use.
type Auditor struct {
	Store  *store.DB
	Logger *slog.Logger
}

// Audit records an action that changes nothing, for example a reading or a refusal. If the entry cannot be written, the failure is logged
// and the page is shown anyway. A change is recorded in its own transaction: by Change, or by the entries passed to queues, batches and
// the eraser. An action that changes something outside the store is recorded beforehand.
func (a Auditor) Audit(ctx context.Context, actor, action string, detail map[string]any) {
	if detail == nil {
		detail = map[string]any{} // so that JSON contains {} instead of null
	}
	b, err := json.Marshal(detail)
	if err == nil {
		_, err = a.Store.Audit.AppendAudit(context.WithoutCancel(ctx), actor, action, b)
	}
	if err != nil {
		a.Logger.Error("audit", "action", action, "error", err)
	}
}
