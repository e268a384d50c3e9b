//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

const (
	writers   = 6
	think     = 12 * time.Millisecond // time between two operations of a writer
	readEvery = 30 * time.Millisecond // time between two reads from one node
	writeWait = 10 * time.Second
	readWait  = 12 * time.Second
	maxDocs   = 40 // once a writer has this many documents, only one operation in four creates another
)

// clients write, delete and read documents until they are stopped.
type clients struct {
	p    *place
	stop chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	recent []string   // most recently written documents
}

func (p *place) load(seed uint64) *clients {
	c := &clients{p: p, stop: make(chan struct{})}
	for i := range writers {
		c.wg.Go(func() { c.write(i, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	for i, n := range p.names {
		c.wg.Go(func() { c.read(n, rand.New(rand.NewPCG(seed, uint64(200+i)))) })
	}
	return c
}

func (c *clients) end() {
	close(c.stop)
	c.wg.Wait()
}

// pause waits and reports whether to continue.
func (c *clients) pause(d time.Duration) bool {
	select {
	case <-c.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// pick returns a node whose process is running, as a load balancer would; the node might be cut off.
func (c *clients) pick(r *rand.Rand) (coord.NodeID, bool) {
	for range 20 {
		if n := c.p.names[r.IntN(len(c.p.names))]; !c.p.down(n) {
			return n, true
		}
	}
	return "", false
}

// write writes and deletes its own documents. It does not touch a document with an operation of unknown outcome.
func (c *clients) write(number int, r *rand.Rand) {
	var docs []string
	revs := map[string]int{}
	for next := 0; c.pause(think); {
		node, ok := c.pick(r)
		if !ok {
			continue
		}
		doc := ""
		if len(docs) < maxDocs || r.IntN(4) == 0 {
			doc = fmt.Sprintf("%d-%d", number, next)
			next++
			docs = append(docs, doc)
		} else {
			doc = docs[r.IntN(len(docs))]
		}
		revs[doc]++
		e := entry{Kind: "write", Node: node, Doc: doc, Rev: revs[doc], Shard: c.p.layout.ShardFor(library, concordat.DocumentID(doc))}
		path := "/put"
		if e.Delete = e.Rev > 1 && r.IntN(4) == 0; e.Delete {
			path = "/delete"
		}
		e.At = c.p.h.now()
		err := c.p.ask(node, path, url.Values{"doc": {doc}, "rev": {strconv.Itoa(e.Rev)}}, writeWait, nil)
		e.End = c.p.h.now()
		if e.OK = err == nil; err != nil {
			e.Err = err.Error()
			for i := range docs {
				if docs[i] == doc {
					docs = append(docs[:i], docs[i+1:]...)
					break
				}
			}
			c.pause(10 * think) // the node might be down
		}
		c.p.h.add(e)
		c.note(doc)
		if e.OK && r.IntN(3) == 0 { // after an acknowledgement, a caller can ask any node
			if n, ok := c.pick(r); ok {
				c.get(n, doc)
			}
		}
	}
}

func (c *clients) note(doc string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent = append(c.recent, doc); len(c.recent) > 64 {
		c.recent = c.recent[1:]
	}
}

// read queries one node while its process is running.
func (c *clients) read(n coord.NodeID, r *rand.Rand) {
	for c.pause(readEvery) {
		if c.p.down(n) {
			continue
		}
		c.mu.Lock()
		doc := ""
		if len(c.recent) > 0 {
			doc = c.recent[r.IntN(len(c.recent))]
		}
		c.mu.Unlock()
		if doc != "" && r.IntN(3) > 0 {
			c.get(n, doc)
			continue
		}
		g := r.IntN(groups)
		var f found
		e := entry{Kind: "read", Node: n, Group: &g, At: c.p.h.now()}
		if err := c.p.ask(n, "/match", url.Values{"group": {strconv.Itoa(g)}}, readWait, &f); err != nil {
			e.Err = err.Error()
		}
		e.End, e.Docs, e.Complete = c.p.h.now(), f.Docs, f.Complete
		c.p.h.add(e)
	}
}

// get requests one document.
func (c *clients) get(n coord.NodeID, doc string) {
	var f found
	e := entry{Kind: "read", Node: n, Doc: doc, At: c.p.h.now()}
	err := c.p.ask(n, "/get", url.Values{"doc": {doc}}, readWait, &f)
	if e.Complete = err == nil || errors.Is(err, errGone); !e.Complete {
		e.Err = err.Error()
	}
	e.End, e.Docs = c.p.h.now(), f.Docs
	c.p.h.add(e)
}
