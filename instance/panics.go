package instance

import (
	"sync/atomic"

	"concordat/site/compare"
)

// panicLog is where panics are recorded in work that needs no Site: before it exists, and in this machine's work as a node. The zero value
// records them in the log of the process. It is safe for concurrent use.
type panicLog struct {
	told atomic.Pointer[compare.Panics]
}

// note is NotePanic for this work.
func (l *panicLog) note(err error, attrs ...any) bool {
	var p compare.Panics
	if told := l.told.Load(); told != nil {
		p = *told
	}
	return p.Note(err, attrs...)
}

// TellPanics sets where panics in the site's work, and in this machine's work as a node, are recorded. Until it is called, panics go to
// the log of the process. It may be called while the node is answering requests.
func (o *Instance) TellPanics(p compare.Panics) {
	o.panics.told.Store(&p)
	o.Site.TellPanics(p)
}
