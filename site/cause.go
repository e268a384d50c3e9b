package site

import (
	"errors"
	"strings"

	"concordat/store"
)

// reasoned is an error with a reason code, like the errors of package extract.
type reasoned interface {
	error
	Reason() (code, detail, advice string)
}

// caused is an error that is already a cause, for example from a quota.
type caused interface {
	error
	Cause() store.Cause
}

// CauseOf converts an error to the cause of a task. An error without a reason becomes just a detail.
func CauseOf(err error) store.Cause {
	var c caused
	if errors.As(err, &c) {
		return c.Cause()
	}
	var r reasoned
	if !errors.As(err, &r) {
		return store.Cause{Detail: err.Error()}
	}
	code, detail, advice := r.Reason()
	if before, after, ok := strings.Cut(err.Error(), r.Error()); ok {
		detail = before + detail + after // for example the name of a file
	}
	return store.Cause{Code: store.CauseCode(code), Detail: detail, Advice: advice}
}
