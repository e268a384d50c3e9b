package partners

import (
	"fmt"
	"path/filepath"

	"concordat"
)

// EpochsName is the folder for the fingerprints of all epochs.
const EpochsName = "epochs"

// EpochFolder returns the folder for an epoch's fingerprints.
func EpochFolder(dir string, e concordat.Epoch) string {
	return filepath.Join(dir, EpochsName, fmt.Sprintf("%s-%d", e.Federation, e.Number))
}
