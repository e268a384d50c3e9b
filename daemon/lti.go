package daemon

import (
	"concordat/instance"
	"concordat/web"
)

// ltiOptions returns how learning platforms use the site.
func ltiOptions(o *instance.Instance) (web.LTI, error) {
	keys, err := instance.LTIKeys(o.Dir)
	return web.LTI{Keys: keys, Private: o.Config.LTI.Private, Learners: o.Config.LTI.Learners, Threshold: o.Config.Check.Threshold}, err
}
