package federation

import (
	"sync"
	"time"

	"concordat/crypto"
)

// A partner can make the requests of rateBurst seconds at once.
const rateBurst = 500

// rates limits the rate of each partner's requests, since each request leaves a permanent record. Only partners with a verified signature
// are counted, so there are no more than in the roster.
type rates struct {
	each, most float64 // maximum number of requests per second, and at once

	mu    sync.Mutex // guards left
	sites map[crypto.SiteID]allowance
}

// allowance is the number of requests that a partner could make at time at.
type allowance struct {
	left float64
	at   time.Time
}

func newRates(each, most float64) *rates {
	return &rates{each: each, most: most, sites: map[crypto.SiteID]allowance{}}
}

// take counts a request, or returns how long the request must wait.
func (r *rates) take(site crypto.SiteID, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.sites[site]
	if !ok {
		a = allowance{r.most, now}
	}
	a.left, a.at = min(a.left+now.Sub(a.at).Seconds()*r.each, r.most), now
	wait := time.Duration(0)
	if a.left < 1 {
		wait = max(time.Second, time.Duration((1-a.left)/r.each*float64(time.Second)))
	} else {
		a.left--
	}
	r.sites[site] = a
	return wait
}
