package zk

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	zkclient "github.com/go-zookeeper/zk"
)

// run maintains a session with ZooKeeper until Close.
func (s *Session) run(ctx context.Context) {
	defer close(s.done)
	defer close(s.views)
	defer close(s.settings)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.next != nil {
			s.next.close()
		}
	}()
	w := newWatcher(s)
	for ctx.Err() == nil {
		s.mu.Lock()
		l := s.link
		s.mu.Unlock()
		s.serve(ctx, l, w)
		if ctx.Err() != nil {
			return // Close ends the link
		}
		<-l.dead
		l.close()
		if s.Err() != nil {
			<-ctx.Done() // the last view remains in effect
			return
		}
		if l = s.successor(ctx); l == nil {
			continue
		}
		s.adopt(l)
		if ctx.Err() != nil { // Close saw the previous one
			l.close()
		}
	}
}

// successor returns the link that replaces a dead one, or nil if there is none yet.
func (s *Session) successor(ctx context.Context) *link {
	s.mu.Lock()
	l := s.next
	s.next = nil
	s.mu.Unlock()
	if l != nil {
		return l
	}
	s.log.Warn("the session with ZooKeeper has ended; a new one begins", "node", s.o.Node)
	l, err := s.connect(ctx)
	switch {
	case err == nil:
		return l
	case final(err):
		s.fail(err)
	}
	return nil
}

// serve keeps the views and the session's confirmation up to date until the link is dead.
func (s *Session) serve(ctx context.Context, l *link, w *watcher) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		s.beat(ctx, l)
	}()
	w.begin(l)
	again := time.NewTicker(varied(s.o.Reread))
	defer again.Stop()
	pause := s.o.Timeout / 20
	for ctx.Err() == nil && !l.isDead() {
		if err := w.refresh(ctx); err != nil {
			switch {
			case errors.Is(err, zkclient.ErrNoAuth):
				l.kill() // the account may have been lost with a connection, which another link will show
			case final(err):
				s.fail(err)
			default:
				s.stumble(ctx, l, err, pause)
				pause = min(2*pause, s.o.Timeout)
			}
			continue
		}
		pause = s.o.Timeout / 20
		select {
		case <-l.wake:
		case <-again.C:
			l.soilAll()
		case <-l.dead:
		case <-ctx.Done():
		}
	}
	cancel()
	<-beats
}

// varied returns d, give or take a fifth. If all nodes reread everything at the same time, the load would come in waves.
func varied(d time.Duration) time.Duration { return d*4/5 + rand.N(d*2/5) }

// stumble records the error that prevented s from reading, and waits, because the same cause would wake s again immediately.
func (s *Session) stumble(ctx context.Context, l *link, err error, pause time.Duration) {
	if !l.isDead() && l.up.Load() && ctx.Err() == nil {
		s.log.Warn("cannot read from ZooKeeper", "error", err)
	}
	select {
	case <-time.After(pause/2 + rand.N(pause)):
	case <-l.dead:
	case <-ctx.Done():
	}
	l.soilAll()
}

// beat confirms the session four times per session timeout, and replaces a wedged link.
func (s *Session) beat(ctx context.Context, l *link) {
	t := time.NewTicker(l.timeout() / 4)
	defer t.Stop()
	const patience = 12 // unanswered beats, equal to three session timeouts. They are counted, not timed, because a process
	// suspended for an hour has not gone unanswered for an hour.
	for missed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-l.dead:
			return
		case <-t.C:
		}
		limited, cancel := context.WithTimeout(ctx, l.timeout()/2)
		err := s.confirm(limited, l)
		cancel()
		switch {
		case err == nil:
			missed = 0
			continue
		case errors.Is(err, context.DeadlineExceeded):
			missed++ // another beat was missed
		}
		if missed++; missed >= patience {
			missed = 0
			s.replace(ctx, l)
		}
	}
}

// confirm asks whether l's session is alive, and records when it asked.
func (s *Session) confirm(ctx context.Context, l *link) error {
	sent, err := l.confirm(ctx, s.t.root)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l && sent.After(s.confirmed) {
		s.confirmed = sent
	}
	return nil
}

// replace tries to establish a new link after l has been silent. If that succeeds and l is still silent, then l is wedged or no server
// accepts it, and the new link replaces it. If not, ZooKeeper is unreachable, and l's session remains alive as long as ZooKeeper keeps
// it.
func (s *Session) replace(ctx context.Context, l *link) {
	try, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	next, err := s.tryLink(try)
	if final(err) {
		s.fail(err)
		return
	}
	if err != nil {
		s.log.Warn("ZooKeeper is unreachable", "node", s.o.Node, "error", err)
		return
	}
	// Allow the old session enough time for a round of servers and a pause of the library.
	grace, cancel := context.WithTimeout(ctx, l.timeout()/3+2*time.Second)
	defer cancel()
	for grace.Err() == nil {
		if _, err := l.confirm(grace, s.t.root); err == nil || l.isDead() {
			next.close()
			return
		}
		select {
		case <-grace.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		next.close()
		return
	}
	s.log.Warn("the connection to ZooKeeper does not respond, but a new connection works; closing the old connection and ending its session", "node", s.o.Node)
	s.mu.Lock()
	s.next = next
	s.mu.Unlock()
	l.kill()
}
