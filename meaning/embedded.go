package meaning

import (
	_ "embed"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// embedded is a table compressed by zstd --ultra -22: 9 MB instead of 13.
//
//go:embed data/table.bin.zst
var embedded []byte

// maxTable is the maximum size of a decompressed table, in bytes.
const maxTable = 64 << 20

// Default returns the embedded table. The first call decodes it, which takes a few hundredths of a second.
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
