package program

import (
	"testing"

	"concordat"
)

// TestLeftOutWords: the omitted files of archives are counted even after retention has removed their names.
func TestLeftOutWords(t *testing.T) {
	for _, c := range []struct {
		out  concordat.LeftOut
		want string
	}{
		{concordat.LeftOut{Count: 1, Names: []string{"Thumbs.db"}}, "1 hidden, lock or system file: Thumbs.db"},
		{concordat.LeftOut{Count: 3, Names: []string{"Thumbs.db", "._a"}}, "3 hidden, lock or system files: Thumbs.db, ._a and 1 more"},
		{concordat.LeftOut{Count: 1}, "1 hidden, lock or system file"},
		{concordat.LeftOut{Count: 2}, "2 hidden, lock or system files"},
	} {
		if got := leftOutWords(c.out); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.out, got, c.want)
		}
	}
}
