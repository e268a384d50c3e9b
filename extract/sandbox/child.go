package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"concordat/extract"
)

// child is a worker process for one file.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *headBuffer

	readyOnce sync.Once
	readyMsg  ready
	readyErr  error
	waitOnce  sync.Once
	end       ending
}

// start starts a worker and sends it its setup. It does not wait for the worker.
func start(o Options, k kind, namespaces bool) (*child, error) {
	cmd := exec.Command(o.Executable, workerArg)
	// The child needs nothing from the parent's environment. Crash traces are cut to one line.
	cmd.Env = []string{"GOTRACEBACK=none"}
	if p := os.Getenv("LD_LIBRARY_PATH"); p != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+p)
	}
	cmd.Dir = "/"
	if namespaces {
		cmd.Env = append(cmd.Env, ownNamespaces+"=1")
	}
	c := &child{cmd: cmd, stderr: &headBuffer{}}
	cmd.Stderr = c.stderr
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start extraction child: %w", err)
	}
	s := setup{Extract: o.Extract, CacheDir: o.CacheDir, CPU: int64((o.CPU + time.Second - 1) / time.Second), Memory: o.Memory,
		PDF: k == withPDF}
	if err := writeFrame(c.stdin, s); err != nil {
		c.kill()
		return nil, fmt.Errorf("start extraction child: %w%s", err, c.wait().note())
	}
	return c, nil
}

// ready waits for the child's first message.
func (c *child) ready() (ready, error) {
	c.readyOnce.Do(func() {
		c.readyErr = readFrame(c.stdout, &c.readyMsg, maxFrame)
		if c.readyErr == nil && c.readyMsg.Error != "" {
			c.readyErr = fmt.Errorf("%s", c.readyMsg.Error)
		}
	})
	return c.readyMsg, c.readyErr
}

// send passes the file to the child. It returns an error only if the source failed; if a child stops reading, its answer shows that.
func (c *child) send(rq request, src io.Reader) error {
	if err := writeFrame(c.stdin, rq); err != nil {
		return nil
	}
	size := rq.Size
	r := &errReader{r: io.LimitReader(src, size)}
	n, _ := io.Copy(c.stdin, r)
	if r.err == nil && n < size && r.eof {
		return io.ErrUnexpectedEOF
	}
	return r.err
}

// errReader records how reading ended, to distinguish that from a failure to write.
type errReader struct {
	r   io.Reader
	err error
	eof bool
}

func (e *errReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err == io.EOF {
		e.eof = true
	} else if err != nil {
		e.err = err
	}
	return n, err
}

// maxScanBytes is the maximum size of a member's images in a message.
const maxScanBytes = 96 << 20

// answer reads the next message. JSON can use six bytes for each byte of text.
func (c *child) answer(o extract.Options) (answer, error) {
	most := 6*o.MaxText + 16<<20
	if o.MaxScans > 0 {
		most += maxScanBytes
	}
	var a answer
	err := readFrame(c.stdout, &a, most)
	if err == nil && !a.Done && !a.NeedsPDF && !a.pages() && (a.Item == nil || (a.Item.Result == nil) == (a.Item.Err == nil)) {
		err = fmt.Errorf("the answer contains no result")
	}
	return a, err
}

// killTime is how long a child can take to end on request before it is killed.
const killTime = time.Second

// kill ends the child. With a separate PID namespace, there is another process between this one and the reader. On request, it kills the
// reader and reports the reader's resource use, which would be lost if both were killed.
func (c *child) kill() {
	if c.cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = c.cmd.Process.Kill()
		return
	}
	time.AfterFunc(killTime, func() { _ = c.cmd.Process.Kill() })
}

// discard ends an unneeded child and waits for it.
func (c *child) discard() {
	c.kill()
	c.wait()
}

// ending describes how a child ended.
type ending struct {
	state  *os.ProcessState
	stderr string
}

func (c *child) wait() ending {
	c.waitOnce.Do(func() {
		_ = c.stdin.Close()
		_ = c.stdout.Close()
		_ = c.cmd.Wait() // its state shows how it ended
		c.end = ending{c.cmd.ProcessState, c.stderr.String()}
	})
	return c.end
}

// note returns the first line that the child wrote to its standard error.
func (e ending) note() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.stderr), "\n")
	if line = strings.ToValidUTF8(line, "?"); line == "" {
		return ""
	}
	return ": " + line
}

// cause converts the end of a child to the error for its file.
func (e ending) cause(late bool, o Options, err error) *extract.Error {
	used := time.Duration(0)
	if e.state != nil {
		used = e.state.UserTime() + e.state.SystemTime()
	}
	switch {
	case late:
		return &extract.Error{Code: extract.Timeout, Detail: fmt.Sprintf("not finished within %v", o.Wall),
			Advice: "split the file, or raise " + extract.SettingOf("Wall")}
	case strings.Contains(e.stderr, "SIGXCPU"), used >= o.CPU:
		return &extract.Error{Code: extract.Timeout, Detail: fmt.Sprintf("used more than %v of processor time", o.CPU),
			Advice: "split the file, or raise " + extract.SettingOf("CPU")}
	case strings.Contains(e.stderr, "out of memory"), strings.Contains(e.stderr, "cannot allocate memory"):
		return extract.LimitError("memory", "Memory", fmt.Sprintf("needs more than %d MiB", o.Memory>>20))
	case strings.Contains(e.stderr, "pthread_create failed"), strings.Contains(e.stderr, "failed to create new OS thread"):
		// There was no memory for a stack, or no thread available.
		return extract.LimitError("memory", "Memory", fmt.Sprintf("needs more than %d MiB, or more threads than allowed", o.Memory>>20))
	}
	return &extract.Error{Code: extract.Crashed, Detail: fmt.Sprintf("the reader exited without an answer: %v%s", err, e.note())}
}

// headBuffer keeps the first bytes written to it. Its writer is a goroutine of os/exec, which has ended when the content is read.
type headBuffer struct{ bytes.Buffer }

func (h *headBuffer) Write(p []byte) (int, error) {
	if room := 4096 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
