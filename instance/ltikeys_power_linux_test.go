package instance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"concordat/instance"
	"concordat/internal/powertest"
	"concordat/internal/suite"
	"concordat/web/lti"
)

// TestLTIKeysPowerLoss cuts the power at every moment while the keys for learning platforms are created and replaced, and sometimes kills
// the process. Platforms received the keys that a call returned, so these or later ones must be there.
func TestLTIKeysPowerLoss(t *testing.T) {
	one, err := lti.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	b, err := one.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// The versions differ only by the name of their key, since making a new key takes a long time.
	name := regexp.MustCompile(`"kid":"[^"]*"`)
	powertest.Replaces(t, suite.Rounds(6, 60), 8, func(dir string, version int) error {
		keys, err := lti.ParseKeys(name.ReplaceAll(b, fmt.Appendf(nil, `"kid":"%d"`, version)))
		if err != nil {
			return err
		}
		return instance.WriteLTIKeys(filepath.Join(dir, instance.LTIKeyName), keys)
	}, func(dir string) (int, error) {
		if _, err := os.Stat(filepath.Join(dir, instance.LTIKeyName)); os.IsNotExist(err) {
			return 0, nil // LTIKeys would create new ones
		}
		keys, err := instance.LTIKeys(dir)
		if err != nil {
			return 0, err
		}
		b, err := keys.Marshal()
		version := 0
		if err == nil {
			_, err = fmt.Sscanf(string(name.Find(b)), `"kid":"%d"`, &version)
		}
		return version, err
	})
}
