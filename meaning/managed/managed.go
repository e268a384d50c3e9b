package managed

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"concordat/meaning/remote"
)

// Phase is the current phase of a process.
type Phase string

// These are the phases.
const (
	Idle     Phase = "idle" // not needed yet
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Failed   Phase = "failed" // waiting to be restarted
	Stopped  Phase = "stopped"
)

// Status is the state of a process.
type Status struct {
	Phase    Phase
	PID      int  // 0 if there is no process
	Alone    bool // whether it runs without a network
	Restarts int  // number of restarts
	Err      error
}

// Options specify the program and how it runs.
type Options struct {
	// Package is the folder of an installed package, as returned by Installed. Its program runs unless Command specifies another.
	Package string
	// Command is a program with its arguments. In the arguments, {socket} represents the path of the socket on which it must listen.
	// Alternatively, {port} represents its port on 127.0.0.1, and {key_file} a file whose first line is the secret that each request
	// carries as a bearer token; the environment variable CONCORDAT_ENCODER_KEY also contains the secret.
	Command []string
	// Remote configures the requests. This package sets the address and the key.
	Remote     remote.Options
	Memory     int64 // bytes of address space; 0 means DefaultMemory
	Processors int   // 0 means 1
	Log        *slog.Logger
}

// Defaults and bounds.
const (
	DefaultMemory = 2 << 30
	startTime     = time.Minute            // maximum time until the first answer
	askEvery      = 100 * time.Millisecond // interval between requests until the first answer
	stopTime      = 5 * time.Second        // time from the request to stop until the process is killed
	shortestRest  = time.Second
	longestRest   = 5 * time.Minute
	livedLong     = time.Minute // after running this long, a failure counts as the first
	toldBytes     = 2 << 10     // bytes of its output to keep
)

// Encoder is an encoder that runs as a separate process. It is safe for concurrent use.
type Encoder struct {
	o      Options
	name   *remote.Encoder // for methods that need no process
	ctx    context.Context // cancelled by Close
	end    context.CancelFunc
	begin  sync.Once
	served sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	status  Status
	now     *remote.Encoder    // client of the process; nil unless Ready
	stop    context.CancelFunc // stops the process
	spent   remote.Spent       // cost of processes that have ended
	changed chan struct{}      // closed on each change of status
}

// New returns an encoder whose process has not started.
func New(o Options) (*Encoder, error) {
	if o.Package == "" && len(o.Command) == 0 {
		return nil, errors.New("no encoder is installed, and no encoder command is configured")
	}
	if len(o.Command) == 0 {
		o.Remote.Model, o.Remote.Prefix = packageModel, ""
	}
	if text := strings.Join(o.Command, " "); len(o.Command) > 0 && !strings.Contains(text, "{socket}") && !strings.Contains(text, "{port}") {
		return nil, errors.New("the encoder command must contain {socket} or {port}")
	}
	o.Remote.URL = "http://localhost/v1"
	name, err := remote.New(o.Remote)
	if err != nil {
		return nil, err
	}
	o.Memory, o.Processors = cmp.Or(o.Memory, DefaultMemory), max(1, o.Processors)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Encoder{o: o, name: name, status: Status{Phase: Idle}, changed: make(chan struct{})}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e, nil
}

// Name returns the encoder's name in reports.
func (e *Encoder) Name() string { return e.name.Name() }

// Where returns "", since texts stay on this machine.
func (e *Encoder) Where() string { return "" }

// Recipe returns a string that identifies everything besides the texts that determines the vectors.
func (e *Encoder) Recipe() string {
	if len(e.o.Command) > 0 && e.o.Remote.Model == "" {
		return fmt.Sprintf("%q %s", e.o.Command, e.name.Recipe())
	}
	return e.name.Recipe()
}

// Spent returns the cost so far.
func (e *Encoder) Spent() remote.Spent {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return e.spent
	}
	return sum(e.spent, e.now.Spent())
}

func sum(a, b remote.Spent) remote.Spent {
	return remote.Spent{Texts: a.Texts + b.Texts, Requests: a.Requests + b.Requests, Failures: a.Failures + b.Failures, Took: a.Took + b.Took}
}

// Status returns the state of the process.
func (e *Encoder) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

// Start starts the process unless it has been started, and keeps it running until Close.
func (e *Encoder) Start() {
	e.begin.Do(func() {
		e.set(func() { e.status.Phase = Starting })
		e.served.Go(e.supervise)
	})
}

// Close stops the process.
func (e *Encoder) Close() error {
	e.begin.Do(func() {}) // prevents a later start
	e.end()
	e.served.Wait()
	e.set(func() {
		e.status = Status{Phase: Stopped, Restarts: e.status.Restarts, Err: errors.New("the encoder was stopped")}
	})
	return nil
}

// set runs change with mu held and wakes the goroutines waiting for changes.
func (e *Encoder) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
}

