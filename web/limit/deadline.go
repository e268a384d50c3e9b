package limit

import (
	"net/http"
	"time"
)

// Times of a request, of real time: they bound how long a caller holds a connection.
const (
	headerTime = 10 * time.Second
	// RequestTime is how long a request may take to come, with what is not a file.
	RequestTime = 30 * time.Second
	// answerTime is how long the answer to a stranger may take to go.
	answerTime = time.Minute
	// uploadTime is how long files of somebody known may take to come, and answers to go, over a slow line too.
	uploadTime = 30 * time.Minute
	idleTime   = 2 * time.Minute
)

// Server returns a server of h with limits of time: a request without files of somebody known comes within the time given,
// which is usually RequestTime; how long the answer takes is another matter. Its listener is a Listener.
func Server(h http.Handler, request time.Duration) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: min(headerTime, request), ReadTimeout: request, WriteTimeout: answerTime,
		IdleTimeout: idleTime, ConnContext: withConn}
}

// Known notes that a request is of somebody known, who may take long to read the answer.
func Known(rw http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*heldConn); ok {
		c.know()
	}
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(uploadTime)) // only a connection has one; a test may have none
}

// Unhurried lets files of somebody known come slowly.
func Unhurried(rw http.ResponseWriter, r *http.Request) {
	Known(rw, r)
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(uploadTime)) // as in Known
}
