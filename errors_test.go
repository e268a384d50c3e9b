package concordat_test

import (
	"errors"
	"io/fs"
	"testing"

	"concordat"
)

// TestInvalidf: the error says its message alone, and both ErrInvalid and a wrapped error are found in it.
func TestInvalidf(t *testing.T) {
	err := concordat.Invalidf("account of %s: %w", "uni", fs.ErrNotExist)
	if err.Error() != "account of uni: file does not exist" || !errors.Is(err, concordat.ErrInvalid) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %q, ErrInvalid %v, ErrNotExist %v", err, errors.Is(err, concordat.ErrInvalid), errors.Is(err, fs.ErrNotExist))
	}
}
