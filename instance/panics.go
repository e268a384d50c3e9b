package instance

import "concordat/site/compare"

// TellPanics sets where panics in the site's work, and in this machine's work as a node, are recorded. Until it is called, panics go to
// the log of the process. It may be called while the node is answering requests.
func (o *Instance) TellPanics(p compare.Panics) {
	o.panics.Store(&p)
	o.Site.TellPanics(p)
}

// notePanic is NotePanic for work before a Site exists.
func (o *Instance) notePanic(err error, attrs ...any) bool {
	var p compare.Panics
	if told := o.panics.Load(); told != nil {
		p = *told
	}
	return p.Note(err, attrs...)
}
