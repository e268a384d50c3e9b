package layers

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestLab: the lab, which is a separate module, builds with its tests against the product in this checkout. It requires the same module
// versions as the product, so it measures the released program.
func TestLab(t *testing.T) {
	t.Parallel()
	product := map[string]string{}
	for _, r := range requirements(t, "../../go.mod") {
		product[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range requirements(t, "../../lab/go.mod") {
		if want, shared := product[r.Mod.Path]; shared && r.Mod.Version != want {
			t.Errorf("lab/go.mod requires %s %s, the product %s: run go -C lab mod tidy", r.Mod.Path, r.Mod.Version, want)
		}
	}
	if out, err := exec.Command("go", "-C", "../../lab", "vet", "./...").CombinedOutput(); err != nil {
		t.Errorf("go vet in lab: %v\n%s", err, out)
	}
}

func requirements(t *testing.T, file string) []*modfile.Require {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod.Require
}
