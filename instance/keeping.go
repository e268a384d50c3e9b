package instance

// KeptElsewhere reports whether another process of the site deletes.
func (o *Instance) KeptElsewhere() bool { return o.Node != nil && !o.Keeping.Load() }
