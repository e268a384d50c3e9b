package limit

import (
	"net/http"
	"time"
)

// Time limits of a request, in real time. They bound how long a caller can occupy a connection.
const (
	headerTime = 10 * time.Second
	// RequestTime is the time limit for receiving a request without files.
	RequestTime = 30 * time.Second
	// answerTime is the time limit for sending an answer to a stranger.
	answerTime = time.Minute
	// uploadTime is the time limit for receiving files from known callers and for sending answers to them; it must suffice for a slow
	// connection.
	uploadTime = 30 * time.Minute
	idleTime   = 2 * time.Minute
)

// Server returns a server for h with time limits. A request without files from a known caller must arrive within the given time, usually
// RequestTime; the answer has its own time limit. The server must be used with a Listener.
func Server(h http.Handler, request time.Duration) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: min(headerTime, request), ReadTimeout: request, WriteTimeout: answerTime,
		IdleTimeout: idleTime, ConnContext: withConn}
}

// Known marks a request as coming from a known caller, who gets more time to read the answer.
func Known(rw http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*heldConn); ok {
		c.know()
	}
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(uploadTime)) // only connections have one; a test may have none
}

// Unhurried gives a known caller more time to send files.
func Unhurried(rw http.ResponseWriter, r *http.Request) {
	Known(rw, r)
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(uploadTime)) // see Known
}
