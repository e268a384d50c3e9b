package instance_test

import (
	"os"
	"path/filepath"
	"testing"

	"concordat/instance"
	"concordat/profile"
)

// TestCreateLeavesConfig: unusable existing settings are refused and left unchanged.
func TestCreateLeavesConfig(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, instance.ConfigName)
	const own = "site: [my own notes\n"
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Create(t.Context(), dir, "test", "", profile.Natural, "", false); err == nil {
		t.Error("settings that cannot be read were taken")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != own {
		t.Errorf("the settings are %q, %v", got, err)
	}
}
