package index

import (
	"fmt"
	"math"

	"concordat"
)

// numbers assigns document numbers. It is not safe for concurrent use.
type numbers struct{ next uint64 }

// take returns a number greater than those of all documents so far.
func (n *numbers) take() (uint32, error) {
	if n.next >= math.MaxUint32 { // that number is pulse's
		return 0, fmt.Errorf("the shard has used all its 2^32-1 document numbers; copy the documents into a new shard: %w", concordat.ErrInvalid)
	}
	taken := uint32(n.next)
	n.next++
	return taken, nil
}

// follow makes n continue after a document's number.
func (n *numbers) follow(number uint32) { n.next = uint64(number) + 1 }
