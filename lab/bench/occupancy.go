package bench

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"concordat"
)

// OccupancyResult describes how full the buckets of a band are. It is simulated from the band's values alone, so it shows how many
// candidates a question will meet without any machines.
type OccupancyResult struct {
	Sentences  int     `json:"sentences"`
	Shards     int     `json:"shards"`
	Mean       float64 `json:"mean"`       // sentences per bucket of a shard
	P99        int     `json:"p99"`        // maximum in 99 of 100 buckets
	Max        int     `json:"max"`        // maximum over all shards
	Poisson    float64 `json:"poisson"`    // ratio of variance to mean; 1 for values drawn uniformly
	Candidates float64 `json:"candidates"` // for a planted exact question in one shard and one band, including the planted one
}

const bandValues = 1 << 20

// Occupancy draws the values of one band of the sentences uniformly, as in random fingerprints.
func Occupancy(sentences, shards int, seed uint64) OccupancyResult {
	r := OccupancyResult{Sentences: sentences, Shards: shards}
	var mu sync.Mutex
	var histogram []int
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for s := range shards {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			n := sentences/shards + b2i(s < sentences%shards)
			h := bucketHistogram(n, rand.New(rand.NewPCG(seed, uint64(s))))
			mu.Lock()
			defer mu.Unlock()
			for len(histogram) < len(h) {
				histogram = append(histogram, 0)
			}
			for k, c := range h {
				histogram[k] += c
			}
		})
	}
	wg.Wait()
	r.fill(histogram)
	return r
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bucketHistogram returns, for each count, the number of buckets with that many of n values.
func bucketHistogram(n int, rng *rand.Rand) []int {
	buckets := make([]uint32, bandValues)
	for ; n >= 3; n -= 3 { // three values from one draw
		v := rng.Uint64()
		buckets[v%bandValues]++
		buckets[v>>20%bandValues]++
		buckets[v>>40%bandValues]++
	}
	for range n {
		buckets[rng.Uint64()%bandValues]++
	}
	var h []int
	for _, k := range buckets {
		for len(h) <= int(k) {
			h = append(h, 0)
		}
		h[k]++
	}
	return h
}

func (r *OccupancyResult) fill(histogram []int) {
	buckets, sum, squares := 0.0, 0.0, 0.0
	for k, c := range histogram {
		buckets += float64(c)
		sum += float64(k) * float64(c)
		squares += float64(k) * float64(k) * float64(c)
	}
	r.Max, r.Mean = len(histogram)-1, sum/buckets
	seen := 0.0
	for k, c := range histogram {
		if seen += float64(c); seen >= 0.99*buckets {
			r.P99 = k
			break
		}
	}
	r.Poisson = (squares/buckets - r.Mean*r.Mean) / r.Mean
	r.Candidates = squares / math.Max(sum, 1) // a question meets a bucket in proportion to the bucket's number of sentences
}

// TextOccupancy is like Occupancy for real fingerprints, and returns the mean of the five bands in one shard.
func TextOccupancy(prints []concordat.Fingerprint) OccupancyResult {
	r := OccupancyResult{Sentences: len(prints), Shards: 1}
	for band := range concordat.Bands {
		buckets := make([]uint32, bandValues)
		for i := range prints {
			buckets[prints[i].Band(band)]++
		}
		var h []int
		for _, k := range buckets {
			for len(h) <= int(k) {
				h = append(h, 0)
			}
			h[k]++
		}
		var one OccupancyResult
		one.fill(h)
		r.Mean = one.Mean
		r.P99, r.Max = max(r.P99, one.P99), max(r.Max, one.Max)
		r.Poisson += one.Poisson / concordat.Bands
		r.Candidates += one.Candidates / concordat.Bands
	}
	return r
}
