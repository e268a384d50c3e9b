package index

import (
	"errors"
	"io/fs"
	"strconv"
	"testing"

	"concordat"
	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestHeaderPowerLoss cuts the power at every moment while a shard's header is written. An acknowledged header is present and complete.
func TestHeaderPowerLoss(t *testing.T) {
	powertest.Replaces(t, suite.Rounds(6, 60), 6, func(dir string, version int) error {
		return writeHeader(dir, header{Format: formatVersion, Site: "here", Shard: concordat.ShardID(strconv.Itoa(version)), Scheme: "s@1"})
	}, func(dir string) (int, error) {
		h, err := openHeader(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(h.Shard))
	})
}
