package minhash

// RoundHash and KeptBits give the tests the two hash functions of which the naive definition is made.

func RoundHash(s *Sketcher, round int, feature uint64) uint64 { return mix(feature ^ s.seeds[round]) }

func KeptBits(s *Sketcher, winner uint64) uint64 { return mix(winner^s.last) >> (64 - s.b) }
