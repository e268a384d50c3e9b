//go:build linux

// Package deploy_test tests the files of deploy/; doc/deploy.md describes how far each is tested.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	"concordat/instance/config"
	"concordat/internal/ports"
	"concordat/internal/zktest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// variables fails if a text sets a variable that is not a key of the configuration.
func variables(t *testing.T, path, text string) {
	t.Helper()
	known := []string{"CONCORDAT_DATA", "CONCORDAT_KEY_FILE", "CONCORDAT_PASSPHRASE_FILE"}
	for _, k := range config.Keys() {
		known = append(known, k.Env())
	}
	for _, v := range regexp.MustCompile(`CONCORDAT_[A-Z_]*[A-Z]`).FindAllString(text, -1) {
		if !slices.Contains(known, v) {
			t.Errorf("%s: %s is no key of the configuration", path, v)
		}
	}
}

// TestExamples: the examples are valid configurations of the program.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("examples/*/*.yaml")
	if err != nil || len(paths) < 7 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		c, err := config.Load(path, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if strings.HasPrefix(path, "examples/cluster/") && (c.Cluster.Node+".yaml" != filepath.Base(path) || c.Cluster.Coordinator == "" ||
			c.Store.URL == "") {
			t.Errorf("%s: node %q at %q with store %q", path, c.Cluster.Node, c.Cluster.Coordinator, c.Store.URL)
		}
	}
}

// TestTry: the example of a clustered site is started on loopback, with three ZooKeeper servers, PostgreSQL and three nodes;
// each node answers for all, and everything stops again.
func TestTry(t *testing.T) {
	if os.Getenv("CONCORDAT_LONG") == "" {
		t.Skip("seven processes: set CONCORDAT_LONG")
	}
	if m := zktest.Missing(); m != "" {
		t.Skipf("apt-get install %s", m)
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the database's user must be able to reach its own folder
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "concordat")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/concordat").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	port := ports.Free(t, 60)[0]
	try := func(what string) string {
		t.Helper()
		c := exec.Command("sh", "examples/cluster/try.sh", filepath.Join(dir, "site"), what)
		c.Env = append(os.Environ(), "CONCORDAT="+program, fmt.Sprintf("PORT=%d", port))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
		return string(out)
	}
	defer try("stop")
	try("start")
	for i, n := range []string{"a", "b", "c"} {
		if !strings.Contains(try("status"), fmt.Sprintf("node %s (zone", n)) {
			t.Errorf("no node %s", n)
		}
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", port+31+i))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("node %s: %v, %v", n, resp, err)
		}
	}
}

// TestUnits: systemd-analyze finds no fault in the units if the program is where they expect it.
func TestUnits(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var units []string
	for _, name := range []string{"concordat.service", "concordat-backup.service", "concordat-backup.timer"} {
		text := strings.ReplaceAll(read(t, filepath.Join("systemd", name)), "/usr/bin/concordat", program)
		variables(t, name, text)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		units = append(units, path)
	}
	out, err := exec.Command(tool, append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "concordat") { // lines about other units of the machine are ignored
			t.Error(line)
		}
	}
}

// TestPackage: every file that the package includes exists, and its scripts are valid shell.
func TestPackage(t *testing.T) {
	var p struct {
		Contents []struct{ Src, Dst string }
		Scripts  map[string]string
	}
	if err := yaml.Unmarshal([]byte(read(t, "package/nfpm.yaml")), &p); err != nil || len(p.Contents) < 8 || len(p.Scripts) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range p.Contents {
		if _, err := os.Stat(filepath.Join("..", c.Src)); err != nil && c.Src != "bin/concordat" {
			t.Error(err)
		}
	}
	variables(t, "environment", read(t, "package/environment"))
	scripts, _ := filepath.Glob("*.sh")
	tries, _ := filepath.Glob("examples/*/*.sh")
	scripts = append(scripts, tries...)
	for _, path := range p.Scripts {
		scripts = append(scripts, filepath.Join("..", path))
	}
	for _, path := range scripts {
		if out, err := exec.Command("sh", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}

// TestContainerfile: the image's recipe has known instructions, copies existing files, and runs as an unprivileged user.
func TestContainerfile(t *testing.T) {
	known := []string{"ARG", "FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
		"CMD"}
	text := read(t, "container/Containerfile")
	variables(t, "Containerfile", text)
	user := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Fields(line)
		if !slices.Contains(known, fields[0]) {
			t.Errorf("instruction %s", fields[0])
		}
		switch fields[0] {
		case "USER":
			user = fields[1]
		case "COPY":
			for _, source := range fields[1 : len(fields)-1] {
				if strings.HasPrefix(source, "--") {
					break
				}
				if _, err := os.Stat(filepath.Join("..", source)); err != nil {
					t.Error(err)
				}
			}
		case "ENTRYPOINT", "VOLUME":
			var list []string
			if err := json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(line), fields[0])), &list); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if user == "" || strings.HasPrefix(user, "0") || user == "root" {
		t.Errorf("it runs as %q", user)
	}
}

