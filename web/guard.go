package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"concordat/web/bounds"
)

// guard recovers from a panic in a request handler, logs it once with its stack, and answers with status 500. The answer is a problem
// under the API's prefix and a page elsewhere. If it has begun, guard aborts it so that it is not mistaken for a complete one.
func (w *Web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		t := &begunWriter{ResponseWriter: rw}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && (errors.Is(err, http.ErrAbortHandler) || errors.As(err, new(*net.OpError))) {
				panic(http.ErrAbortHandler) // the caller disconnected, or was disconnected on purpose
			}
			w.o.Logger.Error("panic", "route", w.Route(r), "value", bounds.Cut(fmt.Sprint(v), bounds.MaxEcho), "stack", string(debug.Stack()))
			if w.o.Panicked != nil {
				w.o.Panicked()
			}
			if t.begun {
				panic(http.ErrAbortHandler)
			}
			w.answerFault(rw, r)
		}()
		next.ServeHTTP(t, r)
	})
}

// answerFault reports an internal error of the site to the caller.
func (w *Web) answerFault(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, APIPrefix+"/") {
		bounds.WriteProblem(rw, &huma.ErrorModel{Type: bounds.ProblemPrefix + "fault", Title: http.StatusText(http.StatusInternalServerError),
			Status: http.StatusInternalServerError})
		return
	}
	w.Show(rw, r, nil, http.StatusInternalServerError, "error", "title.error", errorPage{Title: "title.error", Key: "error.fault"})
}

// begunWriter records whether an answer has begun. http.ResponseController finds the underlying writer.
type begunWriter struct {
	http.ResponseWriter
	begun bool
}

func (b *begunWriter) WriteHeader(code int) {
	b.begun = b.begun || code >= http.StatusOK
	b.ResponseWriter.WriteHeader(code)
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the underlying writer.
func (b *begunWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// APIPrefix is the prefix of the API's paths.
const APIPrefix = "/api/v1"
