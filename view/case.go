package view

import (
	"cmp"
	"time"

	"concordat"
	"concordat/store"
)

// Case is a case shared with a partner.
type Case struct {
	ID        string               `json:"id" doc:"Number of the case, the same at both sites"`
	Side      store.AlertSide      `json:"side" enum:"found,told" doc:"Found: a check of this site matches a document of the partner. Told: the other way round"`
	State     concordat.CaseState  `json:"state" enum:"open,confirmed,cleared" doc:"State on which both sites agree; open: no agreement yet"`
	Partner   concordat.SiteID     `json:"partner"`
	Name      string               `json:"name"`
	Check     concordat.TaskID     `json:"check,omitempty" doc:"The check, for cases found here; absent: it was deleted"`
	Library   concordat.LibraryID  `json:"library"`
	Document  concordat.DocumentID `json:"document,omitempty" doc:"The document, as in the alert; absent: not disclosed, or deleted"`
	Title     string               `json:"title,omitempty"`
	Opened    time.Time            `json:"opened"`
	Own       CasePosition         `json:"own"`
	Theirs    CasePosition         `json:"theirs"`
	Questions int                  `json:"questions,omitempty" minimum:"0" doc:"Sentences of the partner's question that were deleted here after its decision"`
	Deletion  string               `json:"deletion,omitempty" doc:"Latest deletion that this site made for the case; see /deletions"`
	Shown     []CaseShown          `json:"shown" nullable:"false" doc:"What each site has shown the other, oldest first"`
}

// CasePosition is one side's view of a case.
type CasePosition struct {
	State    concordat.CaseState    `json:"state" enum:"open,confirmed,cleared"`
	Words    string                 `json:"words,omitempty"`
	Contact  string                 `json:"contact,omitempty"`
	By       string                 `json:"by,omitempty" doc:"Who set the position; only for this site"`
	At       time.Time              `json:"at,omitzero" doc:"When the site last set its position; absent: never"`
	Decision concordat.CaseDecision `json:"decision,omitempty" enum:"accepted,rejected,withdrawn" doc:"The site's decision about its own document"`
	Receipt  string                 `json:"receipt,omitempty" doc:"SHA-256 of the site's receipt for the deletion, in hexadecimal"`
	Due      time.Time              `json:"due,omitzero" doc:"When this site's document is due for deletion; absent: it is deleted already, or no deletion is planned"`
}

// CaseShown describes something that one site has shown the other.
type CaseShown struct {
	By        string         `json:"by" enum:"own,partner"`
	What      string         `json:"what" enum:"question,alert,passages"`
	Level     concordat.Show `json:"level,omitempty" enum:"exists,counts,metadata,overlap,passage" doc:"Level of an alert"`
	Sentences int            `json:"sentences,omitempty" minimum:"0" doc:"Matching sentences of an alert"`
	Passages  int            `json:"passages,omitempty" minimum:"0" doc:"Passages that one site asked to read"`
	State     string         `json:"state,omitempty" enum:"pending,granted,refused,expired,withdrawn" doc:"State of a request for passages"`
	At        time.Time      `json:"at,omitzero"`
}

// OfCase returns a case, with the requests for passages of its document.
func OfCase(x store.SharedCase, requests []store.Disclosure, names map[concordat.SiteID]string) Case {
	owner, asker := "partner", "own"
	if x.Side == store.AlertTold {
		owner, asker = asker, owner
	}
	out := Case{ID: x.ID.String(), Side: x.Side, State: x.State, Partner: x.Partner, Name: cmp.Or(names[x.Partner], string(x.Partner)),
		Check: x.Task, Library: x.Source.Library, Document: x.Source.Document, Title: x.Title, Opened: x.Opened, Own: ofPosition(x.Own),
		Theirs: ofPosition(x.Theirs), Questions: x.Questions, Deletion: x.Erasure,
		Shown: []CaseShown{{By: asker, What: "question"},
			{By: owner, What: "alert", Level: x.Level, Sentences: x.Sentences, At: x.Opened}}}
	for _, d := range requests {
		at := d.Decided
		if at.IsZero() {
			at = d.Asked
		}
		out.Shown = append(out.Shown, CaseShown{By: owner, What: "passages", Passages: len(d.Spans), State: d.State, At: at})
	}
	return out
}

func ofPosition(p store.CasePosition) CasePosition {
	return CasePosition{State: cmp.Or(p.State, concordat.CaseOpen), Words: p.Words, Contact: p.Contact, By: p.By, At: p.At,
		Decision: p.Decision, Receipt: p.Receipt, Due: p.Due}
}
