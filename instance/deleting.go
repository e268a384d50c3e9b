package instance

// OtherProcessDeletes reports whether another process of the site performs deletions.
func (o *Instance) OtherProcessDeletes() bool { return o.Node != nil && !o.Deleting.Load() }
