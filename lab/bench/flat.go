package bench

import "concordat"

// flat is a plain in-memory table for comparison. For each band, it has a list of sentences by band value, and the fingerprints to check.
// It is not product code but shows the practical limit, because it is not durable and supports neither deletions nor libraries.
type flat struct {
	prints []concordat.Fingerprint
	starts [concordat.Bands][]uint32 // by band value, with one more at the end
	ids    [concordat.Bands][]uint32
	near   int // number of entries within the distance; prevents the compiler from removing the check
}

func newFlat(prints []concordat.Fingerprint) *flat {
	f := &flat{prints: prints}
	for b := range concordat.Bands {
		starts := make([]uint32, 1<<concordat.BandBits+1)
		for _, p := range prints {
			starts[p.Band(b)+1]++
		}
		for i := 1; i < len(starts); i++ {
			starts[i] += starts[i-1]
		}
		ids := make([]uint32, len(prints))
		next := append([]uint32{}, starts...)
		for i, p := range prints {
			v := p.Band(b)
			ids[next[v]] = uint32(i)
			next[v]++
		}
		f.starts[b], f.ids[b] = starts, ids
	}
	return f
}

// ask looks up a fingerprint and returns the number of entries examined.
func (f *flat) ask(q concordat.Fingerprint, probe concordat.Probe) int {
	n := 0
	for b := range concordat.Bands {
		v := q.Band(b)
		n += f.bucket(b, v, q)
		if probe == concordat.ProbeExact {
			continue
		}
		for at := 0; at < concordat.BandBits; at += 4 {
			for x := uint32(1); x < 16; x++ {
				n += f.bucket(b, v^x<<at, q)
			}
		}
	}
	return n
}

func (f *flat) bucket(b int, v uint32, q concordat.Fingerprint) int {
	ids := f.ids[b][f.starts[b][v]:f.starts[b][v+1]]
	for _, i := range ids {
		if f.prints[i].Distance(q) <= reportDistance {
			f.near++
		}
	}
	return len(ids)
}
