package zk

// DropEvents makes the session's link deaf for what watches tell, or ends that.
func DropEvents(s *Session, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.deaf.Store(drop)
}
