package remote

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Options specify the server and how to send requests.
type Options struct {
	URL string // base URL of the protocol, for example http://127.0.0.1:8080/v1; requests go to /embeddings below it
	// Socket is the path of a Unix socket on which the server listens; URL then only supplies the path of requests. If empty, the host of
	// URL is used.
	Socket string
	Model  string // model name to send; empty for none
	Key    string // bearer token; empty for none
	// Prefix precedes each text, as some models require; E5 models need "query: ".
	Prefix string
	// Batch is the maximum number of texts per request, 1 to 1024; the default is 32.
	Batch int
	// Timeout is the maximum duration of a request; the default is 30 s.
	Timeout time.Duration
	// Dimensions is the required number of dimensions of a vector, up to 8192; 0 means as many as the first vector has.
	Dimensions int
	// AllowTextToLeave permits sending texts to other machines.
	AllowTextToLeave bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Limits of Options, and defaults.
const (
	DefaultBatch   = 32
	MaxBatch       = 1024
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
	MaxDimensions  = 8192
	maxKey         = 4096 // bytes
	maxName        = 200  // bytes of a model name or a prefix
)

// Validate returns one error that lists all faults of the options.
func (o Options) Validate() error {
	var errs []error
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(o.URL) > 1000:
		errs = append(errs, errors.New("url: want an address such as http://127.0.0.1:8080/v1"))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		errs = append(errs, errors.New("url: must not contain a user name, a password or a query; put the API key in the key file"))
	case !o.AllowTextToLeave && !isHere(u.Hostname()):
		errs = append(errs, fmt.Errorf("url: texts would be sent to %s, which is another machine; set allow_text_to_leave to true to allow this", u.Hostname()))
	case u.Scheme == "http" && !isHere(u.Hostname()) && !isNear(u.Hostname()):
		errs = append(errs, fmt.Errorf("url: texts would be sent to %s over plain http; use https, or an address in a private network", u.Hostname()))
	}
	if o.Batch < 0 || o.Batch > MaxBatch {
		errs = append(errs, fmt.Errorf("batch: %d is not between 1 and %d", o.Batch, MaxBatch))
	}
	if o.Timeout < 0 || o.Timeout > MaxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %s is not between 0s and %s", o.Timeout, MaxTimeout))
	}
	if o.Dimensions < 0 || o.Dimensions > MaxDimensions {
		errs = append(errs, fmt.Errorf("dimensions: %d is not between 0 and %d", o.Dimensions, MaxDimensions))
	}
	if len(o.Model) > maxName || len(o.Prefix) > maxName || len(o.Key) > maxKey || strings.ContainsAny(o.Key, "\r\n") {
		errs = append(errs, errors.New("the model name, the prefix or the key is longer than allowed, or the key has more than one line"))
	}
	return errors.Join(errs...)
}

// isHere reports whether a name denotes this machine, judging only by its form.
func isHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isNear reports whether a name is an address in a private network.
func isNear(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsPrivate()
}

// isLoopback reports whether the dialled address and port are on this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "localhost" && isHere(host)
}
