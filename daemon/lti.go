package daemon

import (
	"concordat/instance"
	"concordat/web"
)

// ltiOptions is how learning platforms use the site.
func ltiOptions(o *instance.Instance) (*web.LTI, error) {
	keys, err := instance.LTIKeys(o.Dir)
	if err != nil {
		return nil, err
	}
	return &web.LTI{Keys: keys, Private: o.Config.LTI.Private, Learners: o.Config.LTI.Learners, Threshold: o.Config.Check.Threshold}, nil
}
