package web

import (
	"net/http"
	"time"
)

// Times of a request, of real time: they bound how long a caller holds a connection.
const (
	headerTime = 10 * time.Second
	// requestTime is how long a request may take to come, with what is not a file.
	requestTime = 30 * time.Second
	// answerTime is how long the answer to a stranger may take to go.
	answerTime = time.Minute
	// uploadTime is how long files of somebody known may take to come, and answers to go, over a slow line too.
	uploadTime = 30 * time.Minute
	idleTime   = 2 * time.Minute
)

// Server returns a server of h, which is w or leads to it, with the limits of time: a request comes within 30 seconds,
// unless it brings files of somebody known; how long the answer takes is another matter. Its listener is that of Listener.
func (w *Web) Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: min(headerTime, w.requestTime), ReadTimeout: w.requestTime, WriteTimeout: answerTime,
		IdleTimeout: idleTime, ConnContext: withConn}
}

// meet notes that a request is of somebody known, who may take long to read the answer.
func meet(rw http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*heldConn); ok {
		c.know()
	}
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(uploadTime)) // only a connection has one; a test may have none
}

// unhurried lets files of somebody known come slowly.
func unhurried(rw http.ResponseWriter, r *http.Request) {
	meet(rw, r)
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(uploadTime)) // as in meet
}