// Encode works like remote.Encoder.Encode. It waits for a starting process, and fails if there is none.
func (e *Encoder) Encode(ctx context.Context, texts []string) (vectors [][]float32, sent int, err error) {
	e.Start()
	for {
		e.mu.Lock()
		status, now, stop, changed := e.status, e.now, e.stop, e.changed
		e.mu.Unlock()
		switch status.Phase {
		case Ready:
			vectors, sent, err = now.Encode(ctx, texts)
			if errors.Is(err, remote.ErrUnavailable) && ctx.Err() == nil {
				stop() // it hangs or has ended; another will be started
			}
			return vectors, sent, err
		case Failed, Stopped:
			return nil, 0, fmt.Errorf("%w: %w", remote.ErrUnavailable, status.Err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// supervise keeps a process running.
func (e *Encoder) supervise() {
	runtime.LockOSThread() // the process ends with the thread that started it
	defer runtime.UnlockOSThread()
	rest := time.Duration(0)
	for {
		began := time.Now()
		err := e.run()
		if e.ctx.Err() != nil {
			return
		}
		if time.Since(began) > livedLong {
			rest = 0
		}
		rest = min(max(2*rest, shortestRest), longestRest)
		e.o.Log.Warn("the encoder ended and is being restarted", "after", rest, "err", err)
		e.set(func() { e.status.Phase, e.status.PID, e.status.Err = Failed, 0, err })
		select {
		case <-time.After(rest):
		case <-e.ctx.Done():
			return
		}
		e.set(func() { e.status.Phase, e.status.Restarts = Starting, e.status.Restarts+1 })
	}
}

// run starts a process and returns when it has ended.
func (e *Encoder) run() error {
	dir, err := os.MkdirTemp("", "concordat-encoder-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	p, err := e.prepare(dir)
	if err != nil {
		return err
	}
	said := &tail{}
	c, err := p.start(ctx, said)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var waited error
	go func() { waited = c.Wait(); close(ended) }()
	now, err := p.answers(ctx, ended)
	if err == nil {
		e.set(func() {
			e.now, e.stop = now, stop
			e.status.Phase, e.status.PID, e.status.Alone, e.status.Err = Ready, c.Process.Pid, p.alone, nil
		})
		<-ended
		err = told(waited, said)
		e.set(func() { // one step, so that a Ready encoder always has a client
			e.now, e.spent = nil, sum(e.spent, now.Spent())
			e.status.Phase, e.status.PID, e.status.Err = Failed, 0, err
		})
		return err
	}
	stop()
	<-ended
	if !errors.Is(err, errEnded) {
		return err
	}
	return told(waited, said)
}

// errEnded is the error of a process that ended before it answered.
var errEnded = errors.New("the encoder exited before it responded")

// told returns why a process ended.
func told(err error, said *tail) error {
	if err == nil {
		err = errors.New("the encoder exited")
	}
	if last := said.last(); last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return err
}

// process is a program to start, with its limits.
type process struct {
	command    []string
	dir        string
	remote     remote.Options
	key        string
	memory     int64
	processors int
	packaged   bool // whether it is the package's program
	alone      bool // whether it runs without a network
}

// prepare returns the process to start; dir must be empty.
func (e *Encoder) prepare(dir string) (*process, error) {
	p := &process{command: slices.Clone(e.o.Command), dir: dir, remote: e.o.Remote, memory: e.o.Memory, processors: e.o.Processors}
	if p.packaged = len(p.command) == 0; p.packaged {
		python, err := exec.LookPath("python3")
		if err != nil {
			return nil, err
		}
		script := filepath.Join(dir, "serve.py")
		if err := os.WriteFile(script, servePy, 0o600); err != nil {
			return nil, err
		}
		p.command = []string{python, "-I", "-S", script, e.o.Package, "{socket}", fmt.Sprint(p.processors)}
	}
	p.key = rand.Text()
	keyFile, socket, port := filepath.Join(dir, "key"), filepath.Join(dir, "socket"), ""
	if err := os.WriteFile(keyFile, []byte(p.key+"\n"), 0o600); err != nil {
		return nil, err
	}
	if strings.Contains(strings.Join(p.command, " "), "{port}") {
		free, err := freePort()
		if err != nil {
			return nil, err
		}
		port, p.remote.Key = free, p.key
		p.remote.URL = "http://127.0.0.1:" + port + "/v1"
	} else {
		p.remote.Socket = socket
	}
	with := strings.NewReplacer("{socket}", socket, "{port}", port, "{key_file}", keyFile)
	for i := range p.command {
		p.command[i] = with.Replace(p.command[i])
	}
	return p, nil
}

// freePort returns a currently free port of 127.0.0.1.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// start starts the process, without a network if it needs none and the system allows it.
func (p *process) start(ctx context.Context, said io.Writer) (*exec.Cmd, error) {
	for _, alone := range []bool{p.remote.Socket != "", false} {
		c := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
		bound(c, p.memory)
		c.Dir, c.Stderr, c.WaitDelay = p.dir, said, stopTime
		c.Cancel = func() error { return terminate(c.Process) }
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir, "LANG=C.UTF-8", "CONCORDAT_ENCODER_KEY=" + p.key,
			fmt.Sprintf("OMP_NUM_THREADS=%d", p.processors)}
		separate(c, alone)
		if err := p.launch(c); err == nil {
			p.alone = alone
			return c, nil
		} else if !alone {
			return nil, err
		}
	}
	panic("unreachable: the last attempt returns")
}

// launch starts c restricted to the processors that it may use; a process restricted afterwards could already have counted all of them.
func (p *process) launch(c *exec.Cmd) error {
	if !p.packaged { // the package's program runs one thread per processor that it may use
		defer confine(p.processors)()
	}
	return c.Start()
}

// answers waits until the process answers and returns a client for it.
func (p *process) answers(ctx context.Context, ended <-chan struct{}) (*remote.Encoder, error) {
	ctx, done := context.WithTimeout(ctx, startTime)
	defer done()
	every := time.NewTicker(askEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ended:
			return nil, errEnded
		case <-ctx.Done():
			return nil, fmt.Errorf("the encoder did not respond within %s", startTime)
		}
		now, err := remote.New(p.remote)
		if err != nil {
			return nil, err
		}
		if _, _, err = now.Encode(ctx, []string{"The harbour was closed for three weeks."}); err == nil {
			return now, nil
		}
	}
}

// tail keeps the end of the output written to it.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-toldBytes):]
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "\ufffd"))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
