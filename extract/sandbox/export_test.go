package sandbox

// LockDown lets a test see what a child can still do.
func LockDown(cpuSeconds, memory int64) ([]string, error) { return lockDown(cpuSeconds, memory) }

// Served runs the child's side on a prepared conversation.
var Served = serve
