package instance

import (
	"fmt"
)

// UsageError is the caller's error: a flag, a name or a configuration that does not suit the site. Nothing was changed.
type UsageError struct{ Err error }

// Error returns Err's message.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// Usage marks err as a usage error.
func Usage(err error) error { return &UsageError{err} }

// Usagef returns a usage error with a formatted message.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }
