package federation

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"concordat/crypto"
)

// A message takes up no slot for answering until all of it has arrived, but the part that has arrived takes up memory until the message
// is answered. Each partner has a fixed allowance of memory. All unknown senders share another one; when it is full, the message that
// began first is dropped.

const (
	// leastRate is the minimum number of bytes of a message that must arrive in each leastRateFor, measured from the start of the
	// message.
	leastRate    = 64 << 10
	leastRateFor = 5 * time.Second
	// firstRead is the number of bytes read before any check of a message; the shortest message has fewer.
	firstRead = 8 << 10
)

// errSlow means that a message from an unknown sender was dropped in favour of others.
var errSlow = errors.New("the message was dropped to make room for other messages")

// bodies limits the bytes of messages that are arriving or awaiting answers.
type bodies struct {
	perSite, unknown int // limits in bytes, per partner and for all unknown senders

	mu        sync.Mutex // protects the fields below, and the bodies
	sites     map[crypto.SiteID]int
	strangers []*body // oldest first
	held      int     // total of strangers
}

// body is one message.
type body struct {
	of     *bodies
	site   crypto.SiteID
	known  bool
	held   int
	giveUp func() // stops reading the message without waiting; nil if reading has ended
}

func newBodies(perSite, unknown int) *bodies {
	return &bodies{perSite: perSite, unknown: unknown, sites: map[crypto.SiteID]int{}}
}

// begin returns a message with no content yet. The caller must end it.
func (b *bodies) begin(site crypto.SiteID, known bool, giveUp func()) *body {
	x := &body{of: b, site: site, known: known, giveUp: giveUp}
	if !known {
		b.mu.Lock()
		b.strangers = append(b.strangers, x)
		b.mu.Unlock()
	}
	return x
}

// hold charges n more bytes to the message. It fails with errBusy if there is no space, and with errSlow for a dropped message.
func (x *body) hold(n int) error {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.giveUp == nil {
		return errSlow
	}
	if x.known {
		return x.charge(n)
	}
	for b.held+n > b.unknown && b.strangers[0] != x {
		first := b.strangers[0]
		giveUp := first.giveUp
		first.leave()
		giveUp()
	}
	if b.held+n > b.unknown {
		return errBusy
	}
	b.held, x.held = b.held+n, x.held+n
	return nil
}

// charge takes bytes from the partner's allowance. b.mu must be held.
func (x *body) charge(n int) error {
	if x.of.sites[x.site]+n > x.of.perSite {
		return errBusy
	}
	x.of.sites[x.site] += n
	x.held += n
	return nil
}

// recognise assigns an unknown sender's message to the partner that signed it.
func (x *body) recognise(site crypto.SiteID) error {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.known {
		return nil
	}
	if x.giveUp == nil {
		return errSlow
	}
	n, giveUp := x.held, x.giveUp
	x.leave()
	x.site, x.known, x.giveUp = site, true, giveUp
	return x.charge(n)
}

// leave releases the bytes charged to x and ends it. b.mu must be held.
func (x *body) leave() {
	b := x.of
	if x.known {
		if b.sites[x.site] -= x.held; b.sites[x.site] == 0 {
			delete(b.sites, x.site)
		}
	} else if i := slices.Index(b.strangers, x); i >= 0 {
		b.strangers = slices.Delete(b.strangers, i, i+1)
		b.held -= x.held
	}
	x.held, x.giveUp = 0, nil
}

func (x *body) end() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.leave()
}

// read reads a request's message, up to the given number of bytes, as long as it arrives fast enough. After firstRead bytes, or all if
// there are fewer, it asks check whether to continue.
func (x *body) read(w http.ResponseWriter, r *http.Request, most int, longest time.Duration,
	check func(first []byte) error) (b []byte, err error) {
	c := http.NewResponseController(w)
	defer func() {
		if err == nil {
			_ = c.SetReadDeadline(time.Time{}) // without an HTTP connection, this fails harmlessly
		} else {
			endReading(w)() // no one is waiting for the rest
		}
	}()
	began := time.Now()
	var buf []byte
	checked := false
	for {
		if len(buf) == cap(buf) {
			size := min(max(2*cap(buf), firstRead), most+1)
			if err := x.hold(size - cap(buf)); err != nil {
				return nil, err
			}
			buf = append(make([]byte, 0, size), buf...)
		}
		due := leastRateFor * time.Duration(1+len(buf)/leastRate)
		_ = c.SetReadDeadline(began.Add(min(due, longest)))
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if len(buf) > most {
			return nil, fmt.Errorf("the message is longer than %d bytes", most)
		}
		ended := errors.Is(err, io.EOF)
		if !checked && (len(buf) >= firstRead || ended) {
			checked = true
			if err := check(buf); err != nil {
				return nil, err
			}
		}
		if ended {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
