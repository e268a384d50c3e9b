package profile

// Features returns the number of distinct features of a sentence: the byte that goes with its
// fingerprint in an outline. It fails as Profile does.
func (p *Profiler) Features(sentence string) (int, error) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	set, err := s.set(sentence, s.features[:0])
	s.features = set
	return len(set), err
}
