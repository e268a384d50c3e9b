package meaning

import (
	_ "embed"
	"sync"
)

//go:embed data/table.bin
var embedded []byte

// Default returns the embedded table. The first call reads it, which takes some hundredths of a second.
var Default = sync.OnceValues(func() (*Table, error) { return Decode(embedded) })
