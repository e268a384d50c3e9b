package view

import (
	"cmp"
	"context"
	"errors"
	"time"

	"concordat"
	"concordat/store"
)

// Request is a request for passages, from or to a partner.
type Request struct {
	ID        string               `json:"id"`
	Direction string               `json:"direction" enum:"in,out" doc:"in: a partner asks this site; out: this site asks a partner"`
	Partner   concordat.SiteID     `json:"partner"`
	Name      string               `json:"name"`
	Library   concordat.LibraryID  `json:"library,omitempty"`
	Document  concordat.DocumentID `json:"document,omitempty"`
	Title     string               `json:"title,omitempty"`
	Check     concordat.TaskID     `json:"check,omitempty" doc:"The check that raised the request; only for requests to a partner"`
	Purpose   string               `json:"purpose,omitempty" doc:"Purpose of the partner's check"`
	Spans     []concordat.Span     `json:"spans,omitempty" nullable:"false" doc:"Requested spans, in bytes of UTF-8: in this site's document, or in the checked document"`
	Reason    string               `json:"reason,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	State     string               `json:"state" enum:"pending,granted,refused,expired,withdrawn"`
	Words     string               `json:"words,omitempty" doc:"Message of the person who decided"`
	Actor     string               `json:"actor,omitempty"`
	Asked     time.Time            `json:"asked"`
	Decided   time.Time            `json:"decided,omitzero"`
	Until     time.Time            `json:"until,omitzero" doc:"When the request expires, or the grant ends"`
	Passages  []string             `json:"passages,omitempty" doc:"Passages from this site's document; only when a single request is read"`
}

// OfRequest returns a request without its passages. The other arguments are the partner's name, the title of this site's document, the
// purpose of the partner's check, and the check for which this site asks.
func OfRequest(d store.Disclosure, name, title, purpose string, check concordat.TaskID) Request {
	return Request{d.ID, d.Direction, d.Partner, name, d.Library, d.Document, title, check, purpose, d.Spans, d.Reason, d.Contact, d.State,
		d.Words, d.Actor, d.Asked, d.Decided, d.Until, nil}
}

// ReadRequest is like OfRequest but reads the other data from the store. names contains the names of partners.
func ReadRequest(ctx context.Context, db *store.DB, d store.Disclosure, names map[concordat.SiteID]string) (Request, error) {
	name := cmp.Or(names[d.Partner], string(d.Partner))
	known := func(err error) error {
		if errors.Is(err, concordat.ErrNotFound) {
			return nil // deleted in the meantime
		}
		return err
	}
	if d.Direction != store.DisclosureIn {
		asked, err := db.Asks.Ask(ctx, d.Job)
		return OfRequest(d, name, "", "", asked.Task), known(err)
	}
	row, err := db.Catalogue.DocumentRow(ctx, d.Library, d.Document)
	if err = known(err); err != nil {
		return Request{}, err
	}
	job, err := db.Answers.AnswerJob(ctx, d.Partner, d.Job)
	return OfRequest(d, name, row.Title, job.Purpose, ""), known(err)
}
