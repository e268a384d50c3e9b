package web

// LTI says how learning platforms use the site.
type LTI struct{}

// ltiOwner begins the owner of checks that came from a learning platform; no account is named so.
const ltiOwner = "lti:"

var ltiForeign []string

var ltiMessages = map[string][2]string{}

type ltiDesk struct{}

func newLTIDesk(*Web) *ltiDesk { return nil }

func (w *Web) ltiRoutes() {}
