// Package intake serves the pages for submitting documents to checks, batches and libraries. It reads forms and files while they arrive,
// charges them to the quotas of accounts, and queues checks and batches. The API and the pages of learning platforms share its
// operations. Example adds and removes the example of a new site. Start with New.
package intake

import (
	"log/slog"
	"net/http"

	"concordat/people"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/pages/batches"
	"concordat/web/pages/libraries"
	"concordat/web/pages/settings"
)

// Faults explains errors to callers. It is safe for concurrent use.
type Faults interface {
	// FaultOf returns the status of an answer to err, the key of its message, and further details; it sets the headers that belong to the
	// status.
	FaultOf(rw http.ResponseWriter, r *http.Request, err error) (code int, key, detail string)
}

// Disk holds the files of a site. It is safe for concurrent use.
type Disk interface {
	// CheckDisk returns an error, for example concordat.ErrDiskFull, if the disk accepts no more files.
	CheckDisk() error
}

// Options configures the pages. All fields except Disk are required.
type Options struct {
	Site      *site.Site
	Store     *store.DB
	Queue     *site.Queue
	Files     *store.Files
	People    *people.Registry
	Batches   batches.Batches // queues batches and plans rechecks
	Settings  settings.Settings
	Faults    Faults
	Choices   pages.Choices
	Rules     func() report.Rules // rules of new reports
	Disk      Disk                // if nil, the disk is not checked
	MaxUpload int64               // bytes of one file
	NoStore   bool                // submissions are not kept once their reports are complete
	Logger    *slog.Logger
}

// Intake takes submissions. It is safe for concurrent use.
type Intake struct {
	frame pages.Frame
	o     Options
}

var _ libraries.Intake = Intake{}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Intake {
	w := Intake{frame, o}
	frame.AddPage("GET /checks/new", pages.Checkers, w.newPage)
	frame.AddPage("POST /checks", pages.Checkers, w.submit)
	frame.AddPage("GET /batches/new", pages.Checkers, w.newBatchPage)
	frame.AddPage("POST /batches", pages.Checkers, w.submitBatch)
	return w
}
