package bench

import (
	"slices"
	"time"
)

// rounds holds the processor times of rounds of the same work.
type rounds []time.Duration

func (r *rounds) time(f func() error) error {
	start := cpu()
	err := f()
	*r = append(*r, cpu()-start)
	return err
}

func (r rounds) best() time.Duration { return slices.Min(r) }

// median returns the middle value, or the mean of the two in the middle.
func (r rounds) median() time.Duration {
	s := slices.Sorted(slices.Values(r))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
