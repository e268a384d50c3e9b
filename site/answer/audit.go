package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"concordat"
	"concordat/store"
)

// Audit entries record what was asked and how much was disclosed, but contain no text or fingerprints.

// auditAnswer is the audit detail of an answered or refused ask.
type auditAnswer struct {
	Job        string               `json:"job"`
	Epoch      string               `json:"epoch"`
	Purpose    string               `json:"purpose,omitempty"`
	Level      concordat.Show       `json:"level"`
	Sentences  int                  `json:"sentences"` // number of sentences, including padding
	Commitment string               `json:"commitment"`
	Refused    string               `json:"refused,omitempty"` // why all of it was refused
	Libraries  []auditLibraryAnswer `json:"libraries,omitempty"`
}

type auditLibraryAnswer struct {
	Library   concordat.LibraryID `json:"library"`
	Level     concordat.Show      `json:"level"`
	Refused   concordat.Reason    `json:"refused,omitempty"`
	Documents int                 `json:"documents"` // number of listed documents
	Hits      int                 `json:"hits"`
	Withheld  int                 `json:"withheld,omitempty"` // sentences left unanswered because they were too close to earlier ones
}

// auditProbing is the audit detail of an alarm.
type auditProbing struct {
	Library concordat.LibraryID `json:"library"`
}

// take records an answer.
func (l *auditAnswer) take(a *concordat.Ask, t *concordat.SiteAnswer, withheld map[concordat.LibraryID]int, err error) {
	if err != nil {
		l.Refused = reasonOf(err)
		for _, lib := range a.Libraries[:min(len(a.Libraries), maxAskedLibraries)] {
			l.Libraries = append(l.Libraries, auditLibraryAnswer{Library: cut(lib), Level: concordat.ShowNothing})
		}
		return
	}
	for i := range t.Libraries {
		x := &t.Libraries[i]
		out := auditLibraryAnswer{Library: cut(x.Library), Level: x.Level, Withheld: withheld[x.Library]}
		if x.Refusal != nil {
			out.Refused = x.Refusal.Reason
		}
		l.Libraries = append(l.Libraries, out)
	}
	for _, d := range t.Documents {
		l.Libraries[d.Library].Documents++
	}
	for _, h := range t.Hits {
		l.Libraries[t.Documents[h.Document].Library].Hits++
	}
}

// takeLeads records the answer to a question about cells.
func (l *auditAnswer) takeLeads(a *concordat.LeadAsk, t *concordat.LeadAnswer, withheld map[concordat.LibraryID]int, err error) {
	l.Refused = reasonOf(err)
	for i, lib := range a.Libraries[:min(len(a.Libraries), maxAskedLibraries)] {
		out := auditLibraryAnswer{Library: cut(lib), Level: concordat.ShowNothing}
		if err == nil {
			if out.Withheld = withheld[lib]; t.Libraries[i].Refusal == nil {
				out.Level = concordat.ShowMetadata
			} else {
				out.Refused = t.Libraries[i].Refusal.Reason
			}
		}
		l.Libraries = append(l.Libraries, out)
	}
	if err != nil {
		return
	}
	for _, d := range t.Documents {
		l.Libraries[d.Library].Documents++
	}
	for _, h := range t.Hits {
		l.Libraries[t.Documents[h.Document].Library].Hits++
	}
}

// auditDocument is the audit detail of an answered or refused question about one document.
type auditDocument struct {
	Job        string               `json:"job"`
	Epoch      string               `json:"epoch"`
	Handle     string               `json:"handle"`
	Library    concordat.LibraryID  `json:"library,omitempty"`
	Document   concordat.DocumentID `json:"document,omitempty"`
	Form       string               `json:"form,omitempty"`
	Units      int                  `json:"units,omitempty"`
	Words      int                  `json:"words,omitempty"`
	Characters int                  `json:"characters,omitempty"`
	State      string               `json:"state,omitempty"`
	Refused    string               `json:"refused,omitempty"`
}

type auditShip struct {
	Epoch     string              `json:"epoch"`
	Library   concordat.LibraryID `json:"library"`
	Documents int                 `json:"documents"`
	Removed   int                 `json:"removed"`
	Sentences int                 `json:"sentences"`
	Refused   string              `json:"refused,omitempty"`
}

type auditShare struct {
	Library concordat.LibraryID `json:"library"`
	Partner concordat.SiteID    `json:"partner"`
	Rule    int                 `json:"rule"` // version of the rule
}

type auditNotice struct {
	Kind    string              `json:"kind"`
	Job     string              `json:"job,omitempty"`
	Library concordat.LibraryID `json:"library,omitempty"`
}

type auditDecision struct {
	Disclosure string           `json:"disclosure"`
	Partner    concordat.SiteID `json:"partner"`
	State      string           `json:"state"`
}

// reasonOf returns the name of the reason for the failure of a question.
func reasonOf(err error) string {
	var r *concordat.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return string(r.Reason)
	case errors.Is(err, concordat.ErrInvalid):
		return "invalid"
	}
	return string(concordat.ReasonFault)
}

// maxAuditName is the maximum length in bytes of a partner's text in the audit log.
const maxAuditName = 128

// cut shortens a partner's text for the audit log.
func cut[S ~string](s S) S {
	if len(s) <= maxAuditName {
		return s
	}
	end := maxAuditName
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return S(strings.ToValidUTF8(string(s[:end]), "\uFFFD")) + "…"
}

// audit adds an entry; from is empty for actions of this site.
func (s *core) audit(ctx context.Context, from concordat.SiteID, action string, detail any) error {
	return s.note(context.WithoutCancel(ctx), s.o.Store, from, action, detail)
}

// note is like audit, within a transaction.
func (s *core) note(ctx context.Context, db *store.DB, from concordat.SiteID, action string, detail any) error {
	b, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("audit %s: %w", action, err)
	}
	actor := string(cut(from))
	if from == "" {
		actor = string(s.o.ID)
	}
	_, err = db.Audit.AppendAudit(ctx, actor, action, b)
	return err
}
