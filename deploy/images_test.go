package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// TestImagesCanBePinned: every image that is built on or run is pinned by a digest, or an administrator can pin it without editing a
// file, with a variable that doc/security.md names, or with image.digest of a chart.
func TestImagesCanBePinned(t *testing.T) {
	security := read(t, "../doc/security.md")
	pinned := regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	variable := regexp.MustCompile(`^\$\{([A-Z_]+)(:-[^}]+)?\}$`)
	check := func(file, image string) string {
		t.Helper()
		if pinned.MatchString(image) {
			return ""
		}
		m := variable.FindStringSubmatch(image)
		if m == nil {
			t.Errorf("%s: %s is neither pinned nor a variable", file, image)
			return ""
		}
		if !strings.Contains(security, "`"+m[1]+"`") {
			t.Errorf("%s: doc/security.md does not name %s", file, m[1])
		}
		return m[1]
	}

	args, stages, froms := []string{}, []string{}, []string{}
	for line := range strings.Lines(read(t, "container/Containerfile")) {
		switch f := strings.Fields(line); {
		case len(f) > 1 && f[0] == "ARG":
			name, _, _ := strings.Cut(f[1], "=")
			args = append(args, name)
		case len(f) > 1 && f[0] == "FROM":
			if name := check("Containerfile", f[1]); name != "" && !slices.Contains(args, name) {
				t.Errorf("Containerfile: %s is no argument", name)
			} else if name != "" && !slices.Contains(froms, name) {
				froms = append(froms, name)
			}
			if len(f) == 4 {
				stages = append(stages, f[3])
			}
		case len(f) > 1 && f[0] == "COPY" && strings.HasPrefix(f[1], "--from="):
			if from := strings.TrimPrefix(f[1], "--from="); !slices.Contains(stages, from) {
				check("Containerfile", from)
			}
		}
	}

	var c struct {
		Services map[string]struct {
			Image string
			Build struct{ Args []string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "container/compose.yaml")), &c); err != nil || len(c.Services) == 0 {
		t.Fatal(c, err)
	}
	built := c.Services["site"]
	if !slices.Equal(built.Build.Args, froms) {
		t.Errorf("compose.yaml hands on %v, the Containerfile takes %v", built.Build.Args, froms)
	}
	for _, s := range c.Services {
		if s.Image != built.Image { // it is built here
			check("compose.yaml", s.Image)
		}
	}

	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for chart, want := range map[string]int{"concordat": 2, "concordat-screen": 1} {
		var v struct{ Image map[string]string }
		if err := yaml.Unmarshal([]byte(read(t, "helm/"+chart+"/values.yaml")), &v); err != nil {
			t.Fatal(err)
		}
		paths, _ := filepath.Glob("helm/" + chart + "/templates/*.yaml")
		found := 0
		for _, path := range paths {
			for _, m := range regexp.MustCompile(`(?m)^\s*image: "(.*)"$`).FindAllStringSubmatch(read(t, path), -1) {
				found++
				for given, image := range map[string]string{"": v.Image["repository"] + ":" + v.Image["tag"],
					digest: v.Image["repository"] + "@" + digest} {
					v.Image["digest"] = given
					if got := render(t, m[1], map[string]any{"Values": map[string]any{"image": v.Image}}); got != image {
						t.Errorf("%s: with the digest %q it runs %s, want %s", path, given, got, image)
					}
				}
			}
		}
		if found != want {
			t.Errorf("%s: %d images, want %d", chart, found, want)
		}
	}
}

func render(t *testing.T, text string, data any) string {
	t.Helper()
	tmpl, err := template.New("image").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
