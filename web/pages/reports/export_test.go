package reports

// Bound limits the approximate number of bytes of findings in the cache.
func (s *Cache) Bound(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = bytes
}

// Size returns the number of bytes in the cache.
func (s *Cache) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, b := range s.entries {
		sum += b.bytes
	}
	if sum != s.bytes {
		return -sum - s.bytes // the sum is wrong
	}
	return sum
}

// OriginalOf exports originalOf.
var OriginalOf = originalOf
