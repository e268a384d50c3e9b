package cli

import (
	"math"
	"slices"
	"testing"
)

// TestArguments reads the arguments of a command from its Use line.
func TestArguments(t *testing.T) {
	for use, want := range map[string]struct {
		required []string
		most     int
	}{
		"list":                                 {nil, 0},
		"show TASK":                            {[]string{"TASK"}, 1},
		"show LIBRARY [NAME]":                  {[]string{"LIBRARY"}, 2},
		"handle NUMBER...":                     {[]string{"NUMBER"}, math.MaxInt},
		"set [KEY=VALUE...]":                   {nil, math.MaxInt},
		"share LIBRARY --with SITE":            {[]string{"LIBRARY"}, 1},
		"batch --queries FILE STORED...":       {[]string{"STORED"}, math.MaxInt},
		"move SHARD NODE[,NODE...]":            {[]string{"SHARD", "NODE"}, 2},
		"decide ID accepted|rejected":          {[]string{"ID", "accepted|rejected"}, 2},
		"three --library L TEXT SOURCE SOURCE": {[]string{"TEXT", "SOURCE", "SOURCE"}, 3},
	} {
		if required, most := arguments(use); !slices.Equal(required, want.required) || most != want.most {
			t.Errorf("%q requires %q and takes at most %d, want %q and %d", use, required, most, want.required, want.most)
		}
	}
}
