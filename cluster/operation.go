package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"concordat"
	"concordat/index"
)

// An operation is one write to be performed by a master, possibly sent in several messages. The master performs it only once in its
// epoch, even if messages are duplicated or late (following the client sessions of Ongaro 2014, section 6.3). The sender numbers its
// operations, and each message states which operations are over.
type operation struct {
	Sender string // drawn at random whenever the sending node starts
	Number uint64
	Done   uint64 // all operations of the sender below this number are over
	Epoch  uint64 // epoch of the intended master; other copies refuse the operation
	Rev    uint64 // revision of the first change; the others follow consecutively
}

const (
	// operationTime is the time limit for an operation that no caller is waiting for any more.
	operationTime = time.Minute
	// maxSenders is the maximum number of senders that a master remembers; the one that has been silent longest is forgotten first.
	maxSenders = 1024
)

// operations tracks the operations that a copy performs while it is master.
type operations struct {
	mu      sync.Mutex // protects the following fields
	senders map[string]*sender
}

type sender struct {
	done uint64
	ops  map[uint64]*outcome
	last time.Time
}

// outcome is the result of one operation; seq and err are set before done is closed.
type outcome struct {
	done chan struct{}
	seq  uint64
	err  error
}

// do performs the operation, or waits for the outcome of an earlier message about it.
func (o *operations) do(ctx context.Context, op operation, run func(context.Context) (uint64, error)) (uint64, error) {
	out, first, err := o.enter(op)
	if err != nil {
		return 0, err
	}
	if first {
		// The caller can disconnect and come back with a new message.
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), operationTime)
			defer cancel()
			out.seq, out.err = run(ctx)
			if out.err != nil {
				o.forget(op, out) // the sender can try again
			}
			close(out.done)
		}()
	}
	select {
	case <-out.done:
		return out.seq, out.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// enter returns the outcome of the operation, and whether this is its first message.
func (o *operations) enter(op operation) (*outcome, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.senders[op.Sender]
	if s == nil {
		if o.senders == nil {
			o.senders = map[string]*sender{}
		}
		if len(o.senders) >= maxSenders {
			o.dropOldest()
		}
		s = &sender{ops: map[uint64]*outcome{}}
		o.senders[op.Sender] = s
	}
	s.last = time.Now()
	s.done = max(s.done, op.Done)
	for n := range s.ops {
		if n < s.done {
			delete(s.ops, n)
		}
	}
	if op.Number < s.done {
		return nil, false, fmt.Errorf("the message arrived after operation %d of sender %s had ended: %w", op.Number, op.Sender,
			concordat.ErrUnavailable)
	}
	if out := s.ops[op.Number]; out != nil {
		return out, false, nil
	}
	out := &outcome{done: make(chan struct{})}
	s.ops[op.Number] = out
	return out, true, nil
}

func (o *operations) dropOldest() {
	oldest := ""
	for name, s := range o.senders {
		if oldest == "" || s.last.Before(o.senders[oldest].last) {
			oldest = name
		}
	}
	delete(o.senders, oldest)
}

func (o *operations) forget(op operation, out *outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.senders[op.Sender]; s != nil && s.ops[op.Number] == out {
		delete(s.ops, op.Number)
	}
}

// operate makes the changes described by the operation and its call. Errors: the errors of Write, and NotMasterError if the epoch
// differs.
func (c *Copy) operate(ctx context.Context, call string, op operation, changes []index.Change) (uint64, error) {
	run := c.writeIn
	if call == callReplace {
		run = c.replaceIn
	}
	return c.operations.do(ctx, op, func(ctx context.Context) (uint64, error) { return run(ctx, op, changes) })
}

// numbers assigns numbers to the operations of one sender.
type numbers struct {
	mu   sync.Mutex // protects the following fields
	next uint64
	open map[uint64]struct{}
}

// begin returns a number higher than all earlier ones.
func (n *numbers) begin() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == nil {
		n.open = map[uint64]struct{}{}
	}
	n.next++
	n.open[n.next] = struct{}{}
	return n.next
}

func (n *numbers) end(number uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, number)
}

// done returns the number below which all operations are over.
func (n *numbers) done() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	low := n.next + 1
	for o := range n.open {
		low = min(low, o)
	}
	return low
}
