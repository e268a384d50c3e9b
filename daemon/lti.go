package daemon

import (
	"concordat/instance"
	"concordat/web/platforms"
)

// ltiOptions returns the configured options for learning platforms.
func ltiOptions(o *instance.Instance) (platforms.Options, error) {
	keys, err := instance.LTIKeys(o.Dir)
	return platforms.Options{Keys: keys, Private: o.Config.LTI.Private, Learners: o.Config.LTI.Learners,
		Threshold: o.Config.Check.Threshold}, err
}
