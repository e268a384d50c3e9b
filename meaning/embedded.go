package meaning

import (
	_ "embed"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// embedded is a table, packed by zstd --ultra -22: 9 MB instead of 13.
//
//go:embed data/table.bin.zst
var embedded []byte

// maxTable bounds the bytes of an unpacked table.
const maxTable = 64 << 20

// Default returns the embedded table. The first call reads it, which takes a few hundredths of a second.
var Default = sync.OnceValues(func() (*Table, error) {
	b, err := unpacked(embedded)
	if err != nil {
		return nil, err
	}
	return Decode(b)
})

func unpacked(b []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxTable))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(b, nil)
}
