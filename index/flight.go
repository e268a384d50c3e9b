package index

import (
	"context"
	"unsafe"

	"concordat"
)

// A query fingerprint waits for memory at several steps (group, bucket, entry, occurrence, document), and each step determines where the
// next one reads. Therefore fingerprints pass through the steps in flights of sixteen, one step at a time, while other flights are at
// other steps. Each step prefetches the memory for the next, which runs once that memory has arrived.

const (
	ahead  = 16 // fingerprints per flight
	stages = 7

	lineBytes = 64 // the line size of most processors
)

// flight is a group of up to sixteen query fingerprints in progress.
type flight struct {
	first int                     // index of the first fingerprint
	asked []concordat.Fingerprint // the fingerprints
	spans []span                  // with ProbeExact, the spans of each level, fingerprint and band
	out   []found                 // grouped by fingerprint
	ends  [ahead]int              // end of each fingerprint's entries in out
}

// fly adds the matches of all the query's fingerprints, in order.
func (m *matcher) fly(ctx context.Context, k *lookup) error {
	asked := m.query.Fingerprints
	flights := (len(asked) + ahead - 1) / ahead
	for t := range flights + stages - 1 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for stage := range stages {
			n := t - stage
			if n < 0 || n >= flights {
				continue
			}
			f := &k.flights[n%stages]
			switch stage {
			case 0:
				f.first, f.asked = n*ahead, asked[n*ahead:min((n+1)*ahead, len(asked))]
				k.groups(f, m.view)
			case 1:
				k.buckets(f, m.view)
			case 2:
				k.entries(f, m.view)
			case 3:
				k.resolve(f.out, m.view.levels)
				k.occurrences(f, m.view)
			case 4:
				m.slots(f)
			case 5:
				m.documents(f)
			case 6:
				if err := m.land(ctx, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lines holds addresses whose cache lines will be needed soon.
type lines struct {
	at [2 * ahead * concordat.Bands]*byte
	n  int
}

func (w *lines) want(p *byte) {
	if w.n < len(w.at) { // more lines would evict each other from the cache
		w.at[w.n] = p
		w.n++
	}
}

// groups prefetches the groups for exact queries. With one hash changed, search prefetches them itself.
func (k *lookup) groups(f *flight, v *view) {
	if k.probe != concordat.ProbeExact {
		return
	}
	for _, l := range v.levels {
		var w lines
		for _, q := range f.asked {
			for i := range l.bands {
				w.want((*byte)(unsafe.Pointer(&l.bands[i].groups[q.Band(i)>>4])))
			}
		}
		k.touch += touch(w.at[:w.n])
	}
}

// buckets computes the ranges that exact queries read, and prefetches both ends of each.
func (k *lookup) buckets(f *flight, v *view) {
	f.spans = f.spans[:0]
	if k.probe != concordat.ProbeExact {
		return
	}
	for _, l := range v.levels {
		var w lines
		for _, q := range f.asked {
			for i := range l.bands {
				b := &l.bands[i]
				lo, hi := b.bucket(q.Band(i))
				if lo < hi {
					hi = k.limit(lo, hi)
					w.want(&b.recs[recBytes*int(lo)])
					if int(lo)*recBytes/lineBytes != (int(hi)*recBytes-1)/lineBytes { // most ranges fit in a line
						w.want(&b.recs[recBytes*int(hi)-1])
					}
				}
				f.spans = append(f.spans, span{lo, hi, 0, 0})
			}
		}
		k.touch += touch(w.at[:w.n])
	}
}

// entries looks up the fingerprints and prefetches the entries found.
func (k *lookup) entries(f *flight, v *view) {
	k.out = f.out[:0]
	for j, q := range f.asked {
		for n, l := range v.levels {
			if k.probe != concordat.ProbeExact {
				k.search(l, q, n)
				continue
			}
			for i, s := range f.spans[(n*len(f.asked)+j)*concordat.Bands:][:concordat.Bands] {
				if k.used[i] = 0; s.lo < s.hi {
					k.spans[i][0], k.used[i] = s, 1
					k.scan(l, i, q, n)
				}
			}
		}
		k.all(v.fresh, q)
		f.ends[j] = len(k.out)
	}
	f.out, k.out = k.out, nil
	var w lines
	for i := range f.out {
		if o := &f.out[i]; o.level >= 0 && o.band > 0 {
			w.want((*byte)(unsafe.Pointer(&v.levels[o.level].bands[o.band].ids[o.entry])))
		}
	}
	k.touch += touch(w.at[:w.n])
}

// occurrences prefetches the occurrences of the entries.
func (k *lookup) occurrences(f *flight, v *view) {
	var w lines
	for i := range f.out {
		if o := &f.out[i]; o.level >= 0 {
			w.want((*byte)(unsafe.Pointer(&v.levels[o.level].first[o.entry])))
		}
	}
	k.touch += touch(w.at[:w.n])
}

// slot returns the address of the pointer to an entry's first document.
func (v *view) slot(o *found) **document {
	if o.level < 0 {
		return &v.docs[v.freshOccs[o.entry].doc]
	}
	return &v.docs[v.levels[o.level].occs(o.entry)[0].doc]
}

// slots prefetches the pointers to the documents.
func (m *matcher) slots(f *flight) {
	var w lines
	for i := range f.out[:min(len(f.out), len(w.at))] {
		w.want((*byte)(unsafe.Pointer(m.view.slot(&f.out[i]))))
	}
	m.touch += touch(w.at[:w.n])
}

// documents prefetches the documents.
func (m *matcher) documents(f *flight) {
	var w lines
	for i := range f.out[:min(len(f.out), len(w.at)/2)] {
		d := *m.view.slot(&f.out[i])
		w.want((*byte)(unsafe.Pointer(d)))
		w.want((*byte)(unsafe.Pointer(&d.spans)))
	}
	m.touch += touch(w.at[:w.n])
}

// land adds the matches of the flight to the answer.
func (m *matcher) land(ctx context.Context, f *flight) error {
	from := 0
	for j := range f.asked {
		if to := f.ends[j]; from < to {
			if err := m.add(ctx, f.first+j, f.out[from:to]); err != nil {
				return err
			}
			from = to
		}
	}
	return nil
}