func TestCompose(t *testing.T) {
	var c struct {
		Services map[string]struct {
			Volumes     []string
			Environment map[string]string
		}
		Volumes map[string]any
	}
	text := read(t, "container/compose.yaml")
	variables(t, "compose.yaml", text)
	if err := yaml.Unmarshal([]byte(text), &c); err != nil || len(c.Services) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[from]; ok {
				continue
			}
			if _, err := os.Stat(filepath.Join("container", from)); err != nil {
				t.Errorf("%s: volume %s: %v", name, v, err)
			}
		}
	}
}

// TestChart: the chart renders to valid YAML, with all options and with none. The test defines the Helm template functions that the chart
// uses.
func TestChart(t *testing.T) {
	all := template.New("chart")
	indent := func(n int, s string) string {
		return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
	}
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": indent,
		"quote":   func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"trunc":   func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string {
			return strings.TrimSuffix(s, suffix)
		},
		"toYaml": func(v any) (string, error) { b, err := yaml.Marshal(v); return strings.TrimSpace(string(b)), err },
	})
	if _, err := all.ParseGlob("helm/concordat/templates/*"); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "helm/concordat/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		if whole {
			values["url"], values["federationPort"], values["keySecret"] = "https://x.example", 8421, "keys"
			values["backup"].(map[string]any)["claim"] = "backups"
			values["backup"].(map[string]any)["recipients"] = []any{"age1one", "age1two"}
			values["ingress"].(map[string]any)["enabled"] = true
			values["ingress"].(map[string]any)["className"] = "nginx"
			values["storage"].(map[string]any)["className"] = "fast"
		}
		kinds := map[string]bool{}
		err := filepath.WalkDir("helm/concordat/templates", func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" {
				return err
			}
			var b bytes.Buffer
			data := map[string]any{"Values": values, "Release": map[string]any{"Name": "site"}}
			if err := all.ExecuteTemplate(&b, filepath.Base(path), data); err != nil {
				return err
			}
			variables(t, path, b.String())
			var object struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
				Metadata   struct{ Name string }
			}
			if err := yaml.Unmarshal(b.Bytes(), &object); err != nil {
				t.Errorf("%s: %v\n%s", path, err, b.String())
			}
			if strings.TrimSpace(b.String()) != "" && (object.APIVersion == "" || object.Metadata.Name == "") {
				t.Errorf("%s: %+v", path, object)
			}
			kinds[object.Kind] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !kinds["StatefulSet"] || !kinds["Service"] || kinds["Ingress"] != whole || kinds["CronJob"] != whole {
			t.Errorf("all options %v: %v", whole, kinds)
		}
	}
}

func TestZooKeeper(t *testing.T) {
	keys := map[string]string{}
	for line := range strings.Lines(read(t, "zookeeper/zoo.cfg")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || keys[k] != "" {
			t.Errorf("line %q", line)
		}
		keys[k] = v
	}
	for _, k := range []string{"tickTime", "initLimit", "syncLimit", "dataDir", "clientPort", "server.1", "server.2", "server.3"} {
		if keys[k] == "" {
			t.Errorf("no %s", k)
		}
	}
}

func TestScrape(t *testing.T) {
	var v struct {
		Rules []string `yaml:"rule_files"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/prometheus.yaml")), &v); err != nil || len(v.Rules) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, r := range v.Rules {
		read(t, filepath.Join("prometheus", r))
	}
}
