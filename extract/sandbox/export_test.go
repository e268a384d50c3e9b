package sandbox

// LockDown lets a test check what a child can still do.
func LockDown(cpuSeconds, memory int64) ([]string, error) { return lockDown(cpuSeconds, memory) }

// Served runs the child's side of a prepared conversation.
var Served = serve

// Waiting counts the waiting children of r, without and with PDFium.
func Waiting(r *Runner) (plain, pdf int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.warm[light]), len(r.warm[withPDF])
}
