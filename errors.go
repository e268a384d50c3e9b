package concordat

import (
	"errors"
	"fmt"
)

// Errors on which callers act; compare them with errors.Is.
var (
	// ErrNotFound means that the library, document, task or report does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that the object to be created already exists.
	ErrExists = errors.New("already exists")
	// ErrChanged means that someone else has changed the object since it was read. Read it again.
	ErrChanged = errors.New("changed in the meantime")
	// ErrScheme means that the operation would compare fingerprints of different schemes. Reindex, or use the other scheme.
	ErrScheme = errors.New("fingerprint schemes differ")
	// ErrUnavailable means that the shard, site or store is not answering; a retry may succeed.
	ErrUnavailable = errors.New("unavailable")
	// ErrRefused means that the answering side's policy forbids the request.
	ErrRefused = errors.New("refused")
	// ErrLocked means that another process has locked the folder.
	ErrLocked = errors.New("in use by another process")
	// ErrCorrupt means that stored bytes are not the bytes that were written.
	ErrCorrupt = errors.New("corrupt")
	// ErrDiskFull means that there is no space to write; acknowledged data is safe.
	ErrDiskFull = errors.New("disk full")
	// ErrInvalid means that the caller's input is invalid.
	ErrInvalid = errors.New("invalid")
)

// Invalidf returns an error with the given message that wraps ErrInvalid, for a message that says by itself what is wrong.
func Invalidf(format string, args ...any) error { return invalid{fmt.Errorf(format, args...)} }

// invalid is an ErrInvalid that is worded by another error.
type invalid struct{ error }

// Unwrap returns the error with the words, and ErrInvalid.
func (i invalid) Unwrap() []error { return []error{i.error, ErrInvalid} }
