package concordat

import "errors"

// Errors a caller acts upon; compare with errors.Is.
var (
	// ErrNotFound: no such library, document, task or report.
	ErrNotFound = errors.New("not found")
	// ErrExists: the thing to be created already exists.
	ErrExists = errors.New("already exists")
	// ErrChanged: someone else changed the thing after it was read. Read it again.
	ErrChanged = errors.New("changed meanwhile")
	// ErrScheme: fingerprints of two different recipes were about to meet. Reindex, or use the other scheme.
	ErrScheme = errors.New("fingerprint schemes differ")
	// ErrUnavailable: the shard, site or store does not answer for now; trying again may help.
	ErrUnavailable = errors.New("unavailable")
	// ErrRefused: the answering side's policy says no.
	ErrRefused = errors.New("refused")
	// ErrLocked: another process holds the folder.
	ErrLocked = errors.New("in use by another process")
	// ErrCorrupt: stored bytes are not what was written.
	ErrCorrupt = errors.New("corrupt")
	// ErrDiskFull: no room to write; what was acknowledged before is safe.
	ErrDiskFull = errors.New("disk full")
	// ErrInvalid: the caller's input is not valid.
	ErrInvalid = errors.New("invalid")
)
