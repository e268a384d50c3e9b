package web

import (
	"crypto/rand"
	"net/http"
	"path"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

type newCheck struct {
	Libraries []store.Library
	Templates []string
	Partners  []Partner
	Problem   string
	Faults    []fault // of files, none of which could be taken
	MaxMiB    int64
	MaxFiles  int
	Batch     string // names what is handed in together, file by file
	Rules     report.Rules
	MayRule   bool // the visitor decides what counts
	Kinds     []concordat.Kind
	Levels    []concordat.Show
	Forwards  []string
	Deadlines []int // seconds
	NoStore   bool  // by the policy of the site
}

// fault is a file that was not taken, and why.
type fault struct{ Name, Cause string }

// What partners can be asked.
var (
	askLevels   = []concordat.Show{concordat.ShowMetadata, concordat.ShowCounts, concordat.ShowExists}
	askForwards = []string{site.ForwardUnmatched, site.ForwardAll, site.ForwardNone}
	// askDeadlines are offered, in seconds; any whole number to mostDeadline is taken.
	askDeadlines = []int{60, 15, 300, 900}
)

const mostDeadline = 3600

func (w *Web) newPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showNew(rw, r, v, http.StatusOK, "")
}

func (w *Web) showNew(rw http.ResponseWriter, r *http.Request, v *visitor, code int, problem string, faults ...fault) {
	libraries, err := w.o.Store.Libraries(r.Context())
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	partners, err := w.o.Partners(r.Context())
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.show(rw, r, v, code, "new", "title.new", newCheck{Libraries: libraries, Partners: partners, Templates: w.o.Templates(), Problem: problem, Faults: faults,
		MaxMiB: w.o.MaxUpload >> 20, MaxFiles: mostFiles, Batch: strings.ToLower(rand.Text()), Rules: w.o.Rules(), MayRule: v.mayReview(),
		Kinds: exclusible, Levels: askLevels, Forwards: askForwards, Deadlines: askDeadlines, NoStore: w.o.Policy.NoStore})
}

// exclusible are the kinds of evidence that rules can leave out.
var exclusible = []concordat.Kind{concordat.KindVerbatim, concordat.KindNear, concordat.KindParaphrase, concordat.KindSummary}

// cleanName returns the last part of a file's name without what could do harm where it is shown.
func cleanName(name string) string {
	name = path.Base("/" + strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[len(runes)-120:])
	}
	return name
}
