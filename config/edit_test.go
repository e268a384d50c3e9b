package config_test

import (
	"errors"
	"testing"

	"concordat"
	"concordat/config"
)

func TestWithout(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a: 1\n", "a: 1\n"},
		{"", ""},
		{"# why\na: 1 # one\ncluster:\n    node: a\nb: 2\n", "# why\na: 1 # one\nb: 2\n"},
		{"cluster: {node: a}\n", ""},
	} {
		got, err := config.Without([]byte(c.in), "cluster")
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.in, got, err, c.want)
		}
	}
	if _, err := config.Without([]byte("- a\n"), "cluster"); !errors.Is(err, concordat.ErrInvalid) {
		t.Error(err)
	}
}
