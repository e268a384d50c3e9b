package indextest

import (
	"testing"

	"concordat"
)

func TestOracle(t *testing.T) {
	Run(t, Subject{Open: func(*testing.T) concordat.Index { return &Oracle{Site: Site, Scheme: Scheme} }})
}
