package web

import (
	"context"
	"net/http"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/pages/batches"
)

// batchChecks provides to the pages of batches what they need from checks.
type batchChecks struct{ w *Web }

var _ batches.Checks = batchChecks{}

// Visible implements batches.Checks.
func (c batchChecks) Visible(ctx context.Context, v *Visitor, id concordat.TaskID) (store.Task, error) {
	return c.w.Visible(ctx, v, id)
}

// SendReport implements batches.Checks.
func (c batchChecks) SendReport(rw http.ResponseWriter, rep *report.Report) error {
	return c.w.Reports.Send(rw, rep)
}

// Rules implements batches.Checks.
func (c batchChecks) Rules() report.Rules { return c.w.o.Current.Rules() }

// AgainDays implements batches.Checks.
func (c batchChecks) AgainDays() int { return c.w.o.Current.AgainDays() }
